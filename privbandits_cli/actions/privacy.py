"""The privacy ledger: what each algorithm promises, what is proved of it, what is known from below; and its inverse."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from privbandits_cli.accounting.guarantee import MEANINGLESS, Guarantee, leading
from privbandits_cli.experiment.config import Experiment
from privbandits_cli.experiment.errors import misfit, suggestion
from privbandits_cli.experiment.settings import example, noted, swept
from privbandits_cli.experiment.variants import Variant, flat
from privbandits_cli.games.parameters import Parameters
from privbandits_cli.games.players import Algorithm, Setting, papers_delta
from privbandits_cli.plugins.registry import Registry


def ledger(experiment: Experiment, delta: float | None = None) -> list[dict[str, Any]]:
    """A block per algorithm of an experiment, in its order; delta defaults to its own, or else to T^-2, the paper's."""
    return [
        {"algorithm": title} | block(algorithm, setting, delta)
        for title, algorithm, setting in titled_algorithms(experiment)
    ]


def titled_algorithms(experiment: Experiment) -> Iterator[tuple[str, Algorithm, Setting]]:
    """Label or title with the sweeps, the tuned algorithm and what it is told: once for each setting and tuning.

    Titles that would be the same are told apart by their parameters, as where the sweeps of a config are spread out.
    Where adversaries tell different things, those after the first are named.
    """
    tunings: set[tuple[int, str]] = set()
    titles: set[str] = set()
    stages = len(experiment.settings)
    for i, matchup in enumerate(experiment.matchups):
        over = swept(experiment.keys, matchup.setting)
        notes = _notes(matchup.algorithms)
        for variant, note in zip(matchup.algorithms, notes, strict=True):
            algorithm = variant.parameters
            assert isinstance(algorithm, Algorithm)
            if (i % stages, algorithm.identity()) not in tunings:  # equal parameters may cost more on another set
                tunings.add((i % stages, algorithm.identity()))
                title = _title(variant) + (f" ({note})" if note else "")
                title = noted(title, matchup.setting, over)
                told = matchup.adversary.named() or matchup.adversary.parameters.title
                yield title + (f" against {told}" if title in titles else ""), algorithm, matchup.setting
                titles.add(title)


def _title(variant: Variant) -> str:
    return variant.label or variant.parameters.title


def _notes(variants: Sequence[Variant]) -> list[str]:
    """What is swept of each, or of those that share a title without it, the parameters by which they differ."""
    every = [flat(variant.parameters.described()) for variant in variants]
    notes = []
    for variant, own in zip(variants, every, strict=True):
        kin = [other for other, at in zip(every, variants, strict=True) if _title(at) == _title(variant)]
        differ = {name: value for name, value in own.items() if any(one.get(name) != value for one in kin)}
        asked = {name: value for name, value in differ.items() if name.rpartition(".")[2] == "epsilon"}
        shown = variant.swept or asked or differ
        notes.append(", ".join(f"{name} = {_said(value)}" for name, value in shown.items()))
    return notes


def _said(value: object) -> str:
    """As a config would have it: a whole number without its point."""
    return str(value).removesuffix(".0")


def block(algorithm: Algorithm, setting: Setting, delta: float | None = None) -> dict[str, Any]:
    """Bounds and notes of one tuned algorithm, as plain data; `upper` and `lower` bracket the truth at delta.

    delta: by default the one that the algorithm is set for, where it has one, else T^-2.
    """
    at = delta or _own_delta(algorithm) or papers_delta(setting)
    bounds = algorithm.bounds(setting, at)
    best = leading(bounds)
    below = [bound.epsilon for bound in bounds if bound.lower and bound.delta > 0]
    lower = max(below, default=None)
    notes = algorithm.caveats(setting)
    if best is not None and best.epsilon > MEANINGLESS:
        notes = [
            f"ε = {best.epsilon:.4g} promises no protection: it lets one gain change a likelihood e^ε-fold.",
            *notes,
        ]
    return {
        "delta": at,
        "leading": None if best is None else dict(vars(best)),
        "mechanism": algorithm.mechanism(),
        "upper": None if best is None else best.epsilon,
        "lower": lower,
        "bounds": [dict(vars(bound)) for bound in bounds],
        "notes": notes,
    }


def _own_delta(algorithm: Algorithm) -> float | None:
    """The δ that an algorithm, or what it is put around, is set for."""
    return getattr(algorithm, "delta", None) or getattr(getattr(algorithm, "base", None), "delta", None)


def tune(
    registry: Registry,
    name: str,
    base: str | None,
    epsilon: float,
    delta: float,
    horizon: int,
    size: int,
    space: str | None = None,
    dimension: int | None = None,
) -> list[dict[str, Any]]:
    """Parameters of the least regret bound whose proved ε is at most `epsilon`, and the paper's beside them.

    size: arms, or coordinates of a decision set; space: which one, by default the first where it can play; dimension:
    of a contextual game's arms, by default as many as there are.

    KeyError for a name that is none or has no such parameters; ValueError where no parameters reach epsilon.
    """
    known = [other for other, model in registry.every("algorithms") if issubclass(model, Algorithm) and model.private]
    if name not in registry.names("algorithms"):
        raise KeyError(f"unknown algorithm '{name}'" + suggestion(name, registry.names("algorithms")))
    model = registry.find("algorithms", name)
    assert issubclass(model, Algorithm)
    if base is not None and base not in registry.names("algorithms"):
        raise KeyError(f"unknown base '{base}'" + suggestion(base, registry.names("algorithms")))
    given: dict[str, Parameters] = {} if base is None else {"base": registry.find("algorithms", base)()}
    if base is not None and "base" not in model.model_fields:
        raise KeyError(f"'{name}' is put around no base: leave --base out")
    if base is not None and (message := misfit(registry, model, "base", given["base"])):
        raise KeyError(message)
    found = model.for_epsilon(epsilon, delta, given)
    if not found:
        raise KeyError(f"'{name}' has no parameter that sets its privacy" + suggestion(name, known))
    rows = []
    setting = example(next(iter(found.values())), horizon, size, space, dimension)
    for choice, parameters in found.items():
        errors = list(parameters.errors(setting))
        if errors and choice == "certified":
            raise ValueError(errors[0])
        if not errors:
            rows.append({"choice": choice} | _evaluated(parameters.tuned(setting), setting, delta))
            if choice == "certified" and rows[-1]["epsilon"] is None:
                raise ValueError(f"{name} promises nothing that is proved: give it `bounds`")
    return rows


def _evaluated(algorithm: Algorithm, setting: Setting, delta: float) -> dict[str, Any]:
    """A tuned algorithm with what is proved of it."""
    promised = algorithm.guarantee(setting, delta)
    horizon = np.array([float(setting.horizon)])
    found = [algorithm.regret_bound(horizon, setting, memory) for memory in (0, 1)]
    oblivious, switching = (None if bound is None else float(bound[0]) for bound in found)
    return {
        "parameters": {key: value for key, value in algorithm.described().items() if key != "name"},
        "epsilon": promised.epsilon if isinstance(promised, Guarantee) else None,
        "delta": promised.delta if isinstance(promised, Guarantee) else None,
        "status": promised.status if isinstance(promised, Guarantee) else None,
        "bound_oblivious": oblivious,
        "bound_switching_costs": switching if algorithm.game == "bandit" else None,
    }
