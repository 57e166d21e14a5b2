"""How many users a study needs: the users of each design at each ε, and what each design guarantees.

A comparison asks which of K arms is best, and a test whether a rate is at most `null` or at least `alternative`. A row
has a design at an ε:

- `floor`: the least mean number of users of any study that is right with probability 1 - δ whatever the lead is.
- `one_shot`: equal plays, one noisy sum of each arm, and the arm with the largest one.
- `sequential`: it goes on until the evidence is large enough (`dp_tt`, `dp_sprt`). Its users are simulated.
- `looks`: a few planned looks, and a fixed number of users at most (`identification.looks`).

If one person is in up to m rounds, ε is that of a person, and users are rounds. A sum moves by at most m with a person,
so every design has the noise of ε/m: no smaller noise hides a person whose m rounds are all of one arm. The floor is
that of ε, because a person may be in one round only.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privbandits_cli.adversaries import bernoulli
from privbandits_cli.algorithms import dp_sprt, dp_tt
from privbandits_cli.analysis.format import counted
from privbandits_cli.games import best_arm
from privbandits_cli.games.bandit import Setting
from privbandits_cli.games.match import Match
from privbandits_cli.identification import looks
from privbandits_cli.identification.designs import one_shot_plays, one_shot_test, planning_means
from privbandits_cli.identification.times import binary_kl, lower_bound
from privbandits_cli.numerics.kl import kl
from privbandits_cli.numerics.text import exact
from privbandits_cli.numerics.types import Floats, Ints

if TYPE_CHECKING:
    from privbandits_cli.figures.plot import Figure
    from privbandits_cli.figures.users import Point

EPSILONS = (0.1, 0.5, 1.0, math.inf)  # of a table
DRAWN = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, math.inf)  # of a figure
LARGEST = 1e9  # the largest ε of an algorithm
BEYOND = 1e10  # variance / lead², of a study of about 10^11 users; beyond it, rounding spoils the number of users
CAP = 1000  # a simulated study ends after so many times the users of one release
SEQUENTIAL = 8.0  # about how many times the users of one release a study until sure takes, and one with twice the lead
CHUNK = 32  # trials that are played together, between two steps of a progress bar
HIGH, HIGHEST = 0.9, 0.99  # quantiles

Watch = Callable[[int, int], None]  # of trials and plays


class Row(NamedTuple):
    """A design at an ε. What was not simulated, or does not apply, is None."""

    epsilon: float  # infinite without privacy
    design: str
    users: int | None  # floor: on average, sequential: the 90 % quantile, looks: at most
    each: int | None  # plays of each arm
    price: float | None  # users over users without privacy
    runs: int | None = None  # simulated studies whose lead is the gap, or with the worse one of two rates
    mean: float | None = None  # of their users
    error: float | None = None  # its standard error
    q90: int | None = None  # the 90 % quantile of their users
    q99: int | None = None
    certified: float | None = None  # the share that ended with an answer that is right whatever the lead is
    mean_twice: float | None = None  # the mean of as many studies whose lead is twice the gap
    certified_twice: float | None = None


class Comparison(NamedTuple):
    """Which of K arms is best, if it leads all others by `gap` around `centre`; δ: the probability of an error.

    rounds: m, the most rounds that one person is in.
    """

    arms: int
    gap: float
    delta: float
    centre: float = 0.5
    rounds: int = 1

    def means(self, times: int = 1) -> Floats:
        """The means of an instance whose lead is so many times the gap."""
        return planning_means(self.arms, times * self.gap, self.centre)

    def floor(self, epsilon: float) -> int:
        """The lower bound on the mean number of users of a study that is right whatever the lead is."""
        return math.floor(lower_bound(self.means(), epsilon, self.delta))

    def one_shot(self, epsilon: float) -> int:
        """The users of one release."""
        return self.arms * one_shot_plays(self.arms, self.gap, epsilon / self.rounds, self.delta, self.centre)

    def looks(self, epsilon: float) -> looks.Looks:
        """The plan of a few looks."""
        return looks.planned(self.arms, self.gap, epsilon / self.rounds, self.delta, self.centre)

    def leads(self) -> Sequence[int]:
        """The multiples of the gap that are simulated: 1, and 2 if the means are in [0, 1]."""
        return (1, 2) if self.gap <= min(self.centre, 1 - self.centre) else (1,)


class Test(NamedTuple):
    """Whether a rate is at most `null` or at least `alternative`; δ: the probability of each of the two errors.

    rounds: m, the most rounds that one person is in.
    """

    null: float
    alternative: float
    delta: float
    rounds: int = 1

    def floor(self, epsilon: float) -> int:
        """Wald's bound without privacy, at the worse one of the two rates; privacy can only raise it."""
        least = min(kl(self.null, self.alternative), kl(self.alternative, self.null))
        return math.floor(binary_kl(self.delta) / least)

    def one_shot(self, epsilon: float) -> int:
        """The users of one release."""
        return self.release(epsilon)[0]

    def release(self, epsilon: float) -> tuple[int, float]:
        """The users of one release, and the share of successes above which it says `alternative`."""
        return one_shot_test(self.null, self.alternative, epsilon / self.rounds, self.delta)


Question = Comparison | Test


def question(
    arms: int,
    gap: float | None,
    delta: float,
    centre: float = 0.5,
    null: float | None = None,
    alternative: float | None = None,
    rounds: int = 1,
) -> Question:
    """What is asked of a study; ValueError with what to write instead if the numbers make no sense."""
    if arms < 1:
        raise ValueError(f"arms {arms} must be 1 or more: give the number of variants that are compared")
    if rounds < 1:
        raise ValueError(f"rounds_per_person {rounds} must be 1 or more: how many rounds one person is in, at most")
    if not 0 < delta < 0.5:
        raise ValueError(
            f"delta {exact(delta)} must be above 0 and below 0.5: 0.05 means that 5 % of such studies may err"
        )
    made = (
        _test(gap, delta, null, alternative) if arms == 1 else _comparison(arms, gap, delta, centre, null, alternative)
    )
    return made._replace(rounds=rounds)


def _comparison(
    arms: int, gap: float | None, delta: float, centre: float, null: float | None, alternative: float | None
) -> Comparison:
    if null is not None or alternative is not None:
        raise ValueError(f"null and alternative belong to one arm, not {arms}: leave them out, or set arms to 1")
    if gap is None:
        raise ValueError("gap is missing: give the smallest lead that matters, such as 0.05 for 5 percentage points")
    if not 0 < gap < 1:
        raise ValueError(f"gap {exact(gap)} must be above 0 and below 1: 0.05 means a lead of 5 percentage points")
    half = 0.5 * gap
    if not half - 1e-12 <= centre <= 1 - half + 1e-12:
        raise ValueError(
            f"with gap {exact(gap)}, centre {exact(centre)} puts the arms at {centre + half:g} and {centre - half:g}, "
            f"which must be in [0, 1]: give a centre from {half:g} to {1 - half:g}, or a smaller gap"
        )
    centre = min(max(centre, half), 1 - half)
    _resolve(f"gap {exact(gap)}", gap, centre)
    return Comparison(arms, gap, delta, centre)


def _test(gap: float | None, delta: float, null: float | None, alternative: float | None) -> Test:
    if gap is not None:
        raise ValueError("one arm leads nobody: leave gap out, and give null and alternative, two rates to tell apart")
    if null is None or alternative is None:
        raise ValueError("one arm needs null and alternative, two rates to tell apart, such as 0.1 and 0.12")
    for name, value in (("null", null), ("alternative", alternative)):
        if not 0 < value < 1:
            raise ValueError(f"{name} {exact(value)} must be above 0 and below 1: 0.12 means 12 %")
    if null >= alternative:
        hint = "give a larger alternative"
        if null > alternative:
            hint = f"to find a decrease, count the opposite, {exact(1 - null)} and {exact(1 - alternative)}"
        raise ValueError(f"alternative {exact(alternative)} must be above null {exact(null)}: {hint}")
    _resolve(f"alternative {exact(alternative)}", alternative - null, alternative)
    return Test(null, alternative, delta)


def _resolve(what: str, lead: float, mean: float) -> None:
    """ValueError if a study of this lead needs more users than there are people: rounding spoils their number."""
    if mean * (1 - mean) > BEYOND * lead**2:
        raise ValueError(f"{what} takes more users than there are people: give a larger one")


def privacy(epsilon: float | None) -> float:
    """ε, or infinity for None; ValueError unless it is above 0."""
    if epsilon is None or epsilon == math.inf:
        return math.inf
    if not 0 < epsilon <= LARGEST:
        raise ValueError(f"epsilon {exact(epsilon)} must be above 0 and at most 1e9: give one such as 0.5, or none")
    return epsilon


# ------------------------------------------------------------------------------------------ rows


def rows(
    asked: Question, epsilons: Sequence[float], runs: int = 0, seed: int = 0, watch: Watch | None = None
) -> list[Row]:
    """All designs at each ε; runs: simulated studies of `sequential` and `looks`, or 0."""
    return [row for epsilon in epsilons for row in _rows(asked, epsilon, runs, seed, watch or (lambda *_: None))]


def ordered(table: Sequence[Row]) -> list[float]:
    """The levels of ε of a table, no privacy first, then the largest."""
    return sorted({row.epsilon for row in table}, reverse=True)


def trials(asked: Question, epsilons: Sequence[float], runs: int) -> int:
    """The number of trials of which `rows` tells its watcher."""
    return runs * len(epsilons) * (2 if isinstance(asked, Test) else len(asked.leads()))


def plays(asked: Question, epsilons: Sequence[float], runs: int) -> float:
    """About how many plays the simulated studies of `rows` have."""
    return runs * SEQUENTIAL * sum(asked.one_shot(epsilon) for epsilon in epsilons)


def _rows(asked: Question, epsilon: float, runs: int, seed: int, watch: Watch) -> Iterator[Row]:
    arms = 1 if isinstance(asked, Test) else asked.arms
    for design, users in (("floor", asked.floor), ("one_shot", asked.one_shot)):
        found, free = users(epsilon), users(math.inf)
        yield Row(epsilon, design, found, found // arms if design == "one_shot" else None, found / free)
    yield _sequential(asked, epsilon, runs, seed, watch)
    if isinstance(asked, Comparison):
        yield _looks(asked, epsilon, runs, seed)


def _sequential(asked: Question, epsilon: float, runs: int, seed: int, watch: Watch) -> Row:
    row = Row(epsilon, "sequential", None, None, None)
    if not runs:
        return row
    if isinstance(asked, Test):
        every = [_studies(asked, epsilon, [rate], runs, seed, watch) for rate in (asked.null, asked.alternative)]
        return _simulated(row, *max(every, key=lambda one: float(one[0].mean())))._replace(certified=None)
    first, *others = (_studies(asked, epsilon, asked.means(times), runs, seed, watch) for times in asked.leads())
    return _twice(_simulated(row, *first), *others)


def _simulated(row: Row, users: Ints, certified: Ints) -> Row:
    ends = np.quantile(users, (HIGH, HIGHEST), method="higher")
    error = float(users.std(ddof=1) / math.sqrt(len(users))) if len(users) > 1 else None
    found = row._replace(runs=len(users), mean=float(users.mean()), error=error, q90=int(ends[0]), q99=int(ends[1]))
    return found._replace(users=found.q90 if row.users is None else row.users, certified=float(certified.mean()))


def _twice(row: Row, *others: tuple[Ints, Ints]) -> Row:
    for users, certified in others:
        row = row._replace(mean_twice=float(users.mean()), certified_twice=float(certified.mean()))
    return row


def _looks(asked: Comparison, epsilon: float, runs: int, seed: int) -> Row:
    plan = asked.looks(epsilon)
    row = Row(epsilon, "looks", plan.users, plan.plays[-1], plan.users / asked.looks(math.inf).users)
    if not runs:
        return row
    every = (looks.simulate(plan, asked.means(times), runs, seed) for times in asked.leads())
    first, *others = ((one.users, one.certified.astype(np.int64)) for one in every)
    return _twice(_simulated(row, *first), *others)


def titled(asked: Question) -> str:
    """The title of a panel."""
    if isinstance(asked, Test):
        return f"one rate, {asked.null:g} or {asked.alternative:g}"
    around = "" if asked.centre == 0.5 else f" around {asked.centre:g}"
    return f"{counted(asked.arms, 'arm')}, gap {asked.gap:g}{around}"


def figure(panels: Mapping[Question, Sequence[Row]]) -> "Figure":
    """Draw users against ε, with a panel for each question."""
    from privbandits_cli.figures import users

    made = {titled(asked): [_point(row) for row in found if row.users] for asked, found in panels.items()}
    return users.figure(made)


def _point(row: Row) -> "Point":
    """A row in a figure: the mean of a simulated design, up to the 90 % quantile, and the users of another one."""
    from privbandits_cli.figures.users import Point

    simulated = row.design == "sequential"
    users = row.mean if simulated else row.users
    assert users is not None
    return Point(row.design, row.epsilon, users, row.q90 if simulated else None)


# ------------------------------------------------------------------------------------------ the compiled game


def _studies(
    asked: Question, epsilon: float, means: Sequence[float] | Floats, runs: int, seed: int, watch: Watch
) -> tuple[Ints, Ints]:
    """Users of simulated sequential studies, and whether they ended before the cap, `[runs]` each."""
    setting = Setting(CAP * asked.one_shot(epsilon), len(means), confidence=1 - asked.delta)
    algorithm = learner(asked, min(epsilon, LARGEST)).tuned(setting)
    adversary = bernoulli.Parameters(means=[float(mean) for mean in means])
    match = Match(adversary, [algorithm], setting, np.array([setting.horizon]), seed)
    users, certified = [], []
    for start in range(0, runs, CHUNK):
        chunk = range(start, min(start + CHUNK, runs))
        found = best_arm.outcomes(best_arm.play(match, chunk)[0])
        users.append(found.pulls)
        certified.append(1 - found.capped.astype(np.int64))
        watch(len(chunk), int(found.pulls.sum()))
    return np.concatenate(users), np.concatenate(certified)


def learner(asked: Question, epsilon: float) -> best_arm.Algorithm:
    """The sequential design, not tuned; its constants are chosen before the study, so that they cost nothing.

    epsilon: that of a person; the design's own is the m-th part of it.
    """
    own = epsilon / asked.rounds
    if isinstance(asked, Test):
        return dp_sprt.Parameters(epsilon=own, mu0=asked.null, mu1=asked.alternative)
    n = asked.one_shot(epsilon) // asked.arms
    first = max(math.ceil(dp_tt.NOISE / own), math.ceil(n / 4))
    return dp_tt.Parameters(epsilon=own, bonus=3.0, growth=0.5, first=first)
