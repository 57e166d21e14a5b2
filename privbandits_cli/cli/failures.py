"""Failed trials as a person reads them: each kind of fault once, whatever arms, rounds and numbers it names."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privbandits_cli.engine.play import Failure
    from privbandits_cli.experiment.plan import Plan


LONG = 40  # characters of trials' numbers: of more only the first are listed


def kind(failure: "Failure") -> tuple[str, str]:
    """What failures share that a person would call the same: curve, place, and the words of the message."""
    return failure.key, re.sub(r"(?<=[ (])-?\d[\d.,e+-]*", "N", failure.error)


def lines(plan: "Plan", failures: "Sequence[Failure]", source: bool = False) -> Iterator[str]:
    """A message for each kind, the first of its trials speaking for all; with `source`, the user's line below it."""
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
