"""Numbers as tables and messages show them."""


def amount(value: float | None) -> str:
    """A regret or an ε: four digits, or a whole number from 1000 on; a dash if there is none."""
    return "–" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def parameter(value: float) -> str:
    """A value of a swept parameter."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"
