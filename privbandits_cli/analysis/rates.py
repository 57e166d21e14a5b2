"""What papers state of the regret of every private learner: rates to be drawn beside what was measured.

Lower bounds of order only, with 1 for the constant that is hidden, on the paper's own hardest instance, unless a rate
says otherwise. Heavy tails are printed for u = 1 and ε <= 1; gains counted in units of s = u^(1/(1+v)) give the rest.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from privbandits_cli.games.bandit import Floats, Setting


class Rate(NamedTuple):
    """A statement on regret: `name` is the theorem, marked where another paper goes beyond it or contradicts it."""

    name: str
    regret: Floats  # after each of some numbers of rounds


def rates(rounds: Floats, setting: Setting, means: Floats, epsilon: float, local: bool) -> Iterator[Rate]:
    """What is stated of ε-private learners of arms with these means `[arms]`; rounds >= 1, ε > 0.

    local: every report is private by itself. With v and u in the setting gains are heavy-tailed, else in [0, 1].
    """
    gaps = means.max() - means
    gaps = gaps[gaps > 0]
    if setting.v is None or setting.u is None:
        yield Rate("lower: Shariff & Sheffet 2018, Cor. 15", len(gaps) * np.log(rounds) / (200 * epsilon))
    elif epsilon > 1:
        return
    elif local:
        yield from _local(rounds, setting.n_arms, gaps, epsilon, setting.v, setting.u)
    else:
        unit = setting.u ** (1 / (1 + setting.v))
        pulls = np.sum((unit / gaps) ** (1 / setting.v)) / epsilon
        yield Rate("lower order: Tao et al., Theorem 5", unit * pulls * np.log(rounds))


def _local(rounds: Floats, n_arms: int, gaps: Floats, epsilon: float, v: float, u: float) -> Iterator[Rate]:
    """Theorems 8 and 9 of Tao et al. 2022 hold, but are loose; Theorem 7, an upper bound, lies below the true rate.

    That is (K/ε²)^(v/(2(1+v))) T^((2+v)/(2(1+v))), Zhou & Zhang 2024, for the (K/ε²)^(v/(1+v)) T^(1/(1+v)) of
    Theorem 9. Theorem 7 has K ln T for K, and a power of u that is as printed: with gains in other units it is another.
    """
    unit, q, arms = u ** (1 / (1 + v)), v / (1 + v), n_arms / epsilon**2
    pulls = np.sum((unit / gaps) ** (1 / v)) / epsilon**2
    printed = u ** (2 / (1 + v)) * (arms * np.log(rounds)) ** q * rounds ** (1 - q)
    yield Rate("lower order: Zhou & Zhang 2024", unit * arms ** (q / 2) * rounds ** (1 - q / 2))
    yield Rate("lower order, loose: Tao et al., Theorem 8", unit * pulls * np.log(rounds))
    yield Rate("lower order, loose: Tao et al., Theorem 9", unit * arms**q * rounds ** (1 - q))
    yield Rate("upper order, contradicted: Tao et al., Theorem 7", printed)
