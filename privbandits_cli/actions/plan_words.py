"""How many users a study needs, in plain words: what is asked, what each design does and guarantees, and advice."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from privbandits_cli.actions.plan import Comparison, Question, Row, Test
from privbandits_cli.analysis.format import counted
from privbandits_cli.identification.designs import z_test_plays


def level(epsilon: float) -> str:
    """An ε in a table."""
    return "none" if epsilon == math.inf else f"{epsilon:g}"


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


def described(
    asked: Question, designs: Sequence[Row], table: Sequence[Row], drawn: Sequence[Row] = ()
) -> dict[str, Any]:
    """All as plain data: what is asked, the designs in words, the table over ε, and the points of a figure."""
    words = [row._asdict() | explained(asked, row)._asdict() for row in designs]
    points = {"figure": [row._asdict() for row in drawn]} if drawn else {}
    question = {name: value for name, value in asked._asdict().items() if name != "rounds" or value > 1}
    return {"question": question, "designs": words, "table": [row._asdict() for row in table], **points}


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


def _noise(asked: Question, epsilon: float) -> str:
    return f"Laplace noise of scale {asked.rounds}/ε = {asked.rounds / epsilon:.4g}"


def _floor(asked: Comparison, row: Row) -> Words:
    private = "" if row.epsilon == math.inf else "private "
    how = (
        f"This is a theorem, not a design. It is about {private}studies that are right with probability "
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
