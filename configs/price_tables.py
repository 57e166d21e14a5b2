"""Tables 1 and 2 of Agarwal & Singh 2017 beside measured slopes, constants, and the ε above which privacy is free.

results/price_tables.md is written from the CSVs of the experiments price_*; nothing is simulated.

    .venv/bin/python configs/price_tables.py
"""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, log, log2, sqrt
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from privbandits_cli.analysis import curves
from privbandits_cli.analysis.format import table
from privbandits_cli.analysis.measured import Measured
from privbandits_cli.cli.app import fail
from privbandits_cli.experiment.files import write_atomically
from privbandits_cli.figures.line import Line
from privbandits_cli.figures.prices import crossing, floor_of
from privbandits_cli.figures.table import read
from privbandits_cli.numerics.types import Floats

N = 10  # coordinates in `price_scaling`
PRIVATE, FLOOR = "dp_ftrl", "ftrl"
WITHIN = 0.1  # privacy is free if the regret exceeds FTRL's by at most this part
DRAWS = 2000  # bootstrap samples

# The rows of the paper's Table 1: its name, the decision set, the bounds in print, and a and b of the rates √(a T)
# without privacy and b log² T / ε that privacy adds.
FULL = (
    ("experts", "simplex", ("√(T ln N) / ε", "√(T ln N) + N ln N log² T / ε", "√(T ln N)"), log(N), N * log(N)),
    ("sphere", "sphere", ("√(N T) / ε", "√T + N log² T / ε", "√T"), 1, N),
    ("cube", "cube", ("√(N T) / ε", "√(N T) + N log² T / ε", "√(N T)"), N, N),
)
BANDITS = (
    ("arms, K = 4", ("K T^(2/3) / ε", "√(T K ln K) / ε", "√(K T)"), "price_bandit_scaling"),
    ("linear, the ball, N = 5", ("T^(2/3) / ε", "√T / ε", "√T"), "price_linear_scaling"),
)
# What releases the sums of losses: the name, and the parameters `nodes` and `counter` of DP-FTRL.
COUNTERS = (
    ("Laplace tree", "laplace", "tree"),
    ("Laplace k-ary", "laplace", "negative_digits"),
    ("Gaussian tree", "gaussian", "tree"),
    ("Gaussian BLT", "gaussian", "blt"),
)
BOUNDS = ["", "bound before", "their bound", "without privacy"]

TEXT = """\
# What privacy costs in online linear optimisation

The rates of Agarwal & Singh 2017, Tables 1 and 2, beside the measurements of the figures `price_*`.
Regrets are means at the worst gap. Written by `configs/price_tables.py`.

## Table 1: full information

{full}

N = {n}, T = 2^10 to 2^18. c: FTRL's regret at T = 2^18 over its rate; c': the regret that ε = 1 adds, over
N ln N log² T (experts) or N log² T. At ε = 1 the short horizons are not yet in the regime of their
rate: up to T = 2^12 the worst gap is the largest one, and the regret is close to its maximum.

## The ε above which privacy is free, within 10 %

{free}

Interpolated between the simulated ε, for 24 trials at the worst of nine or ten gaps down to 1/512,
with 95 % bootstrap intervals over the trials. `open`: one further trial of one of the means, twice as far from it as
any so far, could move ε beyond its interval. The paper calls privacy free for ε ≥ 1/√T = 0.004. This
hides the factors of the last column, which experts and the sphere follow with a Laplace tree, the mechanism of the
paper; for the cube ε grows more slowly in N. k-ary: with negative digits. Gaussian noise: δ = 1e-6. No
smaller ε than 0.1 was simulated.

± is 1.96 standard errors of a slope. These intervals, and those of ε, say nothing of regrets so rare that none is among
the trials. The claims about the slopes, which must survive one further trial far out, are in [CLAIMS.md](CLAIMS.md).

## Table 2: bandit feedback

{bandits}
"""


def price_tables(results: Path) -> str:
    """Both tables in Markdown, from the results folders of the price figures; FileNotFoundError if one is missing."""
    full = table([*BOUNDS, "slope in T: FTRL", "ε = 10", "ε = 1", "c", "c'"], _full_information(results), numbers=0)
    heads = ["T = 2^16", "N", *(name for name, *_ in COUNTERS), "N ⌈log₂ T⌉^1.5 / √T"]
    bandits = table([*BOUNDS, "measured slope in T"], _bandits(results), numbers=0)
    return TEXT.format(n=N, full=full, free=table(heads, _free(results)), bandits=bandits)


def _full_information(results: Path) -> Iterator[list[str]]:
    scaling = [line for lines in read(results / "price_scaling").panels.values() for line in lines]
    for title, space, bounds, a, b in FULL:
        lines = {line.own.get("epsilon", ""): line for line in scaling if line.game["set"] == space}
        floor, weak, strict = lines[""], lines["10"], lines["1"]
        slopes = (_slope(line) for line in (floor, weak, strict))
        horizon = float(floor.x[-1])
        c = floor.regret[-1] / sqrt(a * horizon)
        more = (strict.regret[-1] - floor.regret[-1]) / (b * log2(horizon) ** 2)
        yield [title, *bounds, *slopes, f"{c:.2f}", f"{more:.3f}"]


def _free(results: Path) -> Iterator[list[str]]:
    """The epsilon from which on privacy adds at most a tenth to the regret, with a 95 % interval."""
    for title, *_ in FULL:
        folder = results / f"price_{title}"
        every = curves.read(folder, finals=True).every
        for lines in read(folder).panels.values():
            game = lines[0].game
            if lines[0].adversary == "gap":
                size, horizon = int(game["dimension"]), 2.0**16
                met = [curve for curve in every if curve.adversary == "gap"]
                met = [curve for curve in met if curve.of_game["dimension"] == game["dimension"]]
                private = {_counter(line.parameters): line for line in lines if line.algorithm == PRIVATE}
                frees = (_epsilon(private[nodes, counter], lines, met) for _, nodes, counter in COUNTERS)
                law = size * ceil(log2(horizon)) ** 1.5 / sqrt(horizon)
                yield [title, str(size), *frees, f"{law:.2g}"]


def _counter(parameters: Mapping[str, Any]) -> tuple[str, str]:
    """The law of the noise, and what releases the sums; results leave out a counter that is the default."""
    return parameters["nodes"], parameters.get("counter", "tree")


def _bandits(results: Path) -> Iterator[list[str]]:
    for title, bounds, folder in BANDITS:
        (lines,) = read(results / folder).panels.values()
        slopes = "; ".join(f"{line.label} {_slope(line)}" for line in lines if line.slope)
        yield [title, *bounds, slopes]


def _slope(line: Line) -> str:
    assert line.slope is not None
    return f"{line.slope[0]:.3f} ± {1.96 * line.slope[1]:.3f}"


def _epsilon(line: Line, lines: Sequence[Line], met: Sequence[Measured]) -> str:
    """The epsilon from which a line is free, with its interval from the curves that met the same game."""
    level = floor_of(line, lines, FLOOR)
    assert level is not None
    free = crossing(line.x, line.regret / level / (1 + WITHIN))
    if free is None:
        return f"above {line.x[-1]:g}"
    floor = _regrets([curve for curve in met if curve.algorithm == FLOOR])
    private = [curve for curve in met if curve.algorithm == PRIVATE]
    own = [curve for curve in private if _counter(curve.parameters["algorithm"]) == _counter(line.parameters)]
    swept = [_regrets([curve for curve in own if float(curve.own["epsilon"]) == epsilon]) for epsilon in line.x]
    low, high = free_range(floor, np.array(swept), line.x)
    unsure = open_range(floor, np.array(swept), line.x, (low, high))
    return f"{free:.2g} ({low:.2g} to {high:.2g})" + ", open" * unsure


def _regrets(every: Sequence[Measured]) -> Floats:
    """Regrets `[gap, trial]`."""
    return np.array([[*curve.finals.values()] for curve in every])


def free_range(floor: Floats, regret: Floats, x: Floats) -> tuple[float, float]:
    """A 95 % bootstrap interval of the x above which privacy is free at the worst gap; infinite if there is none.

    floor: `[gap, trial]`; regret: `[x, gap, trial]`. The same trials are drawn for all, since they share their games.
    """
    n = floor.shape[-1]
    rng = np.random.Generator(np.random.SFC64(0))
    shares = rng.multinomial(n, np.full(n, 1 / n), DRAWS).T / n  # [trial, draw]
    ratios = (regret @ shares).max(axis=1) / (floor @ shares).max(axis=0) / (1 + WITHIN)
    found = [crossing(x, ratio) for ratio in ratios.T]
    low, high = np.quantile([np.inf if value is None else value for value in found], (0.025, 0.975), method="nearest")
    return float(low), float(high)


def open_range(floor: Floats, regret: Floats, x: Floats, ends: tuple[float, float]) -> bool:
    """Whether one further trial of a mean, twice as far from it as any so far, could move that x beyond these ends.

    The other arguments are those of `free_range`.
    """
    regrets = np.concatenate([floor[None], regret])
    means, n = regrets.mean(axis=-1), regrets.shape[-1]
    steps = 2 * np.abs(regrets - means[..., None]).max(axis=-1) / (n + 1)
    for place in np.ndindex(means.shape):
        for step in (-steps[place], steps[place]):
            further = means.copy()
            further[place] += step
            worst = further.max(axis=1)
            found = crossing(x, worst[1:] / worst[0] / (1 + WITHIN))
            if not ends[0] <= (np.inf if found is None else found) <= ends[1]:
                return True
    return False


def main(
    results: Annotated[Path, typer.Argument(help="The folder that contains all results.")] = Path("results"),
) -> None:
    """Compare the rates of Agarwal & Singh 2017 with measured ones: RESULTS/price_tables.md."""
    try:
        text = price_tables(results)
    except FileNotFoundError as error:
        raise fail(f"{error.filename} is missing: run the experiments price_* first (make figures)") from error
    except (KeyError, ValueError) as error:
        raise fail(f"the CSVs in {results} do not fit the experiments price_*: {error}") from error
    write_atomically(results / "price_tables.md", text.encode())
    print(text)


if __name__ == "__main__":
    typer.run(main)
