"""Who meets whom, tuned: every adversary at every horizon with the algorithms, as far as they can play."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from privbandits_cli import registry
from privbandits_cli.experiment.document import Fault, Loc
from privbandits_cli.experiment.faults import dotted
from privbandits_cli.experiment.variants import Variant
from privbandits_cli.games.bandit import Adversary, Algorithm, Setting


@dataclass(frozen=True)
class Meeting:
    """An adversary at a horizon, and the algorithms, tuned for what it tells."""

    adversary: Variant
    algorithms: tuple[Variant, ...]
    setting: Setting  # what the algorithms may know


def meetings(
    adversaries: Sequence[Variant], algorithms: Sequence[Variant], settings: Sequence[Setting], faults: list[Fault]
) -> tuple[Meeting, ...]:
    """For each adversary a meeting in each setting; who cannot play, or comes twice, is a fault."""
    stages = [_stage(adversaries, algorithms, setting, faults) for setting in settings]
    return () if faults else tuple(meeting for adversary in zip(*stages, strict=True) for meeting in adversary)


def _stage(
    adversaries: Sequence[Variant], algorithms: Sequence[Variant], setting: Setting, faults: list[Fault]
) -> list[Meeting]:
    """The meetings of one horizon."""
    tuned = list(_tuned(adversaries, setting, faults))
    told = []
    for variant in tuned:
        assert isinstance(variant.parameters, Adversary)
        told.append(variant.parameters.told(setting))
        if not variant.parameters.bounded:
            faults.extend(_out_of_bounds(variant.parameters, algorithms))
    # If every adversary is at fault, the algorithms are still checked.
    lineups = {known: tuple(_tuned(algorithms, known, faults)) for known in dict.fromkeys(told or [setting])}
    return [Meeting(variant, lineups[known], known) for variant, known in zip(tuned, told, strict=True)]


def _tuned(variants: Sequence[Variant], setting: Setting, faults: list[Fault]) -> Iterator[Variant]:
    """The variants with every parameter set; those that cannot play or that come twice are faults."""
    first: dict[str, Loc] = {}
    for variant in variants:
        parameters = variant.parameters
        assert isinstance(parameters, Adversary | Algorithm)  # what the game `bandit` is played by
        try:
            unfit = list(parameters.faults(setting))
            ready = parameters.tuned(setting) if not unfit else parameters
        except (ArithmeticError, ValueError) as error:
            unfit = [f"cannot be tuned for T = {setting.horizon}, K = {setting.n_arms}: {error}"]
        faults.extend(Fault(variant.loc, message) for message in unfit)
        if unfit:
            continue
        if ready.identity() in first:
            faults.append(Fault(variant.loc, f"the same as {dotted(first[ready.identity()])}, with equal parameters"))
        first.setdefault(ready.identity(), variant.loc)
        yield replace(variant, parameters=ready)


def _out_of_bounds(adversary: Adversary, algorithms: Sequence[Variant]) -> Iterator[Fault]:
    """Faults of algorithms that need gains in [0, 1], which this adversary does not give."""
    for variant in algorithms:
        assert isinstance(variant.parameters, Algorithm)
        if variant.parameters.bounded:
            models = registry.every("algorithms")
            fit = ", ".join(name for name, model in models if issubclass(model, Algorithm) and not model.bounded)
            message = f"{variant.parameters.name} needs gains in [0, 1], which {adversary.name} does not keep to"
            yield Fault(variant.loc, f"{message}; these need not: {fit}")
