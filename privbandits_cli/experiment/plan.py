"""Experiment -> curves x trials: the work of a run, with stable keys. Nothing is played here."""

import hashlib
import json
import math
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.experiment import settings
from privbandits_cli.experiment.config import ConfigError, Experiment, checkpoints
from privbandits_cli.experiment.document import dotted
from privbandits_cli.experiment.matchups import COMPUTING, Matchup, failure
from privbandits_cli.experiment.names import Name, legends
from privbandits_cli.experiment.variants import Variant, flat
from privbandits_cli.games.match import Match
from privbandits_cli.games.players import Adversary, Algorithm, Setting
from privbandits_cli.plugins import loader
from privbandits_cli.plugins.source import Source

# Rounds of each algorithm in a chunk: some tenths of a second of work.
ROUNDS_PER_CHUNK = {"bandit": 2**23, "linear": 2**19, "contextual": 2**18, "best_arm": 2**26}
CHUNKS = 1024  # about the largest number of chunks: with more trials, each chunk holds more

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Curve:
    """One algorithm with its parameters against one adversary with its parameters."""

    adversary: Adversary
    algorithm: Algorithm
    setting: Setting  # what the algorithm knows of the game
    checkpoints: NDArray[np.int64]  # rounds at which regret is recorded; the horizon is the last
    adversary_title: Name  # the panel's title, with the swept values of the adversary and of its setting
    label: Name  # its name in the CSVs, with a private algorithm's epsilon; `Plan.legends` has what people read
    promised: Guarantee | None  # None: the algorithm is not private, or promises nothing
    panel: str  # a panel of its own beside its adversary's; empty: the adversary's
    apart: Mapping[str, Any]  # given parameters that distinguish it from curves of the same name
    game: Mapping[str, Any]  # swept parameters of the adversary and of its setting, by column of the CSVs
    own: Mapping[str, Any]  # swept parameters of the algorithm
    key: str  # hash of everything that determines its numbers, except the trials

    @property
    def horizon(self) -> int:
        """The number of rounds."""
        return int(self.checkpoints[-1])

    @cached_property
    def guarantee(self) -> Guarantee | None:
        """The guarantee of its algorithm in its setting. One that is not designed to be private may have one, too."""
        return self.promised if self.algorithm.promises() else self.algorithm.promise(self.setting)

    @property
    def swept(self) -> dict[str, Any]:
        """The swept parameters by column of the CSVs."""
        return {**self.game, **self.own}

    @property
    def title(self) -> Name:
        """The title of its panel: the adversary's, followed by the curve's own panel if it has one."""
        return self.adversary_title.suffixed(self.panel)

    @property
    def adversary_label(self) -> str:
        """The adversary's title, if it is not the one of the adversary's file."""
        return "" if self.adversary_title == self.adversary.title else self.adversary_title

    def parameters(self) -> dict[str, Any]:
        """The parameters of both players that are set, as in summary.csv; names have columns of their own."""
        sides = {"adversary": self.adversary.described(), "algorithm": self.algorithm.described()}
        found = {
            side: {k: v for k, v in values.items() if v is not None and k != "name"} for side, values in sides.items()
        }
        if self.adversary_label:
            found["adversary"]["label"] = self.adversary_label
        if self.panel:
            found["algorithm"]["panel"] = self.panel
        return found


@dataclass(frozen=True)
class Chunk:
    """A piece of work: some trials of some algorithms against one adversary."""

    match: Match
    keys: tuple[str, ...]  # those of the curves, in the order of the match's algorithms
    trials: tuple[int, ...]

    @property
    def rounds(self) -> int:
        """The number of rounds to play, summed over the algorithms."""
        return len(self.trials) * len(self.keys) * int(self.match.checkpoints[-1])


@dataclass(frozen=True)
class Plan:
    """The curves of an experiment, and the chunks in which they are played."""

    experiment: Experiment
    curves: tuple[Curve, ...]
    shard: tuple[int, int] = (1, 1)  # (i, n): the i-th of n; (1, 1) is the whole experiment

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return self.experiment.keys.experiment

    @property
    def folder(self) -> str:
        """The name of the results folder; each shard has its own, since shards run at the same time."""
        i, n = self.shard
        return f"{self.name}-shard-{i}-of-{n}" if self.is_part else self.name

    @property
    def is_part(self) -> bool:
        """Whether this is one shard of several."""
        return self.shard[1] > 1

    @property
    def trials(self) -> int:
        """The number of trials of each curve."""
        return self.experiment.keys.trials

    @property
    def span(self) -> range:
        """The trials to play: those of the shard."""
        i, n = self.shard
        return range(self.trials * (i - 1) // n, self.trials * i // n)

    @cached_property
    def by_key(self) -> dict[str, Curve]:
        """The curves by their keys."""
        return {curve.key: curve for curve in self.curves}

    @cached_property
    def legends(self) -> dict[str, Name]:
        """The labels of the curves for figures and tables, by their keys."""
        each = [curve.promised for curve in self.curves]
        promised = [None if one is None else (one.epsilon, one.delta) for one in each]
        shown = legends([curve.label for curve in self.curves], promised)
        return {curve.key: legend for curve, legend in zip(self.curves, shown, strict=True)}

    @property
    def own_files(self) -> list[Source]:
        """The users' files whose algorithms and adversaries play."""
        return loader.sources_of(player for curve in self.curves for player in (curve.adversary, curve.algorithm))

    def match(self, curves: Collection[Curve]) -> Match:
        """The match of curves that share an adversary."""
        first = next(iter(curves))
        algorithms = tuple(curve.algorithm for curve in curves)
        return Match(first.adversary, algorithms, first.setting, first.checkpoints, self.experiment.keys.seed)

    def chunks(self, done: Callable[[Curve], NDArray[np.int64]], jobs: int) -> Iterator[Chunk]:
        """The work that is not done, in chunks; neither their size nor their order changes a number.

        They alternate between the games. Of chunks that begin with the same trial, those of the longest games come
        first: the last chunks are then short, and all jobs end at about the same time.
        """
        games = [
            list(rivals) for _, rivals in groupby(self.curves, lambda one: (one.adversary.identity(), one.setting))
        ]
        pieces = [
            (first, i, size)
            for i, size in enumerate(self._chunk_size(rivals, len(games), jobs) for rivals in games)
            for first in range(self.span.start, self.span.stop, size)
        ]
        missing = {curve.key: np.setdiff1d(self.span, done(curve), assume_unique=True) for curve in self.curves}
        lengths = [(-len(rivals) * rivals[0].horizon, -rivals[0].setting.n_arms) for rivals in games]
        for first, i, size in sorted(pieces, key=lambda piece: (piece[0], *lengths[piece[1]])):
            ends = first, min(first + size, self.span.stop)
            alike: dict[tuple[int, ...], list[Curve]] = {}
            for curve in games[i]:
                todo = missing[curve.key]
                part = todo[slice(*np.searchsorted(todo, ends))]
                alike.setdefault(tuple(part.tolist()), []).append(curve)
            for trials, curves in alike.items():
                if trials:
                    yield Chunk(self.match(curves), tuple(curve.key for curve in curves), trials)

    def _chunk_size(self, rivals: Sequence[Curve], games: int, jobs: int) -> int:
        """The trials in a chunk: enough to outweigh its start, few enough to keep every job busy to the end."""
        matches, horizon, enough = len(self.span) * games, rivals[0].horizon, ROUNDS_PER_CHUNK[rivals[0].algorithm.game]
        together: int = loader.GAMES[rivals[0].algorithm.game].Games.together(self.match(rivals))
        worthwhile = max(enough // horizon, matches // CHUNKS, together)
        # in a long game it counts that a few trials take as long as `together`; in a short one, that a trial by itself
        # needs code of its own
        few = min(together, math.ceil(matches / jobs)) if horizon * together >= enough else 2
        share = max(matches // (4 * jobs), few)
        size = max(1, min(worthwhile, share))
        if size >= len(self.span):
            return size
        whole = next((several for several in (together, 16, 8) if size > several), 1)
        return size - size % whole  # a vector takes as long for one trial as for all of its lanes


def make_plan(experiment: Experiment, shard: tuple[int, int] = (1, 1)) -> Plan:
    """Every algorithm against every adversary, in the config's order; shard (i, n): the i-th of n."""
    stages = len(experiment.settings)
    adversaries = [matchup.adversary for matchup in experiment.matchups[::stages]]
    notes = [{name: f"{name} = {value}" for name, value in variant.swept.items()} for variant in adversaries]
    bases = [variant.title for variant in adversaries]
    titles = distinct(list(map(Name, bases, notes)), adversaries)
    apart = _apart(experiment.algorithms)
    curves: list[Curve] = []
    for i, matchup in enumerate(experiment.matchups):
        over = settings.swept(experiment.keys, matchup.setting)
        over.pop("horizon", None)  # the horizons share a panel
        title = titles[i // stages].noted(settings.swept_notes(matchup.setting, over))
        promised = [_promised(variant, matchup.setting) for variant in matchup.algorithms]
        pairs = zip(matchup.algorithms, promised, strict=True)
        labels = [_label(variant, made, matchup.setting) for variant, made in pairs]
        lineup = zip(matchup.algorithms, distinct(labels, matchup.algorithms), promised, apart, strict=True)
        curves.extend(_curve(experiment, matchup, title, *entry) for entry in lineup)
    return Plan(experiment, tuple(curves), shard)


def _curve(
    experiment: Experiment,
    matchup: Matchup,
    title: Name,
    variant: Variant,
    label: Name,
    promised: Guarantee | None,
    apart: Mapping[str, Any],
) -> Curve:
    adversary, algorithm = matchup.adversary.parameters, variant.parameters
    assert isinstance(adversary, Adversary) and isinstance(algorithm, Algorithm)
    keys, setting = experiment.keys, matchup.setting
    horizon = settings.played(keys, setting)
    rounds = checkpoints(keys, horizon)
    computed = {
        "game": keys.game,
        "adversary": json.loads(adversary.identity()),
        "algorithm": json.loads(algorithm.identity()),
        "horizon": horizon,
        "arms": setting.n_arms,
        "checkpoints": rounds.tolist(),
        "seed": keys.seed,
    }
    if setting.space is not None:
        computed |= {"set": asdict(setting.space) | {"name": setting.space.name}}
    if setting.contexts is not None:
        computed |= {"contexts": setting.contexts._asdict(), "planned_horizon": setting.horizon}
    if setting.confidence is not None:
        computed |= {"confidence": setting.confidence}
    if setting.switches:
        computed |= {"switches": setting.switches}
    if included := loader.sources_of((adversary, algorithm)):
        computed["included"] = [source.identity for source in included]
    digest = hashlib.sha256(json.dumps(computed, sort_keys=True).encode()).hexdigest()
    own, foes = variant.swept, matchup.adversary.swept
    return Curve(
        adversary=adversary,
        algorithm=algorithm,
        setting=setting,
        checkpoints=rounds,
        adversary_title=title,
        label=label,
        promised=promised,
        panel=variant.panel,
        apart=apart,
        game=settings.swept(keys, setting) | {f"adversary.{k}" if k in own else k: x for k, x in foes.items()},
        own=own,
        key=digest[:16],
    )


def distinct(names: Sequence[Name], variants: Sequence[Variant]) -> list[Name]:
    """The names, those that are equal in one panel followed by the parameters in which they differ."""
    keys = [(name, variant.panel) for name, variant in zip(names, variants, strict=True)]
    differing = _differing(keys, variants)
    out = []
    for key, name, variant in zip(keys, names, variants, strict=True):
        own = {k: x for k, x in flat(variant.parameters.described()).items() if k in differing[key]}
        out.append(name.bracketed({k: f"{k} = {_text(x)}" for k, x in own.items()}))
    return out


def _text(value: Any) -> str:
    """A parameter in a legend."""
    return "none" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _apart(variants: Sequence[Variant]) -> list[dict[str, Any]]:
    """The given parameters that distinguish entries of one algorithm with equal labels and equal swept values.

    In a legend only the guarantee distinguishes them; in figures without guarantees these parameters do.
    """
    families = [(one.panel, one.parameters.name, one.named().base, *one.swept) for one in variants]
    alike = _differing([(family, str(one.swept)) for family, one in zip(families, variants, strict=True)], variants)
    found: dict[Hashable, set[str]] = {}
    for (family, _), differing in alike.items():
        found.setdefault(family, set()).update(differing)
    return [
        {name: x for name, x in flat(one.parameters.described()).items() if name in found[family]}
        for family, one in zip(families, variants, strict=True)
    ]


def _differing(keys: Sequence[Key], variants: Sequence[Variant]) -> dict[Key, set[str]]:
    """For each key the parameters, by dotted names, that its variants do not all have, or not with one value."""
    first: dict[Key, dict[str, Any]] = {}
    differing: dict[Key, set[str]] = {}
    for key, variant in zip(keys, variants, strict=True):
        own = flat(variant.parameters.described())
        other = first.setdefault(key, own)
        changed = {name for name in own.keys() | other.keys() if own.get(name) != other.get(name)}
        differing.setdefault(key, set()).update(changed)
    return differing


def _promised(variant: Variant, setting: Setting) -> Guarantee | None:
    """What a private algorithm promises."""
    algorithm = variant.parameters
    assert isinstance(algorithm, Algorithm)
    try:
        return algorithm.promise(setting) if algorithm.promises() else None
    except COMPUTING as error:
        where = f"{dotted(variant.loc)}: {algorithm.name}"
        raise ConfigError([f"{where}: its guarantee cannot be computed for {failure(setting, error)}"]) from error


def _label(variant: Variant, promised: Guarantee | None, setting: Setting) -> Name:
    """A curve's name in the CSVs: label, swept parameters, and the guarantee of a private algorithm to four digits."""
    algorithm = variant.parameters
    assert isinstance(algorithm, Algorithm)
    if not algorithm.promises():
        return variant.named()
    if promised is None:
        return variant.named().noted({"guarantee": "no guarantee"})
    epsilon = "∞" if math.isinf(promised.epsilon) else f"{promised.epsilon:.4g}"
    delta = f", δ = {promised.delta:.2g}" if promised.delta else ""
    rounds = setting.rounds_per_person
    unit = {"unit": f"{rounds:,} rounds a person"} if rounds > 1 else {}
    return variant.named().noted({"guarantee": f"ε = {epsilon}{delta}"} | unit)
