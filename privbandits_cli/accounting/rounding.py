"""Bounds as text. An upper bound is rounded up and a lower bound down, so that what is printed is still a bound."""

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

COMPUTED = 12  # significant digits of a computed bound; the digits beyond are errors of its arithmetic

VACUOUS = "(vacuous): no algorithm can lose more than {}"


def at_most(value: float | None, digits: int = 4) -> str:
    """An upper bound >= 0, with these significant digits or as a whole number; ∞ if infinite, a dash if None."""
    return _rounded(value, digits, ROUND_CEILING)


def at_least(value: float | None, digits: int = 4) -> str:
    """A lower bound >= 0, written like an upper one."""
    return _rounded(value, digits, ROUND_FLOOR)


def regret(bound: float, largest: float) -> str:
    """A bound on the regret, marked as vacuous unless it is below `largest`, the most that any algorithm can lose."""
    return at_most(bound) + (" (vacuous)" if is_vacuous(bound, largest) else "")


def is_vacuous(bound: float, largest: float) -> bool:
    """Whether a bound on the regret is not below the most that any algorithm can lose, up to rounding."""
    return bound >= largest * (1 - 10.0**-COMPUTED)


def pair(epsilon: float, delta: float, digits: int = 4) -> str:
    """The upper bound (ε, δ), with these digits of ε: `ε = 243.3`, or `ε = 1.504, δ = 1.5e-11`."""
    return f"ε = {at_most(epsilon, digits)}" + (f", δ = {at_most(delta, 2)}" if delta else "")


def _rounded(value: float | None, digits: int, rounding: str) -> str:
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞"
    computed = Decimal(f"{value:z.{COMPUTED}g}")
    kept = Context(prec=max(digits, computed.adjusted() + 1), rounding=rounding).create_decimal(computed)
    return f"{kept:,.0f}" if kept >= 10 ** (digits - 1) else short(f"{float(kept):z.{digits}g}")


def short(text: str) -> str:
    """A number with its exponent as people write it: `1e-6`, not `1e-06`."""
    return re.sub(r"(?<=\d)e([-+])0(\d)", r"e\1\2", text)
