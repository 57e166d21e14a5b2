"""The natural logarithm in steps that a compiler can vectorise in a loop, unlike a call to the C library.

x = 2^k m with m in [√½, √2); with f = m - 1 and s = f/(2 + f), ln m = f - f²/2 + s (f²/2 + R(s²)), R the polynomial of
Sun's fdlibm (e_log.c, 1993). Each step rounds once, so a vectorised loop, a single call and plain Python give the same
numbers.
"""

import numpy as np

from privbandits_cli.numerics.exponential import LN2_HIGH, LN2_LOW, WHOLE
from privbandits_cli.numerics.reals import bits_of, number_of

ROOT = int(np.float64(np.sqrt(0.5)).view(np.int64))
SHIFT = int(np.float64(1.0).view(np.int64)) - ROOT
MANTISSA = 2**52 - 1
BIAS = int(np.float64(WHOLE).view(np.int64)) - 1023  # makes a number of an exponent, without a conversion

L1 = 6.666666666666735130e-01
L2 = 3.999999999940941908e-01
L3 = 2.857142874366239149e-01
L4 = 2.222219843214978396e-01
L5 = 1.818357216161805012e-01
L6 = 1.531383769920937332e-01
L7 = 1.479819860511658591e-01


def logarithm(x: float) -> float:
    """ln x for a normal x > 0, to 1 unit in the last place."""
    bits = bits_of(x) + SHIFT
    k = number_of((bits >> 52) + BIAS) - WHOLE
    f = number_of((bits & MANTISSA) + ROOT) - 1.0
    half, s = 0.5 * f * f, np.divide(f, 2.0 + f)  # "/" would check for 0, which prevents vectors
    z = s * s
    w = z * z
    r = z * (L1 + w * (L3 + w * (L5 + w * L7))) + w * (L2 + w * (L4 + w * L6))
    total: float = s * (half + r) + k * LN2_LOW - half + f + k * LN2_HIGH
    return total
