"""The keys of an experiment and their types; the registry looks up the algorithms and adversaries later."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from privbandits_cli.games.players import Game

LEVEL = 0.95  # of `centre: cvar` and `quantile`


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Grid(_Section):
    """A number of rounds, evenly spaced on a linear or a logarithmic axis; the horizon is the last."""

    count: int = Field(ge=1, le=100_000)
    spacing: Literal["linear", "log"] = "linear"


class Unit(_Section):
    """Whose data a guarantee is about: those of one person, who is in several rounds."""

    rounds_per_person: int | None = Field(None, ge=1, le=10**9, description="m, the most rounds that one person is in")
    person: str | None = Field(
        None, description="or, for a log or a table: the column of the file that says whose row it is"
    )


class Summary(_Section):
    """The statistic that summarises the trials of a curve, and the error bars that show their spread."""

    centre: Literal["median_of_means", "mean", "median", "cvar", "quantile"] = Field(
        "median_of_means",
        description="cvar: the mean of the worst trials; of cvar and quantile, bars are 95 % bootstrap intervals",
    )
    level: float | None = Field(
        None, gt=0, lt=1, description="of a quantile, which; of cvar, the share of the other trials; default 0.95"
    )
    groups: int = Field(24, ge=1, description="a0, the groups of the median of means; it divides the trials")
    bars: Literal["gini", "sd", "quantiles", "bootstrap"] = Field(
        "gini", description="gini: Gini's mean difference of the trials below the centre, and of those above"
    )

    @property
    def tail(self) -> bool:
        """Whether the centre says how bad regrets may be, at a level."""
        return self.centre in ("cvar", "quantile")


class Price(_Section):
    """The price of privacy: regrets compared with that of an algorithm without privacy, the floor."""

    floor: str = Field(description="the algorithm without privacy")
    free: float = Field(0.1, gt=0, description="privacy is free if the regret exceeds the floor's by at most this part")
    ratio: bool = Field(False, description="draw each regret as a multiple of the floor's")


class Plot(_Section):
    """The figure."""

    bars: int = Field(12, ge=0, description="number of rounds at which error bars are drawn")
    log: bool | Literal["x"] = Field(
        False,
        description="logarithmic axes; that of regrets is linear in a panel where one is negative or they differ by "
        "less than a factor of 3; x: regrets on a linear axis over a logarithmic axis of rounds",
    )
    top: float | None = Field(None, gt=0, description="the largest regret of a linear axis; larger ones are not drawn")
    bounds: bool = Field(
        False,
        description="draw the regret bound of each theorem, and lower bounds, which are asymptotic on Bernoulli arms",
    )
    against: str = Field("", description="draw the final regret against this swept parameter, not over rounds")
    at_delta: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="with `against: epsilon`: place each private curve at the ε that is proved for it at this δ",
    )
    at_epsilon: float | None = Field(
        None,
        gt=0,
        description="with `against: rounds_per_person` and `at_delta`: place each private curve at the most rounds of "
        "one person for which this ε is proved",
    )
    worst: str = Field("", description="draw only the value of this swept parameter with the largest regret")
    best: list[str] | None = Field(
        None, description="of curves that differ in these swept parameters only, draw the one with the smallest regret"
    )
    quantity: Literal["pulls", "wrong"] | None = Field(
        None,
        description="game best_arm: draw the plays until the answer, or the share of wrong answers; by default pulls "
        "with a confidence, and wrong with a fixed budget",
    )
    width: Literal["one", "two"] | Annotated[float, Field(ge=1.5, le=40)] | None = Field(
        None, description="columns of a paper (3.3 or 6.9 inches), or inches; by default as the panels need"
    )
    height: float | None = Field(None, ge=1, le=60, description="inches; by default as the rows of panels need")
    font: str | None = Field(
        None, description="an installed font, such as Noto Sans CJK SC; signs that it lacks are from the usual one"
    )
    price: Price | None = Field(None, description="compare regrets with that of an algorithm without privacy")
    over: Literal["lower_bound"] | None = Field(
        None,
        description="Bernoulli arms with fixed means: draw regrets as multiples of the asymptotic lower bound on the "
        "mean regret of every learner that is as private",
    )
    slopes: bool = Field(False, description="fit the slope of the log mean regret against the logarithm of `against`")

    @property
    def placed(self) -> bool:
        """Whether curves stand at what is proved for them, not at the parameters that set their privacy."""
        return self.at_delta is not None

    @property
    def folded(self) -> set[str]:
        """The swept parameters that name no panel and no line: their values lie along a line, or the worst is drawn."""
        return {self.against, self.worst, *(self.best or ())} - {""}


class StatedClaim(_Section):
    """A paper's claim about this experiment, in the grammar of `privbandits check --help`."""

    claim: str = Field(description="for example: at round 2^18 in switching_costs: exp3_tau < exp3")
    source: str = Field(min_length=1, description="the paper and the place in it")
    note: str = Field("", description="why the results support the claim or not")


Named = Literal["simplex", "sphere", "cube"]
Dimension = Annotated[int, Field(ge=1, le=100_000)]
Rounds = Annotated[int, Field(ge=1, le=2**50)]
Confidence = Annotated[float, Field(gt=0.5, lt=1)]


class Inequalities(_Section):
    """A polytope {x: a x <= b}."""

    a: list[list[float]] = Field(min_length=1, description="A, one row for each inequality")
    b: list[float] = Field(description="b, one number for each row of a")


FOLDER = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"  # a name of a results folder


class Keys(_Section):
    """The keys of an experiment before its algorithms and adversaries are looked up."""

    experiment: str = Field(max_length=100, pattern=FOLDER, description="name of the results folder")
    title: str = ""
    source: str = Field("", description="the paper and the place in it")
    game: Game = "bandit"
    horizon: Rounds | Annotated[list[Rounds], Field(min_length=1)] = Field(
        description="T, the number of rounds; for a list, everything is tuned and run for each value"
    )
    planned_horizon: Rounds | None = Field(
        None, description="game contextual: tune everything for this longer horizon, and simulate up to `horizon`"
    )
    arms: Annotated[int, Field(ge=2, le=100_000)] | Literal["d^2", "means"] = Field(
        4,
        description="K of the games bandit and best_arm; k of the game contextual, where it may also be `d^2`. In the "
        "game best_arm it may be `means`: each adversary has as many arms as it lists means",
    )
    set: Named | Annotated[list[Named], Field(min_length=1)] | Inequalities = Field(
        "simplex", description="game linear: the decision set, or a list of them; {a: rows, b: numbers} means A x <= b"
    )
    dimension: Dimension | Annotated[list[Dimension], Field(min_length=1)] = Field(
        2, description="game linear: N, the number of experts or coordinates; game contextual: d; or a list of values"
    )
    feedback: Literal["full", "bandit"] = Field(
        "full", description="game linear: the learner sees the loss vector (full), or only its own loss (bandit)"
    )
    confidence: Confidence | Annotated[list[Confidence], Field(min_length=1)] | None = Field(
        None,
        description="game best_arm: the least probability of a right answer, and `horizon` is the most rounds of a "
        "trial; or a list. Left out, `horizon` is a fixed budget",
    )
    unit: Unit | None = Field(None, description="whose data the guarantees are about; left out: a round is a person")
    switches: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        None,
        description="games bandit and linear, with experts: S; regret is counted against the best sequence of arms "
        "that has at most S switches. Left out, against the best arm",
    )
    trials: int = Field(ge=1, le=10**8, description="N, the number of independent repetitions")
    seed: int = Field(0, ge=0)
    checkpoints: Annotated[int, Field(ge=1, le=100_000)] | list[Annotated[int, Field(ge=1)]] | Grid = Field(
        64, description="the rounds at which regret is recorded: how many, a list of rounds, or a grid"
    )
    adversary: Any = Field(description="one adversary, or a list; each has its own panel")
    algorithms: Any = Field(description="one algorithm, or a list")
    summary: Summary = Summary()
    plot: Plot = Plot()
    claims: list[StatedClaim] = Field([], description="the papers' claims, for `privbandits check`")
    include: Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)] = Field(
        [], description="your own algorithm and adversary files; paths are relative to the working directory"
    )
    smoke: dict[str, Any] = Field({}, description="keys that --smoke replaces, for a small run")
