"""A claim expression -> its comparisons: one for each panel and each swept value that the claim does not fix."""

from collections.abc import Sequence
from dataclasses import dataclass

from privbandits_cli.claims.results import Absent, Results
from privbandits_cli.experiment.expressions import QUANTITIES, Expression, Scope, Selection, Side
from privbandits_cli.experiment.plan import Curve
from privbandits_cli.experiment.variants import flat


@dataclass(frozen=True)
class Comparison:
    """The curves of both sides in one panel, at one value of each swept parameter that the claim does not fix.

    A side has several curves if its quantity is fitted to a sweep, or taken at the worst value of a parameter.
    """

    name: str
    left: tuple[Curve, ...]
    right: tuple[Curve, ...]  # empty: a number


@dataclass(eq=False)
class _Group:
    """The curves of one side in one comparison."""

    panel: str
    values: dict[str, str]  # of the swept parameters that the claim does not fix
    curves: tuple[Curve, ...] = ()

    def fits(self, other: "_Group") -> bool:
        """Whether two sides belong to one comparison: the same panel, and no parameter with two values."""
        values = self.values
        return self.panel == other.panel and all(values.get(name, x) == x for name, x in other.values.items())

    def name(self, other: "_Group | None" = None) -> str:
        """The panel and the values of both sides."""
        values = self.values | (other.values if other else {})
        return ", ".join([self.panel, *(f"{'ε' if name == 'epsilon' else name} = {x}" for name, x in values.items())])


def comparisons(expression: Expression, found: Results) -> list[Comparison]:
    """The comparisons of a claim; Absent if one side of a comparison has no curve."""
    worst, against = expression.scope.worst, found.experiment.keys.plot.against
    pooled = {worst[0]} if worst else set()  # the swept parameters all of whose values belong to one comparison
    pooled |= {against} if QUANTITIES[expression.left.quantity].fitted and against else set()
    left = _groups(expression.left, expression.scope, pooled, found.curves)
    if expression.right.curve is None:
        return [Comparison(group.name(), group.curves, ()) for group in left]
    right = _groups(expression.right, expression.scope, pooled, found.curves)
    pairs = [(a, b) for a in left for b in right if a.fits(b)]
    for groups, used in ((left, [a for a, _ in pairs]), (right, [b for _, b in pairs])):
        alone = [group for group in groups if group not in used]
        if alone:
            raise Absent(f"nothing to compare with at {alone[0].name()}")
    return [Comparison(a.name(b), a.curves, b.curves) for a, b in pairs]


def _groups(side: Side, scope: Scope, pooled: set[str], curves: Sequence[Curve]) -> list[_Group]:
    """The curves of a side, one group for each comparison."""
    assert side.curve is not None
    fixed = pooled | {condition.name for condition in side.curve.where}
    found: dict[tuple[object, ...], _Group] = {}
    for curve in curves:
        if _selects(side.curve, curve) and _within(scope, curve):
            group = _Group(_panel(curve), {k: str(v) for k, v in curve.swept.items() if k not in fixed})
            group = found.setdefault((group.panel, *group.values.items()), group)
            group.curves += (curve,)
    if not found:
        raise Absent(f"no {side.curve.name} there")
    return list(found.values())


def _panel(curve: Curve) -> str:
    """The panel of a curve, without the swept values in its title."""
    return curve.adversary_title.without(curve.swept)


def _selects(selection: Selection, curve: Curve) -> bool:
    name = curve.label.base if selection.labelled else curve.algorithm.name
    described = {**flat(curve.algorithm.described()), **curve.swept, "panel": curve.panel}
    return name == selection.name and all(one.admits(described.get(one.name)) for one in selection.where)


def _within(scope: Scope, curve: Curve) -> bool:
    """Whether a curve is in the scope; a condition on a parameter that the curve does not have excludes nothing."""
    names = {curve.adversary.name, _panel(curve)}
    described = {**flat(curve.adversary.described()), **flat(curve.algorithm.described()), **curve.swept}
    known = [condition for condition in scope.where if described.get(condition.name) is not None]
    panels = {panel for panel, _ in scope.panels}
    return (not panels or bool(names & panels)) and all(c.admits(described[c.name]) for c in known)
