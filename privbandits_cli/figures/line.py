"""One line of a figure."""

from dataclasses import dataclass

from privbandits_cli.analysis.rates import Rate
from privbandits_cli.numerics.types import Floats


@dataclass(frozen=True)
class Line:
    """One line of a panel; all arrays `[points]`, regrets in rounds."""

    algorithm: str
    label: str
    x: Floats  # the checkpoints, or the values of a swept parameter
    regret: Floats
    below: Floats  # lengths of the error bars
    above: Floats
    trials: int
    bound: Floats | None
    rates: tuple[Rate, ...] = ()  # what papers state of all learners as private as this one
    slope: tuple[float, float] | None = None  # of log mean regret over log x, and its standard error
    game: tuple[str, ...] = ()  # what is swept of the game: lines that agree in it met the same
    free: float | None = None  # x from which on it costs next to nothing more than the floor
    level: bool = False  # without the parameter that it is drawn against: one value from end to end
    worst: tuple[float, ...] = ()  # at each point, where another parameter is swept for its worst value

    def slope_text(self) -> str:
        """The slope with its 95 % interval; it must have one."""
        assert self.slope is not None
        slope, error = self.slope
        return f"slope {slope:.3f} ± {1.96 * error:.3f}"
