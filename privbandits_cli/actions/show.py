"""The facts that `list` and `show` print about an algorithm, an adversary or an experiment."""

import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from privbandits_cli.accounting.rounding import short
from privbandits_cli.experiment.config import ConfigError, keys_of, located, shipped
from privbandits_cli.experiment.errors import suggestion
from privbandits_cli.experiment.settings import Size
from privbandits_cli.experiment.variants import single
from privbandits_cli.games import bandit
from privbandits_cli.games.guards import check_promise
from privbandits_cli.games.heavy_tails import instances
from privbandits_cli.games.parameters import Parameters
from privbandits_cli.games.players import Adversary, Algorithm, Setting
from privbandits_cli.plugins.loader import GAMES
from privbandits_cli.plugins.registry import PlayerKind, Registry

# The adversaries for which regret bounds are shown: rounds of memory, and the name.
OPPONENTS = {
    "bandit": ((0, "oblivious"), (1, "switching costs")),
    "linear": ((0, "oblivious"),),
    "contextual": ((0, "oblivious"),),
    "best_arm": (),
}
READ = {  # what an algorithm's file was written from
    "paper": "the paper",
    "code": "code; the paper was not read",
    "secondary": "secondary sources; the paper was not read in full",
}
# The example that `show` uses if a parameter has no default.
EXAMPLE: dict[str, Any] = {"base": "exp3", "epsilon": 1.0, "delta": 0.1, "gap": 0.1, "rho": 0.1, "mu0": 0.4, "mu1": 0.6}
EXAMPLE |= {"path": "clicks.csv", "target": "kind"}


def catalogue(registry: Registry, kind: str) -> list[dict[str, Any]]:
    """Name, game, first paragraph and parameters of every algorithm or adversary; name, game and title of every config.

    The configs are those of `configs/`, or, if that folder does not exist, the shipped ones. Only their keys are read.
    """
    if kind == "experiments":
        here = [_experiment(path, str(path)) for path in sorted(Path("configs").glob("*.yaml"))]
        return here or [_experiment(located(Path(name)), name) for name in shipped()]
    known: PlayerKind = "algorithms" if kind == "algorithms" else "adversaries"
    return [
        {"name": name, "game": model.game, **_words(model), "line": _first(model), "parameters": _parameters(model)}
        for name, model in registry.every(known)
    ]


def _experiment(path: Path, name: str) -> dict[str, Any]:
    try:
        keys = keys_of(path)
    except ConfigError as error:
        return {"name": name, "game": "", "line": f"cannot be loaded: {error.errors[0].splitlines()[0]}"}
    more = {key: getattr(keys, key) for key in ("source", "horizon", "trials")}
    return {"name": name, "game": keys.game, "line": keys.title} | more


def _words(model: type[Parameters]) -> dict[str, str]:
    """What an algorithm's file was written from, if it says so, and the kind of its privacy, if it is private."""
    if not issubclass(model, Algorithm):
        return {}
    return ({"read": model.read} if model.read else {}) | ({"privacy": model.trust()} if model.private else {})


def _doc(model: type[Parameters]) -> str:
    return inspect.cleandoc(sys.modules[model.__module__].__doc__ or "(no description)")


def _first(model: type[Parameters]) -> str:
    """The first paragraph of its description, on one line."""
    return " ".join(_doc(model).partition("\n\n")[0].split())


def _parameters(model: type[Parameters]) -> list[dict[str, Any]]:
    out = []
    for name, field in model.model_fields.items():
        required = field.is_required()
        default = field.default.described() if isinstance(field.default, Parameters) else field.default
        shown = {"name": name, "required": required, "default": None if required else default}
        out.append(shown | {"description": field.description or ""})
    return out


def facts(
    registry: Registry,
    name: str,
    size: Size,
    given: Mapping[str, Any] | None = None,
    form: bool = False,
) -> dict[str, Any]:
    """All that is known of an algorithm or adversary in a game of this size.

    given: its parameters, as in a config. form: find out whether many trials of it play at once, which takes a while.

    Raises KeyError with a suggestion for an unknown name.
    """
    kinds: tuple[PlayerKind, ...] = ("algorithms", "adversaries")
    kind = next((kind for kind in kinds if name in registry.names(kind)), None)
    if kind is None:
        known = [name for kind in kinds for name in registry.names(kind)]
        displayed = registry.displays("adversaries") | registry.displays("algorithms")
        raise KeyError(f"unknown name '{name}'" + suggestion(name, known, displayed))
    model = registry.find(kind, name)
    parameters, setting, shown = _shown(registry, kind, model, given or {}, size)
    fit = not list(parameters.errors(setting))  # what plays a file is shown without a file to play
    ready = parameters.tuned(setting) if fit else parameters
    means = (instances(field.annotation, setting.n_arms) for field in model.model_fields.values())
    out: dict[str, Any] = {
        "name": name,
        "kind": kind,
        "citation": _doc(model),
        "parameters": _parameters(model),
        "game": model.game,
        **_words(model),
        "shown_with": {name: plain(parameters.described()[name]) for name in shown},
        "horizon": size.horizon,
        "arms": setting.n_arms,
        "set": setting.space.name if setting.space else None,
        "dimension": setting.contexts.dimension if setting.contexts else None,
        "confidence": setting.confidence,
        "tuned": {key: value for key, value in ready.described().items() if key != "name"},
        "instances": next(filter(None, means), {}),
    }
    if isinstance(ready, Algorithm):
        check_promise(ready, setting)
        promised, end = ready.guarantee(setting), np.array([float(size.horizon)])
        out |= {"facts": ready.facts(setting), "guarantee": None if promised is None else promised.described()}
        for memory, opponent in OPPONENTS[ready.game]:
            bound = ready.regret_bound(end, setting, memory)
            out[f"bound, {opponent}"] = None if bound is None else float(bound[0])
        out["remarks"] = ready.remarks(setting)
        if form and fit:
            out["alone"] = GAMES[ready.game].Games.form(ready, setting).reason
        out["largest regret"] = size.horizon * setting.largest_regret()
        out["bound"] = inspect.getdoc(type(ready).regret_bound) if out.get("bound, oblivious") else None
        if isinstance(ready, bandit.Algorithm):
            arms = np.linspace(0.9, 0.5, setting.n_arms)
            proved = ready.instance_regret_bound(end, arms, setting) is not None
            out["bound, known means"] = inspect.getdoc(type(ready).instance_regret_bound) if proved else None
    return out


def _shown(
    registry: Registry,
    kind: PlayerKind,
    model: type[Parameters],
    given: Mapping[str, Any],
    size: Size,
) -> tuple[Adversary | Algorithm, Setting, list[str]]:
    """An example that can play, its setting, and the parameters it has: those given, the required ones, maybe ε."""
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    for some in (required, [*required, "epsilon"]):
        values = {name: EXAMPLE[name] for name in some} | dict(given)
        parameters = single(registry, kind, {"name": model.__module__.rpartition(".")[2], **values})
        assert isinstance(parameters, Adversary | Algorithm)
        setting = size.setting(parameters)
        unfit = list(parameters.errors(setting))
        if not unfit or isinstance(parameters, Adversary):
            return parameters, setting, _chosen(parameters)
        if "epsilon" not in model.model_fields:
            break
    raise KeyError(unfit[0])


def _chosen(parameters: Parameters) -> list[str]:
    """The names of the parameters that do not have their defaults."""
    every = type(parameters).model_fields.items()
    return [name for name, field in every if field.is_required() or getattr(parameters, name) != field.default]


def plain(value: Any) -> str:
    """A parameter as text."""
    if isinstance(value, dict):
        inner = ", ".join(f"{k} = {plain(v)}" for k, v in value.items() if k != "name" and v is not None)
        return str(value.get("name", "")) + (f" ({inner})" if inner else "")
    return short(f"{value:z.6g}") if isinstance(value, float) else str(value)
