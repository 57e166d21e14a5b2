"""Users' files before they play: some rounds in plain Python, where a fault has a line, then compiled.

And after a trial of theirs has failed: the same trial once more in plain Python, to learn where.
"""

import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Literal

import numpy as np

from privbandits_cli.experiment.plan import Curve, Plan
from privbandits_cli.games.guards import NotANumber, PluginError
from privbandits_cli.games.match import Match
from privbandits_cli.games.players import Adversary, Algorithm
from privbandits_cli.games.protocols import GAMES
from privbandits_cli.games.steps import composition
from privbandits_cli.numerics.jit import uncompiled
from privbandits_cli.numerics.types import Floats
from privbandits_cli.plugins import loader

REHEARSED = {"bandit": (8, 250), "linear": (2, 50), "contextual": (2, 50)}  # trials and rounds: some tenths of a second
BLOCK = 7  # rounds of a second rehearsal, which has to come to the same
REPLAYED = 2**18  # of a trial that failed, at most: some seconds

_places: dict[tuple[str, type[Exception]], tuple[str, int] | None] = {}  # where a curve's trials were found to fail


def errors(plan: Plan, compiled: bool = True) -> list[str]:
    """What is wrong with the users' files of a plan, each fault once; without `compiled`, as plain Python shows it."""
    found: dict[str, None] = {}
    for curve in _own(plan.curves):
        printed = list(loader.printing(curve.algorithm)) if compiled else []
        if printed:
            found |= dict.fromkeys(printed)
            continue
        said = _fault(plan.match([curve]), compiled)
        if said is not None:
            found.setdefault(said)
    return list(found)


def _own(curves: Sequence[Curve]) -> Iterator[Curve]:
    """The first curve of each pair of kinds that meet and of which one is a user's."""
    seen: set[object] = set()
    for curve in curves:
        pair = curve.adversary.name, composition(curve.algorithm), curve.setting.n_arms
        if _needs(curve.adversary, curve.algorithm) and pair not in seen:
            seen.add(pair)
            yield curve


def _needs(*players: Adversary | Algorithm) -> bool:
    return any(loader.modules(player) for player in players)


def _fault(match: Match, compiled: bool) -> str | None:
    """Of one pair; None if it plays, in blocks of whatever size."""
    from numba.core.errors import NumbaTypeSafetyWarning

    trials, rounds = REHEARSED[match.game]
    end = min(rounds, int(match.checkpoints[-1]))
    short = match._replace(checkpoints=np.array([end], np.int64))
    game = GAMES[match.game]
    for plain in (True, False)[: 1 + compiled]:
        try:
            with uncompiled(plain), np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", NumbaTypeSafetyWarning)  # what it warns of, it refuses next
                regrets = game.play(short, range(trials))
                _check(regrets, game.play(short, range(trials), BLOCK) if plain != compiled else regrets, match)
        except Exception as error:  # whatever a user's file raises
            return _told(error, _place(error, short, 0), match)
    return None


def _check(regrets: Floats, others: Floats, match: Match) -> None:
    """Raise PluginError for regrets that are no numbers, or other ones in blocks of another size."""
    algorithm, adversary = match.algorithms[0], match.adversary
    table: Any = getattr(type(adversary), loader.TABLE[adversary.game])
    own = loader.modules(algorithm)
    if not np.isfinite(regrets).all():
        said = f"{algorithm.name} against {adversary.name}: the regret is no finite number"
        raise PluginError(said, import_module(own[0]).choose if own else table)
    if not np.array_equal(regrets, others):
        hint = "draw in the order of the rounds, each kind from its own of `rng.spawn(n)`"
        if not loader.modules(adversary):
            table, hint = getattr(type(algorithm), "draws", None), "let them depend on the round alone"
        raise PluginError(f"the numbers of `{table.__name__}` depend on where a block of rounds ends: {hint}", table)


def told(error: Exception, match: Match, key: str, trial: int) -> str:
    """What failed in a trial of a match of one algorithm, of the curve `key`: of a user's file the place, too."""
    if not _needs(match.adversary, match.algorithms[0]):
        return f"{type(error).__name__}: {error}".splitlines()[0]
    if (key, type(error)) not in _places:
        _places[key, type(error)] = _place(error, match, trial)
    return _told(error, _places[key, type(error)], match)


def _told(error: Exception, place: tuple[str, int] | None, match: Match) -> str:
    """What a person should know of a fault, at this line if there is one, else at least in which file."""
    if place is None:
        said = loader.told(error)
        if said != loader.named(error):
            return said
        names = dict.fromkeys(name for who in (*match.algorithms, match.adversary) for name in loader.modules(who))
        files = ", ".join(loader.source_of(name).path for name in names)
        return f"{files}: the game cannot go on with what it gave: {said}; --python shows where"
    return loader.placed(*place, str(error) if isinstance(error, NotANumber) else loader.named(error))


def _place(error: Exception, match: Match, trial: int) -> tuple[str, int] | None:
    """The line of a user's file where a trial fails in plain Python."""
    if (isinstance(error, PluginError) and not isinstance(error, NotANumber)) or type(error).__module__.startswith(
        "numba."
    ):
        return None  # it says itself where
    if loader.place_of(error):
        return loader.place_of(error)
    rounds = match.checkpoints[match.checkpoints <= REPLAYED]
    short = match._replace(checkpoints=rounds if len(rounds) else np.array([REPLAYED], np.int64))
    numbers = isinstance(error, ArithmeticError | NotANumber)
    strict: Literal["raise", "ignore"] = "raise" if numbers else "ignore"
    try:
        with uncompiled(), np.errstate(divide=strict, invalid=strict, over="ignore", under="ignore"):
            GAMES[match.game].play(short, [trial])
    except Exception as found:  # the same, with a traceback
        return loader.place_of(found)
    return None
