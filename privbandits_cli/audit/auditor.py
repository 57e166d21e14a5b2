"""Audits of tuned algorithms: an empirical attempt to refute what each claims, valid at level alpha.

What is observed is the view that the algorithm declares (`games/views.py`). Each kind of view has its audit (AUDITS).
The auditor calls `choose`, `update`, `probabilities` and `released` and reads the places that the view names, so an
algorithm can be audited as soon as it declares a view.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from privbandits_cli.audit import gram_reports, grams, prefixes
from privbandits_cli.audit.answers import audit_answers
from privbandits_cli.audit.arms import audit_arms
from privbandits_cli.audit.coupling import after_coupling
from privbandits_cli.audit.ellipsoids import Trio
from privbandits_cli.audit.evidence import Test
from privbandits_cli.audit.noisy_losses import audit_losses
from privbandits_cli.audit.releases import audit_mean, audit_release, audit_report
from privbandits_cli.audit.target import Steps, Target
from privbandits_cli.audit.trees import audit_tree
from privbandits_cli.audit.verdict import Audit
from privbandits_cli.games import views
from privbandits_cli.games.linear import Cube, Simplex, Sphere
from privbandits_cli.games.players import Algorithm, Setting
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.numerics.jit import PluginError, Records

COORDINATES = 10  # of an observed linear game, at most
DIMENSIONS = 3  # of a contextual one


def audit(
    algorithm: Algorithm,
    setting: Setting,
    alpha: float = 0.001,
    budget: int = 2**18,
    seed: int = 0,
    bound: Steps | None = None,
    state: Records | None = None,
    test: Test = "bets",
) -> Audit:
    """Audit a tuned algorithm; `bound` and `state` replace its steps and first state, as a mutant's do.

    budget: rounds observed; views that need long games observe fewer.
    test: `bets` stop as soon as they have won; `counts` compare Clopper-Pearson limits at the end of the budget.
    """
    if reduced(algorithm, setting) != setting:
        setting = reduced(algorithm, setting)
        algorithm = algorithm.tuned(setting)
    claim = algorithm.guarantee(setting)
    if claim is None or math.isinf(claim.epsilon):
        return Audit("NOT AUDITABLE", "none", "nothing is promised", 0)
    view = algorithm.view(setting)
    if view is None:
        return Audit("NOT AUDITABLE", str(claim), f"no view is declared ({claim.source})", 0)
    bound = steps(composition(algorithm)) if bound is None else bound
    state = algorithm.state(setting) if state is None else state
    error = _error(view, bound, state)
    if error is not None:
        raise PluginError(error, type(algorithm).view)
    target = Target(algorithm, setting, view, bound, state, claim, alpha, budget, seed, test)
    return AUDITS[type(view)](target)


def reduced(algorithm: Algorithm, setting: Setting) -> Setting:
    """The setting of the games that are observed: few coordinates, and trees so short that levels can be counted."""
    view = algorithm.view(setting)
    if setting.contexts is not None:
        dimension = min(DIMENSIONS, setting.contexts.dimension)
        setting = setting._replace(contexts=setting.contexts._replace(dimension=dimension))
    if isinstance(setting.space, Simplex | Sphere | Cube):
        n = min(COORDINATES, setting.n_arms)
        setting = setting._replace(n_arms=n, space=type(setting.space)(n))
    if isinstance(view, views.Prefix):
        return setting._replace(horizon=max(2, min(prefixes.ROUNDS, setting.horizon)))
    return setting


def _error(view: Any, bound: Steps, state: Records) -> str | None:
    """What is wrong with a view: its type, or a step or a field that the algorithm does not have."""
    if type(view) not in AUDITS:
        kinds = ", ".join(f"views.{kind.__name__}" for kind in AUDITS)
        return f"view returned {view!r}: return None, or one of {kinds}"
    kind = f"view returned a views.{type(view).__name__}"
    for step in view.steps:
        if step not in bound:
            return f"{kind}, which needs a function `{step}` in the algorithm's file"
    for place in (value for value in vars(view).values() if isinstance(value, str)):
        try:
            views.read(state[0], place)
        except (ValueError, IndexError, TypeError):
            return f"{kind} of {place!r}, a field that the state does not have"
    return None


def _answer_and_base(target: Target[views.Answer]) -> Audit:
    """The audits of the arm of a round and of the base in its wrapper, each at half the level; the worse verdict."""
    base, setting = target.view.base, target.setting
    half: Target[Any] = replace(target, alpha=target.alpha / 2)
    claim, view = base.guarantee(setting), base.view(setting)
    if claim is None or view is None or math.isinf(claim.epsilon):
        return audit(base, setting, half.alpha, target.budget, target.seed, test=target.test)  # not auditable
    inner = replace(half, view=views.within(view, target.view.wrapped), claim=claim)
    error = _error(inner.view, target.steps, target.state)
    if error is not None:
        raise PluginError(error, type(base).view)
    later = AUDITS[type(view)](inner)
    own = audit_answers(half, _trio(inner))
    worse = own if later.verdict == "CONSISTENT" else later
    words, found = f"{own.claim}; {later.claim}", f"{own.found}; {later.found}" if worse is own else later.found
    played = f"{own.played}; {later.played}"
    cost, assumed = own.cost + later.cost, own.assumed or later.assumed
    return replace(worse, claim=words, found=found, cost=cost, refutable=own.refutable, played=played, assumed=assumed)


def _trio(target: Target[Any]) -> Trio:
    """The games of a contextual target, or of the base whose arms it hides."""
    view = target.view
    if isinstance(view, views.Answer):
        return _trio(replace(target, view=views.within(view.base.view(target.setting), view.wrapped)))
    return grams.trio(target) if isinstance(view, views.Gram) else gram_reports.trio(target)


AUDITS: dict[type[Any], Callable[[Target[Any]], Audit]] = {
    views.Release: after_coupling(audit_release),
    views.Report: after_coupling(audit_report),
    views.Mean: after_coupling(audit_mean),
    views.Tree: after_coupling(audit_tree),
    views.Arms: audit_arms,
    views.Prefix: prefixes.audit_prefixes,
    views.NoisyLoss: audit_losses,
    views.Gram: grams.audit_grams,
    views.GramReport: gram_reports.audit_reports,
    views.Answer: _answer_and_base,
}
