"""The privacy ledger: guarantees, proofs and lower bounds of each algorithm. `tune` finds parameters for a given ε."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from privbandits_cli.accounting.guarantee import MEANINGLESS, leading
from privbandits_cli.accounting.rounding import at_most
from privbandits_cli.experiment.config import Experiment
from privbandits_cli.experiment.errors import misfit, suggestion
from privbandits_cli.experiment.names import Name
from privbandits_cli.experiment.plan import distinct
from privbandits_cli.experiment.settings import Size, swept, swept_notes
from privbandits_cli.experiment.variants import single
from privbandits_cli.figures.profile import Profile
from privbandits_cli.games.guards import check_promise
from privbandits_cli.games.players import Algorithm, Setting, papers_delta
from privbandits_cli.plugins.registry import Registry

PART = 1e-3  # to which part of itself an ε is found
ROUNDING = 1e-9
LEAST = 1e-3  # of the ε of a person, the least that is tried for a round
LOCAL = "The privacy is local: each report is private by itself, and nobody needs to be trusted with the data."
DELTAS = np.geomspace(1e-12, 0.1, 45)  # of a privacy profile


def ledger(experiment: Experiment, delta: float | None = None) -> list[dict[str, Any]]:
    """A block per algorithm of an experiment, in its order; for the default of delta see `block`."""
    return [
        {"algorithm": title} | block(algorithm, setting, delta)
        for title, algorithm, setting in titled_algorithms(experiment)
    ]


def audits(experiment: Experiment, alpha: float, budget: int, seed: int) -> list[dict[str, Any]]:
    """The audit of each algorithm of an experiment, in its order."""
    from privbandits_cli.audit.auditor import audit

    return [
        {"algorithm": title} | vars(audit(algorithm, setting, alpha, budget, seed))
        for title, algorithm, setting in titled_algorithms(experiment)
    ]


def profiles(experiment: Experiment) -> tuple[list[Profile], dict[str, str]]:
    """The privacy profiles of an experiment's private algorithms, in its order, at the δ of DELTAS.

    Also the titles of the algorithms without a profile, each with the reason.
    """
    found: list[Profile] = []
    without: dict[str, str] = {}
    for title, algorithm, setting in titled_algorithms(experiment):
        if not algorithm.promises():
            without[title] = "not designed to be private"
            continue
        epsilons = [algorithm.epsilon_at(setting, float(delta)) for delta in DELTAS]
        if all(epsilon is None for epsilon in epsilons):
            without[title] = f"no ε is proved at any δ up to {DELTAS[-1]:g}"
        else:
            numbers = np.array([np.nan if epsilon is None else epsilon for epsilon in epsilons])
            found.append(Profile(title, algorithm.name, DELTAS, numbers))
    return found, without


def titled_algorithms(experiment: Experiment) -> Iterator[tuple[str, Algorithm, Setting]]:
    """The tuned algorithms of an experiment, each with a title and its setting; once for each setting and tuning.

    A title names what is swept. Algorithms that would share a title are distinguished by the parameters in which they
    differ, and by the adversary if its setting changes the tuning.
    """
    tunings: set[tuple[int, str]] = set()
    titles: set[str] = set()
    stages = len(experiment.settings)
    given = [replace(variant, panel="") for variant in experiment.algorithms]  # a ledger has no panels
    names = distinct([Name(one.title, {key: f"{key} = {x}" for key, x in one.swept.items()}) for one in given], given)
    for i, matchup in enumerate(experiment.matchups):
        over = swept_notes(matchup.setting, swept(experiment.keys, matchup.setting))
        for variant, name in zip(matchup.algorithms, names, strict=True):
            algorithm = variant.parameters
            assert isinstance(algorithm, Algorithm)
            if (i % stages, algorithm.identity()) not in tunings:  # equal parameters may cost more on another set
                tunings.add((i % stages, algorithm.identity()))
                title = name.noted(over)
                adversary = f" against {matchup.adversary.named()}" if title in titles else ""
                yield title + adversary, algorithm, matchup.setting
                titles.add(title)


def block(algorithm: Algorithm, setting: Setting, delta: float | None = None) -> dict[str, Any]:
    """Bounds and notes of one tuned algorithm, as plain data; the true ε at delta is between `lower` and `upper`.

    delta: by default the algorithm's own, if it has one, else T^-2 as in the paper. `leading` is the bound to quote: at
    delta, or by default that of legends, which has δ = 0 if the algorithm is private without a δ.
    """
    at = delta or _own_delta(algorithm) or papers_delta(setting)
    bounds = algorithm.of_person(setting, at)
    best = leading(bounds)
    quoted = best if delta else algorithm.promise(setting)
    lower = max((bound.epsilon for bound in bounds if bound.lower and bound.delta > 0), default=None)
    notes = [*[LOCAL] * algorithm.local, *algorithm.caveats(setting), *algorithm.remarks(setting)]
    if setting.rounds_per_person > 1 and (one := algorithm.guarantee(setting, delta)) is not None:
        notes = [f"One round by itself: {one} ({one.source}).", *notes]
    if best is not None and best.epsilon > MEANINGLESS:
        who = "one person" if setting.rounds_per_person > 1 else "one round"
        no_protection = (
            f"ε = {at_most(best.epsilon)} promises no protection: it lets {who} change a likelihood e^ε-fold."
        )
        notes = [no_protection, *notes]
    return {
        "delta": at,
        "leading": None if quoted is None else quoted.described(),
        "mechanism": algorithm.mechanism(),
        "upper": None if best is None else best.epsilon,
        "lower": lower,
        "facts": algorithm.facts(setting),
        "bounds": [bound.described() for bound in bounds],
        "notes": notes,
    }


def _own_delta(algorithm: Algorithm) -> float | None:
    """The parameter δ of an algorithm, or of the base of a wrapper."""
    return getattr(algorithm, "delta", None) or getattr(getattr(algorithm, "base", None), "delta", None)


def tune(
    registry: Registry,
    name: str,
    base: str | None,
    epsilon: float,
    delta: float,
    size: Size,
    rounds_per_person: int = 1,
) -> list[dict[str, Any]]:
    """The parameters with the least regret bound whose proved ε is at most `epsilon`, and the paper's choice.

    rounds_per_person: ε is that of a person who is in at most so many rounds. The ε of the parameters is then smaller.
    Raises KeyError for an unknown name or an algorithm without a privacy parameter, ValueError if no parameters reach
    `epsilon`.
    """
    found = choices(registry, name, base, epsilon, delta, size.horizon)
    rows = []
    most = min(rounds_per_person, size.horizon)  # nobody is in more rounds than there are
    setting = size.setting(next(iter(found.values())))._replace(rounds_per_person=most)
    if most > 1:
        at = partial(choices, registry, name, base, delta=delta, horizon=size.horizon)
        reached = {choice: for_a_person(at, choice, setting, epsilon, delta) for choice in found}
        found = {choice: parameters for choice, parameters in reached.items() if parameters is not None}
        if "certified" not in found:
            raise ValueError(f"no ε of {name} is known that gives a person of {most:,} rounds ε = {epsilon:g}")
    for choice, parameters in found.items():
        errors = list(parameters.errors(setting))
        if errors and choice == "certified":
            raise ValueError(errors[0])
        if not errors:
            rows.append(
                {"choice": choice, "reason": parameters.reasons.get(choice, "")}
                | _evaluated(parameters.tuned(setting), setting, delta)
            )
            if choice == "certified" and rows[-1]["epsilon"] is None:
                raise ValueError(f"nothing is proved about the privacy of {name}: define `bounds`")
    return rows


def choices(
    registry: Registry, name: str, base: str | None, epsilon: float, delta: float, horizon: int
) -> dict[str, Algorithm]:
    """The parameters of an algorithm for this privacy, not tuned: `certified`, and those of papers.

    Raises KeyError for an unknown name or an algorithm without a privacy parameter.
    """
    if name not in registry.names("algorithms"):
        hint = suggestion(name, registry.names("algorithms"), registry.displays("algorithms"))
        raise KeyError(f"unknown algorithm '{name}'" + hint)
    model = registry.find("algorithms", name)
    assert issubclass(model, Algorithm)
    given = {} if base is None else {"base": single(registry, "algorithms", {"name": base})}
    if base is not None and "base" not in model.model_fields:
        raise KeyError(f"'{name}' takes no base algorithm: leave --base out")
    if base is not None and (message := misfit(registry, model, "base", given["base"])):
        raise KeyError(message)
    found: dict[str, Algorithm] = dict(model.for_epsilon(epsilon, delta, horizon, given))
    if not found:
        every = ((other, model) for other, model in registry.every("algorithms") if issubclass(model, Algorithm))
        known = [other for other, model in every if model.private]
        raise KeyError(f"'{name}' has no parameter that sets its privacy" + suggestion(name, known))
    return found


def for_a_person(
    at: Callable[[float], dict[str, Algorithm]], choice: str, setting: Setting, epsilon: float, delta: float
) -> Algorithm | None:
    """The parameters of a choice with the largest ε of their own whose ε of a person is at most `epsilon`.

    None if there are none. at: the parameters of all choices for an ε of one round.
    """

    def spent(own: float) -> float:
        return promised(at(own)[choice], setting, delta)

    low, high = epsilon / setting.rounds_per_person, epsilon
    while spent(low) > epsilon * (1 + ROUNDING):
        low, high = low / 2, low
        if low < LEAST * epsilon:
            return None
    if spent((1 + PART) * low) <= epsilon:
        while high > (1 + PART) * low:
            own = math.sqrt(low * high)
            low, high = (own, high) if spent(own) <= epsilon else (low, own)
    return at(low)[choice]


def promised(algorithm: Algorithm, setting: Setting, delta: float) -> float:
    """The ε of an algorithm that is not tuned, at δ if it needs one; infinite if it cannot be played or has none."""
    if list(algorithm.errors(setting)):
        return math.inf
    ready = algorithm.tuned(setting)
    found = ready.promise(setting, delta if ready.stated_delta(setting) else None)
    return math.inf if found is None else found.epsilon


def _evaluated(algorithm: Algorithm, setting: Setting, delta: float) -> dict[str, Any]:
    """The parameters of a tuned algorithm, its guarantee and its regret bounds."""
    check_promise(algorithm, setting)
    promised = algorithm.promise(setting, delta if algorithm.stated_delta(setting) else None)
    horizon = np.array([float(setting.horizon)])
    found = [algorithm.regret_bound(horizon, setting, memory) for memory in (0, 1)]
    oblivious, switching = (None if bound is None else float(bound[0]) for bound in found)
    return {
        "parameters": {key: value for key, value in algorithm.described().items() if key != "name"},
        **{key: getattr(promised, key, None) for key in ("epsilon", "delta", "status")},
        "bound_oblivious": oblivious,
        "bound_switching_costs": switching if algorithm.game == "bandit" else None,
        "largest_regret": setting.horizon * setting.largest_regret(),
        "remarks": algorithm.remarks(setting),
    }
