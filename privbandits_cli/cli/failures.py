"""Messages about failed trials: each kind of failure once, whatever arms, rounds and numbers it names."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privbandits_cli.engine.play import Failure
    from privbandits_cli.experiment.plan import Plan


LONG = 40  # characters of trial numbers; a longer list is cut


def kind(failure: "Failure") -> tuple[str, str]:
    """The curve and the message without its numbers: failures that agree in these are of one kind."""
    return failure.key, re.sub(r"(?<=[ (])-?\d[\d.,e+-]*", "N", failure.error)


def lines(plan: "Plan", failures: "Sequence[Failure]", source: bool = False) -> Iterator[str]:
    """A message per kind of failure, taken from its first trial; with `source`, the line of the user's file below."""
    from privbandits_cli.cli.terminal import trials

    alike: dict[tuple[str, str], list[Failure]] = {}
    for failure in failures:
        alike.setdefault(kind(failure), []).append(failure)
    for same in alike.values():
        first = min(same, key=lambda failure: failure.trial)
        curve = plan.by_key[first.key]
        which = trials(failure.trial for failure in same)
        if len(which) > LONG:
            which = f"{which[: which.rindex(',', 0, LONG)]}, ..., {len(same)} trials"
        written = first.trace.splitlines()[1:2] if source else []
        yield "\n".join(
            [f"failed: {curve.label} against {curve.adversary.name}, {which}: {first.error}"]
            + [line for line in written if line.startswith("    ")]
        )
