"""The library for notebooks: `from privbandits_cli import evaluate, guarantee, load, plan, plot, run, ...`.

The functions do what the commands do, but return plain data, and print nothing. The columns of their tables have one
meaning everywhere, and curves one name, that of the figures, so that tables can be joined on the columns they share.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from privbandits_cli.experiment import config
from privbandits_cli.experiment.config import Experiment
from privbandits_cli.experiment.files import at_home
from privbandits_cli.experiment.received import Trust

if TYPE_CHECKING:
    from privbandits_cli.analysis.rows import Rows
    from privbandits_cli.engine.play import Played
    from privbandits_cli.engine.store import Store
    from privbandits_cli.experiment.plan import Plan
    from privbandits_cli.figures.plot import Figure
    from privbandits_cli.numerics.types import Floats


class RunError(Exception):
    """Trials failed; the message has one line for each kind of failure. The other trials are kept."""


def load(
    path: str | Path, *overrides: str, smoke: bool = False, include: str | Path | Sequence[str | Path] = ()
) -> Experiment:
    """Read an experiment: a YAML file, or the name of a shipped config, with `KEY=VALUE` overrides.

    include: files with your own algorithms and adversaries; they are executed, as are those that the config includes.
    Raises ConfigError with all errors at once.
    """
    return config.load(at_home(path), list(overrides), smoke, _paths(include))


def _paths(include: str | Path | Sequence[str | Path]) -> tuple[Path, ...]:
    return tuple(map(at_home, [include] if isinstance(include, str | Path) else include))


def _loaded(experiment: Experiment | str | Path) -> Experiment:
    return experiment if isinstance(experiment, Experiment) else load(experiment)


def run(
    experiment: Experiment | str | Path,
    results: str | Path = "results",
    jobs: int = 0,
    engine: str = "threads",
    fresh: bool = False,
) -> Path:
    """Run the missing trials of an experiment; returns its results folder, with figure, CSVs and manifest.

    A notebook shows a progress bar. experiment: the result of `load`, or what `load` takes. jobs: 0 for all cores.
    engine: threads, processes or dask. fresh: discard finished trials.
    Raises RunError if trials fail, ConfigError if a user's file cannot play, EngineError if an engine cannot start,
    Busy if another process is running in the folder.
    """
    from privbandits_cli.actions.run import Events, run
    from privbandits_cli.engine import Engine, runner
    from privbandits_cli.engine.store import Store
    from privbandits_cli.experiment.plan import make_plan

    chosen = Engine.parse(engine)
    chosen.check_guarded()
    plan = make_plan(_loaded(experiment))
    store = Store(at_home(results) / plan.folder)
    events = Events(playing=lambda: _progress(plan, store))
    outcome = run(plan, store, chosen, jobs or runner.cores(), ["privbandits_cli.run"], fresh=fresh, events=events)
    if outcome.failures:
        kinds = {f"{plan.legends[failure.key]}: {failure.error}": None for failure in outcome.failures}
        raise RunError(f"{len(outcome.failures)} trials failed: " + "\n".join(kinds))
    return store.folder


@contextmanager
def _progress(plan: "Plan", store: "Store") -> "Iterator[Callable[[Played], bool]]":
    """A progress bar below the cell of a notebook, and nothing elsewhere; yields what receives each chunk."""
    done, trials = store.progress(plan)
    start = time.monotonic()

    def bar() -> dict[str, str]:
        text = f"{plan.name}: {done:,}/{trials:,} trials, {time.monotonic() - start:.0f} s"
        return {"text/plain": text, "text/html": f'<progress value="{done}" max="{trials}"></progress> {escape(text)}'}

    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if done == trials or not hasattr(shell, "kernel"):  # IPython in a terminal has no kernel
        yield lambda played: True
        return
    from IPython.display import display

    shown = display(bar(), raw=True, display_id=True)

    def watch(played: "Played") -> bool:
        nonlocal done
        done += len(played.chunk.keys) * len(played.chunk.trials)
        shown.update(bar(), raw=True)
        return True

    yield watch


def summary(folder: str | Path, final: bool = False) -> "Rows":
    """The rows of a results folder's summary.csv, or with `final` of its final.csv, which has a row per trial.

    A sequence of dicts, whose `to_pandas()` is a DataFrame. The columns are those of the CSV, whose empty cells are
    None; labels are those of the figure. Rows of final.csv have the names in parts of summary.csv, too. Rows of
    summary.csv also have `lower_bound`: on Bernoulli arms with fixed means, the asymptotic lower bound on the mean
    regret of every learner that is as private.
    Raises FileNotFoundError if nothing was run.
    """
    from privbandits_cli.analysis import rows

    return rows.summary(at_home(folder), final)


def trials(folder: str | Path) -> "Rows":
    """The regret of each trial at each checkpoint: a table as from `summary`, with the columns `trial` and `round`.

    It is read from the folder's `chunks/`, which only the machine that ran the experiment has: FileNotFoundError
    without them.
    """
    from privbandits_cli.analysis import rows

    return rows.trials(at_home(folder))


def guarantee(experiment: Experiment | str | Path, delta: float | None = None) -> "Rows":
    """The privacy guarantee of each algorithm of an experiment: a table with the columns of `summary`, and `source`.

    Without a guarantee the values are None. delta: by default that of the algorithm, or T^-2 as in the paper.
    """
    from privbandits_cli.analysis import rows
    from privbandits_cli.experiment.plan import make_plan

    return rows.guarantees(make_plan(_loaded(experiment)), delta)


def evaluate(
    log: str | Path,
    policy: "str | Path | Floats | Callable[[Mapping[str, Floats], tuple[str, ...]], Floats]",
    predictions: "Floats | None" = None,
    confidence: float = 0.95,
    action: str | None = None,
    reward: str | None = None,
    propensity: str | None = None,
    features: Sequence[str] | None = None,
) -> "Rows":
    """Estimates of the mean reward of a fixed policy, from a log of another one: a table with a row per estimator.

    log: a file. policy: "uniform", "always:ACTION", a FILE.py, which is executed, probabilities `[rows, actions]`, or a
    function of the features (a dict of arrays `[rows]`) and the names of the actions that returns them. predictions:
    mean rewards `[rows, actions]` by a model of your own; by default a linear one is fitted for each action. The
    columns of an array are the actions in the order of their names; those of a data frame are known by their names, and
    its index must be 0, 1, ... action, reward, propensity: names of the log's columns, where they are not recognised.
    features: names of the columns of features, perhaps none; by default all others.
    The columns of the table: `estimator` (logged, which is the mean reward of the log itself, ips, snips, direct,
    doubly_robust), `value`, `low` and `high`, `error` (standard error), `effective` (number of rows), `largest_weight`,
    `mean_weight`, `error_rows` (on which the standard error rests; if they are few, the interval is longer than it
    says), and `reason`, if there is no estimate. A `UserWarning` says why the intervals may be wrong, or are longer.
    Raises OSError, ValueError or IncludeError with what is wrong with the log, the policy or the predictions.
    """
    from privbandits_cli.actions import logs
    from privbandits_cli.analysis.rows import Rows

    if not isinstance(log, str | Path):
        how = "write it to one, for example by `to_parquet('log.parquet', index=False)`"
        raise ValueError(f"log: the path of a file is needed, but this is a {type(log).__name__}: {how}")
    columns = {"action": action, "reward": reward, "propensity": propensity}
    found = logs.evaluate(str(at_home(log)), policy, columns, predictions, confidence, features)
    for caution in found.cautions:
        warnings.warn(caution, stacklevel=2)
    return Rows.of(found.estimates)


def simulate_log(
    experiment: Experiment | str | Path, path: str | Path, rows: int, temperature: float = 0.5, share: float = 0.2
) -> "tuple[Floats, Floats]":
    """Write a log of decisions in a contextual game to a CSV, whose truth is known.

    The logging policy plays a uniform action with probability `share`, else action a with probability proportional to
    e^(mean reward / temperature). Returns the mean rewards of all actions and their probabilities, both
    `[rows, actions]`: a policy `[rows, actions]` has the true value `(policy * means).sum(axis=1).mean()` on them.
    Rewards in [-1, 1] are mapped to [0, 1]. The features x1, x2, ... are the coordinates of all arms, without those
    that never change or repeat another one. The contexts are the first rounds of trial 0 of the experiment.
    Raises ValueError if the experiment is no contextual game with one adversary, one horizon and bounded rewards, if it
    has fewer rounds than `rows`, or if temperature <= 0 or share is no probability.
    """
    from privbandits_cli.actions import logs

    return logs.simulate(_loaded(experiment), at_home(path), rows, temperature, share)


def plan(
    arms: int = 2,
    gap: float | None = None,
    epsilon: float | Sequence[float | None] | None = 1.0,
    delta: float = 0.05,
    centre: float = 0.5,
    null: float | None = None,
    alternative: float | None = None,
    simulate: int = 200,
    seed: int = 0,
    rounds_per_person: int = 1,
) -> "Rows":
    """How many users a study needs to find the best arm, or to test one rate: a table with a row per ε and design.

    gap: the smallest lead of the best arm that matters, around `centre`. For one arm give null and alternative in its
    place, two rates to tell apart. epsilon: one or several; None or infinity is no privacy. delta: the probability of a
    wrong answer. simulate: the simulated studies of each; 0 leaves them out. rounds_per_person: m; then ε is that of a
    person who is in up to m rounds, and users are rounds.
    The columns of the table: `epsilon`, `design` (floor: no study that is right whatever the lead is takes fewer users
    on average; one_shot: one noisy sum of each arm; sequential: until it is sure; looks: a few looks), `users` (floor:
    on average, sequential: the 90 % quantile, looks: at most), `each` (plays of each arm), `price` (users over those
    without privacy), and of simulated studies their number `runs`, `mean`, `error` (its standard error), `q90`, `q99`
    (quantiles), `certified` (the share with an answer that is right whatever the lead is), and for twice the lead
    `mean_twice` and `certified_twice`.
    Raises ValueError with what to write instead if the numbers make no sense.
    """
    from privbandits_cli.actions import plan
    from privbandits_cli.analysis.rows import Rows

    asked = plan.question(arms, gap, delta, centre, null, alternative, rounds_per_person)
    several = [epsilon] if epsilon is None or isinstance(epsilon, int | float) else epsilon
    return Rows.of([row._asdict() for row in plan.rows(asked, [*map(plan.privacy, several)], simulate, seed)])


def plot(
    folder: str | Path,
    kind: str = "regret",
    pair: str = "",
    log: bool = False,
    bounds: bool = False,
    include: str | Path | Sequence[str | Path] = (),
    trust: bool = False,
) -> "Figure":
    """Draw a figure of a results folder from its CSVs; a notebook shows it, `savefig` writes it to a file.

    kind: regret, distribution, against=PARAMETER or paired, as for `privbandits plot`. pair: two algorithms or labels,
    for paired: "exp3_tau,exp3". log: logarithmic axes. bounds: also draw the regret bounds of the theorems.
    include, trust: execute these files, or those that the folder keeps; by default none is executed, and bounds of your
    own algorithms are those recorded.
    Raises FileNotFoundError if nothing was run, ValueError if the options do not fit the folder.
    """
    from privbandits_cli.figures import write

    wanted = write.kind(kind, pair, log, bounds)
    return write.drawn(at_home(folder), wanted, Trust(_paths(include), trust)).on_screen()
