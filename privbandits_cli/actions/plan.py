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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from privbandits_cli.adversaries import bernoulli
from privbandits_cli.algorithms import dp_sprt, dp_tt
from privbandits_cli.analysis.format import counted
from privbandits_cli.games import best_arm
from privbandits_cli.games.bandit import Setting
from privbandits_cli.games.match import Match
from privbandits_cli.identification import looks
from privbandits_cli.identification.designs import one_shot_plays, one_shot_test, planning_means, z_test_plays
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
        hint = percent(delta) or "0.05 means that 5 % of such studies may err"
        raise ValueError(f"delta {exact(delta)} must be above 0 and below 0.5: {hint}")
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
        hint = percent(gap) or "0.05 means a lead of 5 percentage points"
        raise ValueError(f"gap {exact(gap)} must be above 0 and below 1: {hint}")
    half = 0.5 * gap
    if not half - 1e-12 <= centre <= 1 - half + 1e-12:
        raise ValueError(
            f"with gap {exact(gap)}, centre {exact(centre)} puts the arms at {centre + half:g} and {centre - half:g}, "
            f"which must be in [0, 1]: give a centre from {half:g} to {1 - half:g}, or a smaller gap"
        )
    return Comparison(arms, gap, delta, min(max(centre, half), 1 - half))


def _test(gap: float | None, delta: float, null: float | None, alternative: float | None) -> Test:
    if gap is not None:
        raise ValueError("one arm leads nobody: leave gap out, and give null and alternative, two rates to tell apart")
    if null is None or alternative is None:
        raise ValueError("one arm needs null and alternative, two rates to tell apart, such as 0.1 and 0.12")
    for name, value in (("null", null), ("alternative", alternative)):
        if not 0 < value < 1:
            raise ValueError(
                f"{name} {exact(value)} must be above 0 and below 1{': ' * bool(percent(value))}{percent(value)}"
            )
    if null >= alternative:
        hint = "give a larger alternative"
        if null > alternative:
            hint = f"to find a decrease, count the opposite, {exact(1 - null)} and {exact(1 - alternative)}"
        raise ValueError(f"alternative {exact(alternative)} must be above null {exact(null)}: {hint}")
    return Test(null, alternative, delta)


def percent(value: float) -> str:
    """What to write for a percentage: `write 0.05 for 5 %`."""
    return f"write {round(value / 100, 12):g} for {value:g} %" if 1 <= value < 100 else ""


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


def described(
    asked: Question, designs: Sequence[Row], table: Sequence[Row], drawn: Sequence[Row] = ()
) -> dict[str, Any]:
    """All as plain data: what is asked, the designs in words, the table over ε, and the points of a figure."""
    words = [row._asdict() | explained(asked, row)._asdict() for row in designs]
    points = {"figure": [row._asdict() for row in drawn]} if drawn else {}
    question = {name: value for name, value in asked._asdict().items() if name != "rounds" or value > 1}
    return {"question": question, "designs": words, "table": [row._asdict() for row in table], **points}


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


# ------------------------------------------------------------------------------------------ in words


def level(epsilon: float) -> str:
    """An ε in a table."""
    return "none" if epsilon == math.inf else f"{epsilon:g}"


def ordered(table: Sequence[Row]) -> list[float]:
    """The levels of ε of a table, no privacy first, then the largest."""
    return sorted({row.epsilon for row in table}, reverse=True)


def opening(asked: Question, epsilon: float) -> str:
    """What is asked of the study."""
    privacy = "without privacy" if epsilon == math.inf else f"with privacy ε = {epsilon:g}"
    wrong = f"The answer may be wrong with probability δ = {asked.delta:g}."
    one = "Each user counts once."
    if asked.rounds > 1:
        one = f"One person is in up to {asked.rounds:,} rounds, and every user below is one round."
    if isinstance(asked, Test):
        rates = f"at most {asked.null:g}, or at least {asked.alternative:g}"
        return f"Is a rate {rates}, {privacy}? {wrong} {one}"
    low, high = (f"{asked.centre + sign * 0.5 * asked.gap:g}" for sign in (-1, 1))
    return (
        f"Which of {asked.arms} versions (arms) has the largest mean reward, {privacy}? Planned for a best version "
        f"with mean {high}, and {low} for all others: a lead of {asked.gap:g}. {wrong} Users are split at random, "
        f"and each sees one version. {one}"
    )


def advice(asked: Question, designs: Sequence[Row]) -> list[str]:
    """Which design to take, and what the usual calculators say."""
    if isinstance(asked, Test):
        return ["Take design 1, unless design 2 takes fewer users on average and you can do without a fixed end."]
    users = {row.design: row.users for row in designs}
    choice = (
        f"Take design 1 if leads below {asked.gap:g} do not matter to you: {users['one_shot']:,} users. Take design 2 "
        f"if you hope for a larger lead and would like to end early: at most {users['looks']:,} users. Take design 3 "
        "only if the answer must be right however small the lead is. None of them needs a test of significance "
        "afterwards."
    )
    kept = (
        "If an old version is to stay unless a new one is better, take design 2, and change only if the answer is "
        "proved there. You then change to a version that is not better in at most "
        f"{share(0.5 * asked.delta)} of all studies; a lead of just the gap is often too small to be proved. In "
        "design 1 a version that is as good as the old one is about as likely to be the answer as the old one."
    )
    return [choice, kept, calculated(asked)]


POWERS = (0.8, 0.95)  # of the usual test
USUAL = 0.05  # its error


def calculated(asked: Comparison) -> str:
    """The users that the usual calculators of A/B tests say, and why they are others."""
    low, high = asked.centre - 0.5 * asked.gap, asked.centre + 0.5 * asked.gap
    each = [z_test_plays(low, high, USUAL, power) for power in POWERS]
    said = " or ".join(
        f"{n:,} users of each version ({asked.arms * n:,} in all) at power {100 * power:g} %"
        for n, power in zip(each, POWERS, strict=True)
    )
    return (
        f"The usual calculators, for a z-test of two versions with error {100 * USUAL:g} % and no privacy, say {said}. "
        "Their question is another one: do two versions differ? Design 1 says which version to take, and does not have "
        "to prove that they differ; this saves users. Its number is proved for all rewards between 0 and 1, with the "
        "noise in it, where theirs is an approximation; this costs users."
    )


def closing(asked: Question) -> list[str]:
    """What the table says, and what ε means."""
    price = "price of 1: the users of design 1 over those without privacy."
    if isinstance(asked, Comparison):
        price += " no fewer than: on average, for a design that is right whatever the lead is, as 3 is."
    seen = "" if isinstance(asked, Test) else "which version each user saw, the noisy sums, "
    if asked.rounds == 1:
        return [
            price,
            f"ε bounds what anybody learns of one user from {seen}the end of the study, and the answer. A user who "
            "counts r times, in this study or others on the same people, has r ε.",
        ]
    return [
        price,
        f"ε bounds what anybody learns of one person, whose {asked.rounds:,} rounds may all be of one version, from "
        f"{seen}the end of the study, and the answer: the noise is {asked.rounds:,} times that for one round. Rounds "
        "of one person resemble each other, so that they tell less than as many people do; the probabilities of errors "
        "hold for independent rounds only.",
    ]


DESIGNS = ("one_shot", "looks", "sequential")  # in the order of their numbers


def numbered(designs: Sequence[Row]) -> list[tuple[str, Row]]:
    """The designs of a study, `1.` and so on, and behind them the bound, which has no number."""
    made = {row.design: row for row in designs}
    shown = [made[name] for name in DESIGNS if name in made]
    return [*((f"{number}.", row) for number, row in enumerate(shown, 1)), ("", made["floor"])]


class Words(NamedTuple):
    """What a design is, and what it guarantees."""

    title: str
    how: str
    guaranteed: str
    not_guaranteed: str


def explained(asked: Question, row: Row) -> Words:
    """A row in plain words; a text may be empty."""
    made: dict[str, Callable[[Any, Row], Words]] = (
        {"floor": _test_floor, "one_shot": _test_one_shot, "sequential": _test_sequential}
        if isinstance(asked, Test)
        else {"floor": _floor, "one_shot": _one_shot, "sequential": _until_sure, "looks": _some_looks}
    )
    return made[row.design](asked, row)


def share(value: float) -> str:
    """`97.5 %`, never rounded up to 100 %."""
    return f"{math.floor(1e5 * value + 1e-6) / 1e3:g} %"


def _private(epsilon: float) -> str:
    return "" if epsilon == math.inf else "private "


def _noise(asked: Question, epsilon: float) -> str:
    return f"Laplace noise of scale {asked.rounds}/ε = {asked.rounds / epsilon:.4g}"


def _floor(asked: Comparison, row: Row) -> Words:
    how = (
        f"This is a theorem, not a design. It is about {_private(row.epsilon)}studies that are right with probability "
        f"{share(1 - asked.delta)} whatever the lead is, as design 3 is: no such study takes fewer users on average if "
        f"the lead is {asked.gap:g}. Designs 1 and 2 rely on the lead, so they may take fewer."
    )
    return Words("No design like 3 can do with fewer than", how, "", "")


def _known(asked: Comparison) -> str:
    """What the user knows if the arms are not around ½."""
    if asked.centre == 0.5:
        return ""
    if asked.centre < 0.5:
        return f" This relies on your centre, too: no version's mean may be above {asked.centre + 0.5 * asked.gap:g}."
    return f" This relies on your centre, too: no version's mean may be below {asked.centre - 0.5 * asked.gap:g}."


def _one_shot(asked: Comparison, row: Row) -> Words:
    noisy = f", with {_noise(asked, row.epsilon)} added to each sum" if row.epsilon < math.inf else ""
    how = (
        f"Show each version to {counted(row.each or 0, 'user')}. At the end, and only then, add up each version's "
        f"rewards{noisy}. The answer is the version with the largest sum."
    )
    guaranteed = (
        f"If the best version leads by {asked.gap:g} or more, the answer is this version with probability "
        f"{share(1 - asked.delta)}. Whatever the lead is, the answer is worse than the best version by less than "
        f"{asked.gap:g} with this probability." + _known(asked)
    )
    missing = (
        f"That the answer is the best version if the lead is smaller than {asked.gap:g}; nothing warns you of it. A "
        "large lead does not end the study early."
    )
    return Words("One release", how, guaranteed, missing)


def _until_sure(asked: Comparison, row: Row) -> Words:
    noisy = "noisy " * (row.epsilon < math.inf)
    how = (
        f"Show each new user the leading version or a close one, and look at {noisy}sums again and again, until they "
        "prove that one version is best (`dp_tt`)."
    )
    if row.runs:
        how += (
            f" Recruit for {row.q90:,} users: 90 % of {row.runs:,} simulated studies with a lead of {asked.gap:g} "
            f"ended by then, 99 % by {row.q99:,}, and on average they took {row.mean:,.0f}."
        )
    if row.mean_twice is not None:
        how += f" With a lead of {2 * asked.gap:g} they took {row.mean_twice:,.0f}."
    guaranteed = (
        f"The answer is the best version with probability {share(1 - asked.delta)}, whatever the lead is. This is the "
        "only design whose answer never relies on your gap."
    )
    missing = (
        "When it ends. Half the lead takes two to four times the users, and without a lead it may never end. If you "
        "run out of users, nothing is proved: go on with new users, or name the version with the largest noisy mean, "
        "and call it a guess."
    )
    return Words("Until it is sure", how, guaranteed, missing)


def _some_looks(asked: Comparison, row: Row) -> Words:
    plan = asked.looks(row.epsilon)
    *first, last = (f"{n:,}" for n in plan.plays)
    noisy = "noisy sums" if row.epsilon < math.inf else "sums"
    how = (
        f"Show all versions to equally many users. Look at the {noisy} after {', '.join(first)} and {last} users of "
        "each version. At each look drop the versions that are surely worse, and stop if one is left: this answer is "
        "proved. After the last look, answer with the largest sum that is left: this answer is not proved."
        if first
        else f"Show each version to {counted(plan.plays[-1], 'user')}, and look once."
    )
    if row.mean is not None:
        how += f" With a lead of {asked.gap:g}, {row.runs:,} simulated studies took {row.mean:,.0f} users on average"
        how += f", and {100 * (row.certified or 0):.0f} % of the answers were proved"
        if row.mean_twice is not None:
            how += f"; with a lead of {2 * asked.gap:g}, {row.mean_twice:,.0f} and "
            how += f"{100 * (row.certified_twice or 0):.0f} %"
        how += "."
    guaranteed = (
        f"It never needs more users. If the best version leads by {asked.gap:g} or more, the answer is this version "
        f"with probability {share(1 - asked.delta)}.{_known(asked)} A proved answer is wrong in at most "
        f"{share(0.5 * asked.delta)} of all studies, whatever the lead is."
    )
    missing = f"That an answer which is not proved is the best version, if the lead is smaller than {asked.gap:g}."
    return Words("A few looks", how, guaranteed, missing)


def _test_floor(asked: Test, row: Row) -> Words:
    how = (
        f"This is a theorem, not a design. No study that is right with probability {share(1 - asked.delta)} at both "
        "rates can take fewer users on average at both of them, even without privacy. A study of fixed length takes "
        "more."
    )
    return Words("No design can do with fewer than", how, "", "")


def _test_one_shot(asked: Test, row: Row) -> Words:
    n, at = asked.release(row.epsilon)
    noisy = f" with one number of {_noise(asked, row.epsilon)} added" if row.epsilon < math.inf else ""
    how = (
        f"Count the successes of {counted(n, 'user')}{noisy}. Say {asked.alternative:g} if the count is above "
        f"{n * at:,.1f}, else {asked.null:g}."
    )
    guaranteed = (
        f"If the rate is {asked.null:g} or less, the answer is {asked.null:g} with probability "
        f"{share(1 - asked.delta)}. If it is {asked.alternative:g} or more, the answer is {asked.alternative:g} with "
        "this probability."
    )
    missing = f"Anything if the rate is between {asked.null:g} and {asked.alternative:g}: either answer may come."
    return Words("One release", how, guaranteed, missing)


def _test_sequential(asked: Test, row: Row) -> Words:
    how = "Look at the noisy count after each user, and stop when it leaves a band (`dp_sprt`)."
    if row.runs:
        how += (
            f" Recruit for {row.q90:,} users: at the worse one of the two rates 90 % of {row.runs:,} simulated studies "
            f"ended by then, 99 % by {row.q99:,}, and on average they took {row.mean:,.0f}."
        )
        if row.mean is not None and row.mean > asked.one_shot(row.epsilon):
            how += " That is more than design 1 takes: private looks after each user cost much noise."
    noisy = " Only the end and the answer are private: keep the noisy counts secret." * (row.epsilon < math.inf)
    missing = "When it ends: it takes longest between the two rates, and then either answer may come." + noisy
    guaranteed = "What design 1 guarantees. It ends early at rates well below the one, or well above the other."
    return Words("Until it is sure", how, guaranteed, missing)
