"""Rehearsals of users' files: before a run, a few rounds in plain Python, where an error has a line, then compiled.

After a trial with a user's file has failed, it is replayed in plain Python to find the line.
"""

import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Literal

import numpy as np

from privbandits_cli.experiment.plan import Curve, Plan
from privbandits_cli.games.contract import CONTRACTS
from privbandits_cli.games.guards import NotANumber
from privbandits_cli.games.match import Match
from privbandits_cli.games.steps import composition
from privbandits_cli.numerics.jit import PluginError, without_jit
from privbandits_cli.numerics.types import Floats
from privbandits_cli.plugins import lint, loader, messages
from privbandits_cli.plugins.loader import GAMES
from privbandits_cli.plugins.source import Source

BLOCK = 7  # rounds in a block of a second rehearsal, which must give the same regrets
REPLAYED = 2**18  # the most rounds of a failed trial that are replayed, which takes some seconds

_places: dict[tuple[object, ...], messages.Place | None] = {}  # curve, kind of error and files -> line


def errors(plan: Plan, compiled: bool = True) -> list[str]:
    """What is wrong with the users' files of a plan, each error once; without `compiled`, in plain Python only."""
    found: dict[str, None] = {}
    for curve in _rehearsed(plan.curves):
        printed = list(_prints(curve)) if compiled else []
        found |= dict.fromkeys(printed or _failures(plan.match([curve]), compiled))
    return list(found)


def _rehearsed(curves: Sequence[Curve]) -> Iterator[Curve]:
    """The first curve of each pairing of an adversary with a composition that contains a user's file."""
    seen: set[object] = set()
    for curve in curves:
        drawn = getattr(curve.adversary, "drawn", None)  # arms on demand, say, have a loop of their own
        pairing = curve.adversary.name, drawn, composition(curve.algorithm), curve.setting.n_arms
        if (loader.modules(curve.adversary) or loader.modules(curve.algorithm)) and pairing not in seen:
            seen.add(pairing)
            yield curve


def _prints(curve: Curve) -> Iterator[str]:
    """The lines of a user's steps that print."""
    for source in loader.sources_of([curve.algorithm]):
        for line in lint.prints(sys.modules[source.module]):
            text = "once compiled, this prints in every round of every trial: run it with --python, or remove it"
            yield messages.at(messages.place_in(source, line), text)


def _failures(match: Match, compiled: bool) -> Iterator[str]:
    """The error of one pairing, if it fails, or if its numbers depend on how it is played."""
    from numba.core.errors import NumbaTypeSafetyWarning

    trials, rounds = CONTRACTS[match.game].rehearsed
    end = min(rounds, int(match.checkpoints[-1]))
    short = match._replace(checkpoints=np.array([end], np.int64))
    game = GAMES[match.game]
    steps = loader.modules(match.algorithms[0])  # an adversary is plain Python, in both
    for plain in (True, False)[: 1 + compiled] if steps else (not compiled,):
        try:
            with without_jit(plain), np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", NumbaTypeSafetyWarning)  # an error follows
                regrets = game.play(short, range(trials))
                _check_finite(regrets, match)
                if plain != compiled:
                    _check_blocks(regrets, game.play(short, range(trials), BLOCK), match)
        except BaseException as error:
            if not messages.of_a_file(error):
                raise
            yield _message(error, _place(error, short, 0), match)
            return


def _check_finite(regrets: Floats, match: Match) -> None:
    """PluginError for regrets that are not finite."""
    algorithm, adversary = match.algorithms[0], match.adversary
    own = loader.modules(algorithm)
    if not np.isfinite(regrets).all():
        text = f"{algorithm.name} against {adversary.name}: the regret is not a finite number"
        raise PluginError(text, import_module(own[0]).choose if own else _table_of(adversary))


def _check_blocks(regrets: Floats, others: Floats, match: Match) -> None:
    """PluginError for regrets that differ in blocks of another size."""
    algorithm, adversary = match.algorithms[0], match.adversary
    function = _table_of(adversary)
    if not np.array_equal(regrets, others):
        hint = "draw in the order of the rounds, each kind of number from its own generator of `rng.spawn(n)`"
        if not loader.modules(adversary):
            function = getattr(type(algorithm), "draws", type(algorithm).state)
            hint = "let them depend on the round alone"
        text = f"the numbers of `{function.__name__}` depend on where a block of rounds ends: {hint}"
        raise PluginError(text, function)


def _table_of(adversary: Any) -> Any:
    """The method of an adversary that yields its rounds."""
    return getattr(type(adversary), CONTRACTS[adversary.game].rounds)


def message(error: BaseException, match: Match, key: str, trial: int) -> str:
    """What failed in a trial of a match of one algorithm, of the curve `key`; at its line in a user's file."""
    files = _files(match)
    if not files:
        return messages.summary(error)
    determining = key, type(error), *(source.module for source in files)
    if determining not in _places:
        _places[determining] = _place(error, match, trial)
    return _message(error, _places[determining], match)


def _files(match: Match) -> list[Source]:
    """The users' files that play."""
    return loader.sources_of((*match.algorithms, match.adversary))


def _message(error: BaseException, place: messages.Place | None, match: Match) -> str:
    """An error at this line if there is one, otherwise with the names of the files."""
    if place is not None:
        return messages.at(place, messages.summary(error))
    if messages.in_compiler(error):
        return messages.message(error, _files(match))
    files = ", ".join(source.path for source in _files(match))
    return f"{files}: the game failed on what this file returned: {messages.summary(error)}; --python shows where"


def _place(error: BaseException, match: Match, trial: int) -> messages.Place | None:
    """The line of a user's file where a trial fails, replayed in plain Python if the error does not show it."""
    found = messages.place(error)
    if messages.in_compiler(error) or (found and not isinstance(error, NotANumber)):
        return found
    rounds = match.checkpoints[match.checkpoints <= REPLAYED]
    short = match._replace(checkpoints=rounds if len(rounds) else np.array([REPLAYED], np.int64))
    numbers = isinstance(error, ArithmeticError | NotANumber)
    strict: Literal["raise", "ignore"] = "raise" if numbers else "ignore"
    try:
        with without_jit(), np.errstate(divide=strict, invalid=strict, over="ignore", under="ignore"):
            GAMES[match.game].play(short, [trial])
    except BaseException as replayed:  # the same, with a traceback
        if not messages.of_a_file(replayed):
            raise
        return messages.place(replayed) or found
    return found
