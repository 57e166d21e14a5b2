"""Two coordinates of uniformly random directions, and geometric gaps, in steps that a compiler can vectorise in a loop.

The first two coordinates of a uniform point on the sphere of R^d are r (cos φ, sin φ) with r² = 1 - W^(2/(d - 2)) and
uniform W and φ (Ulrich 1984). Two words of 64 random bits make a direction: 52 bits of one are W, 52 of the other place
φ in a quarter of the circle, and two more bits of it choose the quarter.
"""

from typing import Any

import numpy as np

from privbandits_cli.numerics.exponential import exponential
from privbandits_cli.numerics.jit import Record
from privbandits_cli.numerics.logarithm import logarithm
from privbandits_cli.numerics.sfc64 import AHEAD, ONE, STREAMS, advance, fraction, sign

TOGETHER = STREAMS * AHEAD // 2  # directions that are drawn together
ROOT_HALF = 0.70710678118654752440
QUARTER = 1.57079632679489661923  # π/2
HUGE = 1e300  # 2/(d - 2) for d = 2

S1 = -1.66666666666666324348e-01  # of fdlibm's k_sin.c and k_cos.c (Sun 1993)
S2 = 8.33333333332248946124e-03
S3 = -1.98412698298579493134e-04
S4 = 2.75573137070700676789e-06
S5 = -2.50507602534068634195e-08
S6 = 1.58969099521155010221e-10
C1 = 4.16666666666666019037e-02
C2 = -1.38888888888741095749e-03
C3 = 2.48015872894767294178e-05
C4 = -2.75573143513906633035e-07
C5 = 2.08757232129817482790e-09
C6 = -1.13596475577881948265e-11


def next_gaps(room: Record, chance: float) -> None:
    """The numbers of failures before each of the next successes, `room.gaps[TOGETHER]`; chance: of one, in (0, 1)."""
    advance(room)
    words, gaps, over = room.ready, room.gaps, np.divide(1.0, np.log1p(-chance))
    for i in range(TOGETHER):
        gaps[i] = np.floor(over * logarithm(fraction(words[i])))


def directions_room(dimension: int) -> dict[str, Any]:
    """The fields of a record from which these functions draw, beside `sfc64.streams_of`."""
    power = 2.0 / (dimension - 2) if dimension > 2 else HUGE
    return {"power": power, "u": np.zeros(TOGETHER), "v": np.zeros(TOGETHER), "gaps": np.zeros(TOGETHER)}


def next_directions(room: Record, low: float, high: float) -> None:
    """The two coordinates `room.u[TOGETHER]`, `room.v[TOGETHER]` of the next directions, given W in [low, high].

    W is of the first half of the words `room.ready[2 TOGETHER]`, φ of the second. [0, 1] is no condition.
    """
    advance(room)
    words, u, v, power = room.ready, room.u, room.v, room.power
    for i in range(TOGETHER):  # in three loops, so that the processor works on several directions at a time
        v[i] = power * logarithm(low + (high - low) * fraction(words[i]))
    for i in range(TOGETHER):
        u[i] = ROOT_HALF * np.sqrt(1.0 - exponential(v[i]))
    for i in range(TOGETHER):
        word, radius = words[TOGETHER + i], u[i]
        angle = (fraction(word) - 0.5) * QUARTER  # in [-π/4, π/4): the circle's polynomials need no more
        z = angle * angle
        sine = angle + angle * z * (S1 + z * (S2 + z * (S3 + z * (S4 + z * (S5 + z * S6)))))
        cosine = 1.0 - (0.5 * z - z * z * (C1 + z * (C2 + z * (C3 + z * (C4 + z * (C5 + z * C6))))))
        u[i] = radius * (cosine - sine) * sign(word)
        v[i] = radius * (cosine + sine) * sign(word >> ONE)
