"""The curves of an experiment that a results folder contains."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from privbandits_cli.analysis.measured import Identity, Measured, differing, foreign, identity, planned, read
from privbandits_cli.experiment.config import Experiment
from privbandits_cli.experiment.plan import Curve, make_plan
from privbandits_cli.experiment.variants import flat


class Absent(Exception):
    """The results do not contain what a claim needs; the message says what is missing."""


class Unknown(Absent):
    """The trials do not tell the quantity of a claim, because they reached the cap."""


@dataclass(frozen=True)
class Results:
    """The planned curves of an experiment, and what a folder contains of them."""

    experiment: Experiment
    curves: tuple[Curve, ...]
    measured: Mapping[Identity, Measured]
    missing: str  # why the folder contains none of them; empty if it contains some

    def of(self, curve: Curve) -> Measured:
        """The results of a planned curve; Absent if it was not run, or with other parameters."""
        if self.missing:
            raise Absent(self.missing)
        wanted = planned(curve)
        found = self.measured.get(identity(wanted))
        if found is None or not found.finals:
            raise Absent(f"no trial of {wanted.title}")
        usual = curve.adversary.defaults("adversary.") | curve.algorithm.defaults("algorithm.")
        later = usual - flat(found.parameters).keys()  # parameters that the version which played did not have
        other = [name for name in differing(found.parameters, wanted.parameters) if name not in later]
        if other or max(found.rounds, default=0) != curve.horizon:
            raise Absent(f"{wanted.title} was played with another {' and '.join(other) or 'horizon'}")
        return found

    def partial(self, curves: Iterable[Curve]) -> str:
        """`12 of 720 trials` for the curve with the fewest trials; empty if all are complete."""
        wanted = self.experiment.keys.trials
        fewest = min(len(self.of(curve).finals) for curve in curves)
        return f"{fewest} of {wanted} trials" if fewest < wanted else ""


def results(folder: Path, experiment: Experiment) -> Results:
    """What a folder contains of an experiment; ValueError if its CSVs cannot be read."""
    curves = make_plan(experiment).curves
    if not (folder / "summary.csv").exists() or not (folder / "final.csv").exists():
        return Results(experiment, curves, {}, f"no results in {folder.name}")
    other = foreign(folder, experiment)
    if other:
        return Results(experiment, curves, {}, f"{folder.name} contains another experiment: {other}")
    return Results(experiment, curves, read(folder), "")
