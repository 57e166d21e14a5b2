"""Numbers as text."""

import re

SPELLED = re.compile(  # numbers for people: 12,000; 0,5; 5 %; $3.50; and with a typographic minus
    r"[-+\u2212]?[$€£]? ?(\d{1,3}([,.' \u00a0\u202f]\d{3})+|\d+)([.,]\d+)? ?[%‰$€£]?"
)
GROUPED = re.compile(r"-?(\d+|[1-9]\d{0,2}(,\d{3})+)(\.(?!000$)\d+)?")  # 1,234.5; 12.000 is 12000
PARTS = {"%": 100, "‰": 1000}


def exact(value: float) -> str:
    """A number with all its digits, so that whoever copies the text has the same number: `1.0000001`, `1234567`."""
    return repr(float(value) + 0.0).removesuffix(".0")  # never -0


def number_of(text: str) -> float | None:
    """The number that a text writes, as Python reads it; None if it writes none."""
    try:
        return float(text)
    except ValueError:
        return None


def meant(text: str) -> str:
    """The number that a text may mean: `0.5` for `50%` and `0,5`, `1234 or 1.234` for `1,234`; else empty."""
    if not SPELLED.fullmatch(text):
        return ""
    plain = re.sub(r"[^-\d.,]", "", text.replace("\u2212", "-"))
    forms = (plain, plain.translate({ord(","): ".", ord("."): ","}))  # with a decimal point, with a decimal comma
    values = (float(form.replace(",", "")) / PARTS.get(text[-1], 1) for form in forms if GROUPED.fullmatch(form))
    return " or ".join(dict.fromkeys(map(exact, values)))
