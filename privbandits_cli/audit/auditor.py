"""Audits of tuned algorithms: each tries to refute what its algorithm claims. A test with statistics has level alpha.

An audit observes the view that the algorithm declares (`games/views.py`). AUDITS has an audit for each kind of view in
each game. The auditor calls `choose`, `update`, `probabilities` and `released`, and reads the places that the view
names. So an algorithm can be audited as soon as it declares a view.
"""

import gc
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields, replace
from typing import Any, get_args

import numpy as np

from privbandits_cli.audit import excuses
from privbandits_cli.audit.answers import audit_answers
from privbandits_cli.audit.arms import audit_arms
from privbandits_cli.audit.bits import audit_bits
from privbandits_cli.audit.contexts import Games, audit_contexts
from privbandits_cli.audit.experts import audit_experts
from privbandits_cli.audit.fits import audit_fits
from privbandits_cli.audit.leaders import audit_leaders
from privbandits_cli.audit.modular_sums import audit_sums
from privbandits_cli.audit.noisy_gains import audit_noise
from privbandits_cli.audit.noisy_losses import audit_losses
from privbandits_cli.audit.noisy_sums import audit_prefixes
from privbandits_cli.audit.numbers import given_more
from privbandits_cli.audit.posteriors import audit_drawn
from privbandits_cli.audit.target import Steps, Target
from privbandits_cli.audit.twins import fields as fields_of
from privbandits_cli.audit.verdict import Audit, assuming
from privbandits_cli.experiment.errors import suggestion
from privbandits_cli.games import bandit, views
from privbandits_cli.games.guards import is_own
from privbandits_cli.games.linear import Cube, Simplex, Sphere
from privbandits_cli.games.players import Algorithm, Setting
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.mechanisms.oracle import Oracle
from privbandits_cli.numerics.jit import PluginError, Records, quickly
from privbandits_cli.plugins import messages

COORDINATES = 32  # coordinates of an observed linear game, at most
DIMENSIONS = 10  # dimensions of an observed contextual game with noisy sums, at most


def audit(
    algorithm: Algorithm,
    setting: Setting,
    alpha: float = 0.001,
    budget: int = 2**18,
    seed: int = 0,
    bound: Steps | None = None,
    state: Records | None = None,
) -> Audit:
    """Audit a tuned algorithm; `bound` and `state` replace its steps and first state, as a mutant's do.

    budget: the most rounds of a game with contexts; other games have limits of their own.
    """
    configured, setting = setting, reduced(algorithm, setting)
    if setting != configured:
        algorithm = algorithm.tuned(setting)
    claim = algorithm.guarantee(setting)
    if claim is None or math.isinf(claim.epsilon):
        return Audit("NOT AUDITABLE", "none", "nothing is promised", 0)
    view = algorithm.view(setting)
    if view is None:
        hint = (
            f"; return one by a method `view(self, setting)`: {_fitting(algorithm.game)}" if is_own(algorithm) else ""
        )
        return Audit("NOT AUDITABLE", str(claim), f"no view is declared ({claim.source}){hint}", 0)
    if isinstance(view, views.Unseen):
        return Audit("NOT AUDITABLE", str(claim), view.needs, 0)
    bound = steps(composition(algorithm)) if bound is None else bound
    state = algorithm.state(setting) if state is None else state
    error = _error(view, algorithm.game, setting, bound, state)
    if error is not None:
        raise PluginError(error, type(algorithm).view)
    asked = bandit.random_needs(algorithm, setting) if isinstance(algorithm, bandit.Algorithm) else {}
    ones = bandit.ones(asked)
    more = not asked.keys() <= ones & {*bandit.Draws._fields}  # the steps take `bandit.Numbers`
    if more and isinstance(view, views.Arms):
        return Audit("NOT AUDITABLE", str(claim), "the arms are not drawn by one number `rng.uniform` a round", 0)
    noisy, kinds = isinstance(view, views.Noisy), ones & {"normal", "laplace"}
    each = noisy and asked == {"normal": setting.n_arms}  # `choose` draws a number for every arm
    gaussian = each or (noisy and kinds == {"normal"})
    if gaussian and claim.delta == 0:
        needs = "a views.Noisy of Gaussian noise, which needs a guarantee with δ > 0"
        raise PluginError(f"view returned {needs}", type(algorithm).view)
    own = isinstance(algorithm, bandit.Algorithm) and isinstance(view, views.Release)
    bit = own and not {"normal", "laplace"} & asked.keys()
    if more and not each:
        bound = given_more(bound, asked, gaussian, bit)
    target: Target[Any] = Target(algorithm, setting, view, bound, state, claim, alpha, budget, seed, more, gaussian)
    with quickly(), uncollected():  # most of an audit's time is compiling
        run = audit_drawn if each else audit_bits if bit else AUDITS[algorithm.game, type(view)]
        found = run(target)
    return replace(found, assumed=assuming(found.assumed, _as_few(setting, configured)))


@contextmanager
def uncollected() -> Iterator[None]:
    """Context in which Python searches for no unreachable objects, which takes a tenth of the time of compiling."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _as_few(played: Setting, configured: Setting) -> str:
    """The assumption on the dimensions that were not played, in words; "" if all were."""
    if played.contexts != configured.contexts:
        return f"with d = {configured.known().dimension} it behaves as with d = {played.known().dimension}"
    few, all_of_them = played.n_arms, configured.n_arms
    return f"with N = {all_of_them} it behaves as with N = {few}" if few != all_of_them else ""


def reduced(algorithm: Algorithm, setting: Setting) -> Setting:
    """The setting of the played games: few dimensions or coordinates; at least two rounds for sums of losses."""
    view = algorithm.view(setting)
    if setting.contexts is not None and isinstance(view, views.Noisy | views.Answer):
        dimension = min(DIMENSIONS, setting.contexts.dimension)
        setting = setting._replace(contexts=setting.contexts._replace(dimension=dimension))
    if isinstance(setting.space, Simplex | Sphere | Cube):
        n = min(COORDINATES, setting.n_arms)
        setting = setting._replace(n_arms=n, space=type(setting.space)(n))
        if isinstance(view, views.Noisy):
            setting = setting._replace(horizon=max(2, setting.horizon))
    return setting


def _error(view: Any, game: str, setting: Setting, bound: Steps, state: Records) -> str | None:
    """The error of a view: its type, or a step or a field that the algorithm does not have; None if it fits."""
    if (game, type(view)) not in AUDITS:
        shown = f"a views.{type(view).__name__}" if isinstance(view, views.View) else repr(view)
        return f"view returned {shown}: in the game {game} return None, or {_fitting(game)}"
    kind = f"view returned a views.{type(view).__name__}"
    for step in NEEDED.get((game, type(view)), ()):
        if step not in bound:
            return f"{kind}, which needs a function `{step}` in the algorithm's file"
    if isinstance(view, views.Noisy) and (view.modulus is None) != (view.noise is None):
        return f"{kind} with one of `modulus` and `noise`: whole numbers mod M take both"
    found = [_field_error(view, field, setting, state) for field in fields(view)]
    return next((f"{kind} {error}" for error in found if error), None)


def _fitting(game: str) -> str:
    """The views of a game, as files write them."""
    return f"one of {', '.join(_written(view) for own, view in AUDITS if own == game)}"


def _written(kind: type[views.View]) -> str:
    """A view as a file writes it, with the fields that have no default: `views.Noisy(values)`."""
    needed = [field.name for field in fields(kind) if field.default is MISSING]
    return f"views.{kind.__name__}({', '.join(needed)})"


def _field_error(view: views.View, field: Any, setting: Setting, state: Records) -> str | None:
    """The error of one field of a view; a `Place` must be one that the state has, of the right shape."""
    name, kind, value, known = field.name, field.type, getattr(view, field.name), [name for name, _ in fields_of(state)]
    if isinstance(value, str) and value not in known:
        return f"of {value!r}, a field that the state does not have{suggestion(value, known)}"
    if name == "oracle" and not isinstance(value, Oracle):
        return f"whose `oracle` is {value!r}: give an Oracle (mechanisms/)"
    if value is None and field.default is None:
        return None
    if kind not in (views.Place, views.Range, views.Place | None):
        fits = kind is Any or isinstance(value, int | float if kind is float else kind)
        names = " or ".join(one.__name__ for one in get_args(kind) or (kind,))
        return None if fits else f"whose `{name}` is {value!r}, not {names}"
    if not isinstance(value, str) and not callable(value):
        return f"whose `{name}` is {value!r}: name a field of the state, or give a function of the state"
    try:
        numbers = np.asarray(views.read(state[0], value))
        shape = numbers.astype(float).shape
    except Exception as error:  # whatever a user's function raises
        return f"whose `{name}` cannot be read: {messages.summary(error)}"
    if numbers.dtype in (np.float16, np.float32):
        return f"whose `{name}` are {numbers.dtype}, which rounds away part of the noise: keep them as float64"
    n = setting.n_arms
    shapes: list[tuple[int, ...]] = [(n,)]
    each = f"a number for each of {n} arms or coordinates"
    if name == "canary":
        shapes, each = [(2,)], "the lowest and the highest gain"
    elif setting.contexts is not None:
        d = setting.contexts.dimension
        shapes, each = [(d, d + 1), (d,)], f"({d}, {d + 1}), which is [V | u~], or ({d},), which is u~ alone"
        if getattr(view, "fixed", False):
            shapes, each = [shape] if len(shape) == 1 else [], "numbers with one axis"
    wrong = name in ("canary", "values") and shape not in shapes
    return f"whose `{name}` have the shape {shape}: it takes {each}" if wrong else None


def _audit_released(target: Target[views.Release]) -> Audit:
    """Audit noisy gains; if `rng.uniform` alone changes what is released, audit reports of one bit instead."""
    found = audit_noise(target)
    return audit_bits(target) if found.found == excuses.UNIFORM.format(target.noise) else found


def _audit_noisy(target: Target[views.Noisy]) -> Audit:
    """The audit of noisy numbers of the arms: of whole numbers mod M, or of numbers with noise of a scale."""
    return audit_noise(target) if target.view.noise is None else audit_sums(target)


def _answer_and_base(target: Target[views.Answer]) -> Audit:
    """The worse of two audits at half the level: that of the arm of a round, and that of the base in its wrapper."""
    base, setting = target.view.base, target.setting
    half: Target[Any] = replace(target, alpha=target.alpha / 2)
    claim, view = base.guarantee(setting), base.view(setting)
    if claim is None or view is None or math.isinf(claim.epsilon):
        return audit(base, setting, half.alpha, target.budget, target.seed)  # not auditable
    if not isinstance(view, views.Noisy) or view.public:  # a public view takes it for granted that arms are no secret
        return Audit("NOT AUDITABLE", str(target.claim), "no audit supports this base", 0)
    inner = replace(half, view=views.within(view, target.view.wrapped), claim=claim)
    error = _error(inner.view, base.game, setting, target.steps, target.state)
    if error is not None:
        raise PluginError(error, type(base).view)
    later = audit_contexts(inner)
    if later.verdict != "CONSISTENT":
        return later
    own = audit_answers(half, Games(inner))
    words, found = f"{own.claim}; {later.claim}", f"{own.found}; {later.found}"
    played, cost = f"{own.played}; {later.played}", own.cost + later.cost
    assumed = assuming(own.assumed, later.assumed)
    return replace(own, claim=words, found=found, cost=cost, played=played, assumed=assumed)


AUDITS: dict[tuple[str, type[Any]], Callable[[Target[Any]], Audit]] = {
    ("bandit", views.Release): _audit_released,
    ("bandit", views.Noisy): _audit_noisy,
    ("bandit", views.Arms): audit_arms,
    ("best_arm", views.Release): _audit_released,
    ("best_arm", views.Noisy): _audit_noisy,
    ("linear", views.Release): audit_losses,
    ("linear", views.Noisy): audit_prefixes,
    ("linear", views.Leader): audit_leaders,
    ("linear", views.Arms): audit_experts,
    ("contextual", views.Noisy): audit_contexts,
    ("contextual", views.Fits): audit_fits,
    ("contextual", views.Answer): _answer_and_base,
}
NEEDED: dict[tuple[str, type[Any]], tuple[str, ...]] = {  # functions of the file besides `choose` and `update`
    ("bandit", views.Release): ("released",),
    ("bandit", views.Arms): ("probabilities",),
    ("best_arm", views.Release): ("released",),
    ("linear", views.Release): ("released",),
    ("contextual", views.Fits): ("probabilities",),
}
