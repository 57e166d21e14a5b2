"""Results folders -> which algorithms are not beaten, in each instance of a game, at each ε and kind of privacy.

At an ε and a kind of privacy, an algorithm is compared if its ε is no larger and its privacy is of this kind or of a
stronger one. Uniform play is left out: it learns nothing, and its regret is what guessing costs. An algorithm is beaten
if another one has a significantly smaller mean regret and no larger δ. The intervals of the differences hold jointly
over all pairs that are compared (Bonferroni, a confidence of 1 - 0.05/pairs each). They are paired if the trials met
the same games. As for claims, a difference does not count if one further trial, twice as far from its mean as any so
far, could change it.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from privbandits_cli.analysis import curves, estimates
from privbandits_cli.analysis.curves import Curves
from privbandits_cli.analysis.estimates import Estimate
from privbandits_cli.analysis.measured import Measured
from privbandits_cli.experiment.consistency import GAME
from privbandits_cli.games.bandit import Adversary, Setting
from privbandits_cli.games.parameters import Parameters
from privbandits_cli.games.players import Algorithm
from privbandits_cli.plugins.registry import Registry

CONFIDENCE = 0.95
BUDGETS = (0.1, 0.5, 1.0, 10.0)  # of ε
MOST_DELTA = 1e-3  # a larger δ may release the data of some rounds as they are
GUESS = "uniform"
TRUST = ("central", "distributed", "local")  # as `Algorithm.trust` names it
NOISE = 1 + 1e-6  # an ε from a calibration may be this much larger than what it was calibrated to

Player = tuple[str, str]  # an algorithm, and its choices in YAML


@dataclass(frozen=True)
class Kind:
    """A kind of privacy: whom users must trust, and whether only rewards are protected."""

    trust: int  # 0: a trusted learner sees all; 1: a server sees noisy sums over many users; 2: each report is private
    arms: bool = True  # the features of the arms are protected, not only the rewards

    def covers(self, other: "Kind") -> bool:
        """Whether it is at least as good."""
        return self.trust >= other.trust and self.arms >= other.arms


KINDS = {
    Kind(0): "central privacy",
    Kind(1): "distributed trust",
    Kind(2): "local privacy",
    Kind(0, arms=False): "central privacy of rewards",
    Kind(2, arms=False): "local privacy of rewards",
}


@dataclass(frozen=True)
class Entry:
    """An algorithm in an instance: one that is private, with its promise, or one that is not."""

    algorithm: str  # as in a config
    folder: str  # with its results
    seed: int  # trials of one seed have met the same games
    kind: Kind | None  # None: it is not private
    epsilon: float
    delta: float
    mean: Estimate
    choices: Mapping[str, Any] = field(default_factory=dict)  # words that differ from their defaults, by dotted names
    others: Mapping[str, Any] = field(default_factory=dict)  # numbers, and words that are tuned, likewise
    swept: frozenset[str] = frozenset()  # parameters of which the config gives several values

    @property
    def player(self) -> Player:
        """What an entry is compared as: the algorithm with its choices, at the best of its numbers."""
        return self.algorithm, in_yaml(self.choices)

    @property
    def proved(self) -> bool:
        """Whether its answers are proved to be right as often as it says, which stylised thresholds are not."""
        return self.choices.get("threshold") != "stylised"

    @property
    def interval(self) -> tuple[float, float]:
        """Student's 95 % interval of its mean, by itself."""
        half = self.mean.error * estimates.quantile(self.mean.trials - 1, CONFIDENCE)
        return self.mean.value - half, self.mean.value + half


@dataclass(frozen=True)
class Instance:
    """A game that several algorithms have played for the same number of rounds."""

    game: str  # as in a config
    feedback: str  # of a linear game
    adversary: str
    title: str
    rounds: int
    timed: bool  # entries are compared by their times until the answer, not by regrets
    entries: tuple[Entry, ...]
    guess: float | None = None  # the mean regret of uniform play, if it is known

    def eligible(self, kind: Kind, epsilon: float) -> list[Entry]:
        """The private algorithms whose privacy is at least of this kind and ε, from the smallest mean on."""
        found = [e for e in self.entries if e.kind and e.kind.covers(kind) and e.epsilon <= epsilon * NOISE]
        return sorted(found, key=lambda entry: entry.mean.value)

    def plain(self) -> list[Entry]:
        """The algorithms without privacy, from the smallest mean on."""
        return sorted((e for e in self.entries if not e.kind), key=lambda entry: entry.mean.value)

    def rows(self, kind: Kind) -> Iterator["Row"]:
        """A row for each of BUDGETS near which an algorithm was played: with an ε above its half."""
        for epsilon in BUDGETS:
            found = self.eligible(kind, epsilon)
            if any(entry.epsilon > epsilon / 2 for entry in found):
                yield Row(self, epsilon, found)


@dataclass(frozen=True)
class Row:
    """The algorithms that are private enough for a kind of privacy and an ε, in an instance."""

    instance: Instance
    epsilon: float  # at most
    entries: list[Entry]  # from the smallest mean on

    @cached_property
    def players(self) -> dict[Player, Entry]:
        """Each player with the smallest mean that it has with any of its numbers."""
        return {entry.player: entry for entry in reversed(self.entries)}

    def parameters(self, entry: Entry) -> str:
        """What a config needs besides the algorithm's name, ε and δ, as far as it is a choice.

        These are the choices; what is swept, or differs from another entry of the algorithm at the same ε and δ; what
        sets its privacy, if this is no ε; and a given ε other than the one that is proved. A number of many digits is
        computed, so that a config leaves it out.
        """
        given = entry.others.get("epsilon")
        kin = [one for one in self.instance.entries if one.algorithm == entry.algorithm]
        kin = kin if given is None else [one for one in kin if (one.epsilon, one.delta) == (entry.epsilon, entry.delta)]
        differ = {
            name: x
            for name, x in entry.others.items()
            if name not in ("epsilon", "delta")
            and (name in entry.swept or (_written(x) and any(one.others.get(name) != x for one in kin)))
        }
        if given is not None and not math.isclose(given, entry.epsilon, rel_tol=1e-3):
            differ["epsilon"] = given
        return in_yaml({**entry.choices, **differ})

    @cached_property
    def unbeaten(self) -> list[Entry]:
        """The entries that no other one beats, and whose mean cannot be twice that of another; once a player."""
        kept = [e for i, e in enumerate(self.entries) if not any(self._beats(rival, e) for rival in self.entries[:i])]
        narrow = [entry for entry in kept if not self._wide(entry)]
        first: dict[Player, Entry] = {}
        for entry in narrow or kept:
            first.setdefault(entry.player, entry)
        return list(first.values())

    @property
    def next(self) -> Entry | None:
        """The player with the smallest mean of those that are not among the unbeaten."""
        named = {entry.player for entry in self.unbeaten}
        others = (entry for player, entry in self.players.items() if player not in named)
        return min(others, key=lambda entry: entry.mean.value, default=None)

    def learned(self, entry: Entry) -> bool:
        """Whether its interval is below what guessing costs, as far as this is known."""
        return self.instance.guess is None or entry.interval[1] < self.instance.guess

    def beaten(self, entry: Entry) -> set[Player]:
        """The players that an entry beats, or whose mean may be twice as large. Each counts with its smallest mean."""
        others = ((player, other) for player, other in self.players.items() if player != entry.player)
        return {player for player, other in others if self._beats(entry, other) or _twice(other, entry)}

    def _wide(self, entry: Entry) -> bool:
        return any(_twice(entry, other) for other in self.entries)

    def _beats(self, one: Entry, other: Entry) -> bool:
        pairs = max(1, len(self.entries) * (len(self.entries) - 1) // 2)
        return _promises(one, other) and _less(one, other, 1 - (1 - CONFIDENCE) / pairs)


def _promises(one: Entry, other: Entry) -> bool:
    """Whether one has no larger δ than the other, and a proof that its answers are right if the other has one."""
    return one.delta <= other.delta and (one.proved or not other.proved)


def _twice(one: Entry, other: Entry) -> bool:
    """Whether the interval of one reaches beyond twice the upper end of the other's, which promises as much."""
    return _promises(other, one) and one.interval[1] > 2 * other.interval[1] > 0


def _less(one: Entry, other: Entry, confidence: float) -> bool:
    """Whether the mean of one is significantly smaller, even with one further trial."""
    both = estimates.two(one.mean, other.mean, independent=one.seed != other.seed)
    found, _ = both.judged(1.0, confidence, lambda low, high: high < 0, False)
    return found


def kinds(every: Iterable[Instance]) -> list[Kind]:
    """The kinds of privacy of the algorithms in some instances."""
    return sorted({entry.kind for instance in every for entry in instance.entries if entry.kind}, key=[*KINDS].index)


def instances(folders: Iterable[Path]) -> list[Instance]:
    """All instances of results folders, each at its last round; of several horizons, the longest.

    As in the figures, each algorithm is at the worst of an adversary's swept parameter, and at the best of its own
    grid, if the config says so. An algorithm with the same parameters in several folders is taken from the one with
    most trials. Folders whose ε is that of a person are left out: in the others it is that of a round.
    """
    found: dict[str, dict[str, tuple[Entry, Instance]]] = {}
    registry = Registry()
    for folder in folders:
        read = curves.read(folder, finals=True)
        if read.config.get("unit"):
            continue
        longest = max(max(curve.rounds) for curve in read.drawn)
        for curve in read.drawn:
            entry = _entry(read, curve, registry)
            if entry is not None and max(curve.rounds) == longest:
                played = found.setdefault(_key(read, curve), {})
                key = json.dumps([curve.algorithm, _own(curve.parameters["algorithm"])], sort_keys=True)
                if key not in played or entry.mean.trials > played[key][0].mean.trials:
                    played[key] = entry, _instance(read, curve, registry)
    every = []
    for played in found.values():
        entries, made = zip(*played.values(), strict=True)
        measured = [entry.mean.value for entry in entries if entry.algorithm == GUESS]
        learners = tuple(entry for entry in entries if entry.algorithm != GUESS)
        if learners:
            every.append(replace(made[0], entries=learners, guess=min(measured, default=made[0].guess)))
    return every


def _own(parameters: Mapping[str, Any], *without: str) -> dict[str, Any]:
    """The parameters of a player, without its names."""
    return {name: x for name, x in parameters.items() if name not in ("label", "panel", *without)}


def _key(read: Curves, curve: Measured) -> str:
    """The key of a curve's instance: its game, its adversary with parameters, and its rounds."""
    game = {name: read.config.get(name) for name in GAME if name not in ("horizon", "planned_horizon")}
    game |= {name: x for name, x in curve.of_game.items() if name in ("set", "dimension", "confidence")}
    foe = _own(curve.parameters["adversary"], read.plot.worst)
    return json.dumps([game, curve.adversary, foe, read.plot.worst, max(curve.rounds)], sort_keys=True)


def _entry(read: Curves, curve: Measured, registry: Registry) -> Entry | None:
    """A curve as an entry; None if it is a user's, if its δ is too large, or if a trial has no answer."""
    if curve.algorithm not in registry.names("algorithms") or any(map(math.isnan, curve.finals.values())):
        return None
    model = registry.find("algorithms", curve.algorithm)
    assert issubclass(model, Algorithm)
    kind = None
    if curve.private:
        kind = Kind(TRUST.index(model.trust()), not model.public_arms)
    epsilon, delta = (float(curve.record[name]) if kind else math.inf for name in ("epsilon", "delta"))
    if kind and delta > MOST_DELTA:
        return None
    numbers = {trial: float(x) for trial, x in (curve.pulls if read.timed else curve.finals).items()}
    mean, seed = estimates.mean(numbers), int(read.config.get("seed", 0))
    given = _own(curve.parameters["algorithm"])
    choices, others = chosen(registry.rebuilt("algorithms", {"name": curve.algorithm, **given}))
    return Entry(
        curve.algorithm, read.folder.name, seed, kind, epsilon, delta, mean, choices, others, frozenset(curve.own)
    )


def chosen(player: Parameters, prefix: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters that are not at their defaults, by dotted names: words, and the others.

    A word that `tuned` may choose is one of the others.
    """
    words: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, info in type(player).model_fields.items():
        value, key = getattr(player, name), f"{prefix}{name}"
        if isinstance(value, Parameters):
            if not isinstance(info.default, Parameters) or info.default.name != value.name:
                words[f"{key}.name"] = value.name
            inner = chosen(value, f"{key}.")
            words |= inner[0]
            others |= inner[1]
        elif value is not None and value != info.default:
            word = isinstance(value, str | bool) and info.default is not None
            (words if word else others)[key] = value
    return words, others


def _written(value: Any) -> bool:
    """Whether a person would write this value in a config: a word, or a number of at most four digits."""
    return not isinstance(value, int | float) or float(f"{value:.4g}") == value


def in_yaml(parameters: Mapping[str, Any]) -> str:
    """Parameters with dotted names as in the braces of an entry of a config: `first: 16, base: {name: exp3}`."""
    nested: dict[str, Any] = {}
    for name, value in parameters.items():
        *path, last = name.split(".")
        inside = nested
        for part in path:
            inside = inside.setdefault(part, {})
        inside[last] = int(value) if isinstance(value, float) and value.is_integer() and value < 1e6 else value
    text = yaml.safe_dump(nested, default_flow_style=True, sort_keys=False, allow_unicode=True, width=math.inf)
    return text.strip().removeprefix("{").removesuffix("}")


def _guess(read: Curves, curve: Measured, registry: Registry) -> float | None:
    """The mean regret of uniform play, if the game tells it: by fixed means, a gap, or the number of classes.

    In a linear game, uniform play stays in the middle of the set. Of a gap that is swept, the largest one counts.
    """
    game, foe = str(read.config.get("game", "bandit")), _own(curve.parameters["adversary"])
    size, rounds = {**read.config, **curve.of_game}, max(curve.rounds)
    if curve.adversary == "table":
        return rounds * (1 - 1 / int(size["arms"]))
    if game == "linear":
        if curve.adversary != "gap" or size["set"] not in ("simplex", "sphere", "cube"):
            return None
        gap = max(float(one.parameters["adversary"]["gap"]) for one in read.every if one.adversary == "gap")
        return rounds * gap * (1 - 1 / int(size["dimension"]) if size["set"] == "simplex" else 1.0)
    if game == "contextual" or read.timed or read.plot.worst:
        return None
    adversary = registry.rebuilt("adversaries", {"name": curve.adversary, **foe})
    assert isinstance(adversary, Adversary)
    setting = Setting(rounds, len(foe["means"]) if isinstance(foe.get("means"), list) else int(size["arms"]))
    means = adversary.mean_gains(setting) if adversary.reaction()[0] == 0 else None
    if means is None:
        means = adversary.coins(setting)
    return None if means is None else float(means.max() - means.mean()) * (1 if game == "best_arm" else rounds)


def _instance(read: Curves, curve: Measured, registry: Registry) -> Instance:
    game, size = str(read.config.get("game", "bandit")), {**read.config, **curve.of_game}
    means = curve.parameters["adversary"].get("means")
    arms = len(means) if isinstance(means, list) else size.get("arms")
    parts = [
        str(curve.panel_title(read.plot.folded)),
        read.plot.worst and f"at the worst {read.symbol(read.plot.worst)}",
        str(size.get("set", "simplex")) if game == "linear" else "",
        f"K = {arms}" if game in ("bandit", "best_arm") and arms not in (None, "means") else "",
    ]
    title = ", ".join(filter(None, parts))
    feedback = str(read.config.get("feedback", "full")) if game == "linear" else ""
    guess = _guess(read, curve, registry)
    return Instance(game, feedback, curve.adversary, title, max(curve.rounds), read.timed, (), guess)
