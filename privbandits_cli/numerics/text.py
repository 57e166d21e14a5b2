"""Numbers as text."""


def exact(value: float) -> str:
    """A number with all its digits, so that who writes it down writes this number: `1.0000001`, `1234567`."""
    return repr(float(value) + 0.0).removesuffix(".0")  # never -0
