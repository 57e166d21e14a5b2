"""The exponential function in steps that a compiler can vectorise in a loop, unlike a call to the C library.

exp x for x <= 0: x = k ln 2 + r with an integer k and |r| <= ln 2 / 2; exp r is the rational approximation of Sun's
fdlibm (e_exp.c, 1993), and 2^k is written into the bits of the exponent. For |x| <= 1 a polynomial of degree 14 needs
no division. Each step rounds once, so a vectorised loop, a single call and plain Python give the same numbers.
"""

import numpy as np

from privbandits_cli.numerics.reals import bits_of, number_of

LEAST = -708.0  # below it exp x has less than full precision
LOG2_E = 1.44269504088896338700
LN2_HIGH = 6.93147180369123816490e-01  # its last bits are 0, so k LN2_HIGH is exact
LN2_LOW = 1.90821492927058770002e-10
WHOLE = 1.5 * 2.0**52  # adding it rounds to an integer, which is then in the lowest bits

P1 = 1.66666666666666019037e-01
P2 = -2.77777777770155933842e-03
P3 = 6.61375632143793436117e-05
P4 = -1.65339022054652515390e-06
P5 = 4.13813679705723846039e-08


def exponential(x: float) -> float:
    """exp x for x <= 0, to 1 unit in the last place; below -708, exp -708."""
    x = LEAST if x < LEAST else x
    shifted = x * LOG2_E + WHOLE
    k = shifted - WHOLE
    high, low = x - k * LN2_HIGH, k * LN2_LOW
    r = high - low
    s = r * r
    c = r - s * (P1 + s * (P2 + s * (P3 + s * (P4 + s * P5))))
    power = 1.0 + (np.divide(r * c, 2.0 - c) - low + high)  # "/" would check for 0, which prevents vectors
    product: float = number_of(bits_of(power) + (bits_of(shifted) << 52))
    return product


C2, C3, C4 = 0.4999999999999978, 0.16666666666665692, 0.04166666666671454  # by Remez' algorithm: relative error 6e-17
C5, C6, C7 = 0.00833333333349569, 0.0013888888885641864, 0.00019841269745620566
C8, C9, C10 = 2.480158828188552e-05, 2.755734593311041e-06, 2.7557174558327885e-07
C11, C12, C13, C14 = 2.504827260415072e-08, 2.088658135868825e-09, 1.6332666099275294e-10, 1.1281616709469177e-11


def small_exponential(x: float) -> float:
    """exp x for |x| <= 1.0009, to 2 units in the last place; to 4 for x < -1/2."""
    s = x * x
    f = s * s
    low = (C2 + x * C3) + s * (C4 + x * C5)  # parts that do not wait for each other
    middle = (C6 + x * C7) + s * (C8 + x * C9)
    high = (C10 + x * C11) + s * (C12 + x * C13) + f * C14
    return 1.0 + (x + s * (low + f * (middle + f * high)))
