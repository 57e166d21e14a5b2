"""The keys of an experiment, each with its type; algorithms and adversaries are looked up later."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from privbandits_cli.games.players import Game


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Grid(_Section):
    """So many rounds, evenly spaced on a linear or a logarithmic axis; the horizon is the last."""

    count: int = Field(ge=1, le=100_000)
    spacing: Literal["linear", "log"] = "linear"


class Summary(_Section):
    """What stands for the trials of a curve, and how its spread is shown."""

    centre: Literal["median_of_means", "mean", "median"] = "median_of_means"
    groups: int = Field(24, ge=1, description="a0, the groups of the median of means; divides the trials")
    bars: Literal["gini", "sd", "quantiles", "bootstrap"] = Field(
        "gini", description="gini: Gini's mean difference of the trials below and above the centre"
    )


class Price(_Section):
    """What privacy costs: regrets beside that of an algorithm without it, the floor."""

    floor: str = Field(description="the algorithm without privacy")
    free: float = Field(0.1, gt=0, description="privacy is free where the regret is within this part of the floor's")
    ratio: bool = Field(False, description="draw regrets as multiples of the floor's")


class Plot(_Section):
    """How the figure looks."""

    bars: int = Field(12, ge=0, description="rounds at which error bars are drawn")
    log: bool = Field(False, description="logarithmic axes")
    bounds: bool = Field(False, description="overlay each theorem's regret bound, and lower bounds")
    against: str = Field("", description="draw the regret at the horizon against this swept parameter, not over rounds")
    worst: str = Field("", description="of the values of this swept parameter, draw the one with the largest regret")
    price: Price | None = Field(None, description="compare with the regret of an algorithm without privacy")
    slopes: bool = Field(False, description="fit the slope of log mean regret over the logarithm of `against`")


class Said(_Section):
    """What a paper says of this experiment, in the grammar of `privbandits check --help`."""

    claim: str = Field(description="for example: at round 2^18 in switching_costs: exp3_tau < exp3")
    source: str = Field(min_length=1, description="the paper, and the place in it")
    note: str = Field("", description="why it comes out as it does")


Named = Literal["simplex", "sphere", "cube"]
Dimension = Annotated[int, Field(ge=1, le=100_000)]
Rounds = Annotated[int, Field(ge=1, le=2**50)]


class Inequalities(_Section):
    """A polytope {x: a x <= b}."""

    a: list[list[float]] = Field(min_length=1, description="A, a row for each inequality")
    b: list[float] = Field(description="b, a number for each row of a")


class Keys(_Section):
    """The keys of an experiment, before its algorithms and adversaries are looked up."""

    experiment: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", description="name of the results folder")
    title: str = ""
    source: str = Field("", description="the paper, and where in it")
    game: Game = "bandit"
    horizon: Rounds | Annotated[list[Rounds], Field(min_length=1)] = Field(
        description="T, rounds; a list is swept: everything is played, and tuned, for each"
    )
    planned_horizon: Rounds | None = Field(
        None, description="of the game contextual: play to `horizon`, all tuned for this longer one"
    )
    arms: Annotated[int, Field(ge=2, le=100_000)] | Literal["d^2"] = Field(
        4, description="K, of the game bandit; k, of the game contextual, there also `d^2`"
    )
    set: Named | Annotated[list[Named], Field(min_length=1)] | Inequalities = Field(
        "simplex",
        description="of the game linear: the decision set, a list is swept; {a: rows, b: numbers} is A x <= b",
    )
    dimension: Dimension | Annotated[list[Dimension], Field(min_length=1)] = Field(
        2, description="of the game linear: N, experts or coordinates; of contextual: d; a list is swept"
    )
    feedback: Literal["full", "bandit"] = Field(
        "full", description="of the game linear: the learner sees the loss vector, or its own loss alone"
    )
    trials: int = Field(ge=1, le=10**8, description="N, independent repetitions")
    seed: int = Field(0, ge=0)
    checkpoints: Annotated[int, Field(ge=1, le=100_000)] | list[Annotated[int, Field(ge=1)]] | Grid = Field(
        64, description="rounds at which regret is recorded: a number of them, a list, or a grid"
    )
    adversary: Any = Field(description="one adversary or a list of them, a panel each")
    algorithms: Any = Field(description="a list of algorithms, or one")
    summary: Summary = Summary()
    plot: Plot = Plot()
    claims: list[Said] = Field([], description="what papers say of this, for `privbandits check`; changes no number")
    include: Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)] = Field(
        [], description="files of one's own algorithms and adversaries, from the working directory"
    )
    smoke: dict[str, Any] = Field({}, description="keys that --smoke replaces to make a small run")
