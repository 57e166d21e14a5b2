"""Rates that papers prove for the regret of every private learner, to be drawn beside the measured regret.

Unless its name says otherwise, a rate is a lower bound in order only, on the paper's own hardest instance, with 1 in
place of the hidden constant. The papers give the rates for heavy tails for u = 1 and ε <= 1; the rates for other u
follow if gains are counted in units of s = u^(1/(1+v)).
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from privbandits_cli.accounting.rounding import at_most, is_vacuous
from privbandits_cli.games import bandit, contextual
from privbandits_cli.games.bandit import Floats, Setting
from privbandits_cli.games.heavy_tails import Stationary
from privbandits_cli.games.players import Adversary, Algorithm
from privbandits_cli.numerics.kl import kl, private_kl

# The names of `least_regret` in figures. The second one holds for every learner, whatever its δ.
LOWER, LOWER_WITHOUT = "lower bound for ε-DP", "lower bound without privacy"
# The names of the lower bounds on the time in the game best_arm.
LOWER_2023, LOWER_2025 = "lower bound of 2023", "lower bound of 2025"


class Rate(NamedTuple):
    """A bound on regret; `name` is the theorem, marked if another paper improves on it or contradicts it."""

    name: str
    regret: Floats  # `[points]`
    epsilon: float | None = None  # of the learners that it is about, if it depends on ε and all points have the same

    @property
    def asymptotic(self) -> bool:
        """Whether the rate is `least_regret`, which has its constant but holds only for large t."""
        return self.name in (LOWER, LOWER_WITHOUT)

    @property
    def lower(self) -> bool:
        """Whether it is a lower bound with its constant: it is drawn without markers, and is a row of tables."""
        return self.asymptotic or self.name in (LOWER_2023, LOWER_2025)

    @property
    def title(self) -> str:
        """The name with this ε."""
        return self.name if self.epsilon is None else f"{self.name}, ε = {at_most(self.epsilon)}"


class Theory(NamedTuple):
    """What theorems say of one curve."""

    bound: Floats | None  # on regret, `[points]`; NaN where it is vacuous; None if no theorem gives one
    rates: tuple[Rate, ...]  # of every learner that is equally private

    def last(self, points: int) -> "Theory":
        """Its last points."""
        bound = None if self.bound is None else self.bound[-points:]
        return Theory(bound, tuple(rate._replace(regret=rate.regret[-points:]) for rate in self.rates))


def theory(algorithm: Algorithm, adversary: Adversary, setting: Setting, rounds: Floats) -> Theory:
    """What theorems say of the regret of a tuned algorithm against an adversary after `rounds` `[points]`."""
    bound = regret_bound(algorithm, adversary, setting, rounds)
    if bound is not None:
        most = rounds * setting.largest_regret()
        bound = np.array([np.nan if is_vacuous(*pair) else pair[0] for pair in zip(bound, most, strict=True)])
    if setting.switches or not isinstance(adversary, bandit.Adversary):
        return Theory(bound, ())
    epsilon, coins = pure_epsilon(algorithm, setting), adversary.coins(setting)
    if coins is not None:  # here the rate below is hundreds of times smaller
        return Theory(bound, tuple(_least(rounds, coins, epsilon)))
    if not isinstance(adversary, Stationary) or math.isinf(epsilon):
        return Theory(bound, ())
    return Theory(bound, tuple(rates(rounds, setting, adversary.mean_gains(setting), epsilon, algorithm.local)))


def regret_bound(algorithm: Algorithm, adversary: Adversary, setting: Setting, rounds: Floats) -> Floats | None:
    """The smallest proved bound on a tuned algorithm's regret after `rounds` `[points]`; None without a theorem.

    One that knows the means is infinite where it is above what the worst of these arms costs.
    """
    if setting.switches or (isinstance(adversary, contextual.Adversary) and not adversary.linear):
        return None  # no theorem here bounds dynamic regret, or regret for rewards that are not linear
    if not (isinstance(algorithm, bandit.Algorithm) and isinstance(adversary, bandit.Adversary)):
        return algorithm.regret_bound(rounds, setting)
    general, coins = algorithm.regret_bound(rounds, setting, adversary.reaction()[0]), adversary.coins(setting)
    own = None if coins is None else algorithm.instance_regret_bound(rounds, coins, setting)
    if own is not None and coins is not None:
        own = np.where(own < rounds * (coins.max() - coins.min()), own, np.inf)
    known = [bound for bound in (general, own) if bound is not None]
    return np.minimum.reduce(known) if known else None


def pure_epsilon(algorithm: Algorithm, setting: Setting) -> float:
    """The ε of an algorithm that is designed to be private, at δ = 0; infinity without such a guarantee."""
    promised = algorithm.guarantee(setting) if algorithm.promises() else None
    return math.inf if promised is None or promised.delta > 0 else promised.epsilon


def rates(rounds: Floats, setting: Setting, means: Floats, epsilon: float, local: bool) -> Iterator[Rate]:
    """The rates for ε-private learners on arms with these means `[arms]`, after `rounds` >= 1 `[points]`; ε > 0.

    local: every report is private by itself. Gains are heavy-tailed if the setting has v and u, else in [0, 1].
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


def least_regret(rounds: Floats, means: Floats, epsilon: float = math.inf) -> Floats:
    """Σ_a Δ_a ln t / d_ε(μ_a, μ*) after `rounds` t >= 1 `[points]`: an asymptotic lower bound under ε-DP.

    Azize et al. 2025; for ε = infinity d is kl (Lai & Robbins 1985). For Bernoulli arms with these means `[arms]`. The
    bound is on the mean regret of a learner whose regret is of smaller order than any power of t on all such arms, and
    it is asymptotic: at finite t a learner may be below it.
    """
    best = float(means.max())
    worse = [float(mu) for mu in means if mu < best]
    cost = [kl(mu, best) if math.isinf(epsilon) else private_kl(mu, best, epsilon) for mu in worse]
    return np.log(rounds) * sum((best - mu) / d if d else math.inf for mu, d in zip(worse, cost, strict=True))


def _least(rounds: Floats, means: Floats, epsilon: float) -> Iterator[Rate]:
    """`least_regret`, unless it says nothing, because all arms are alike or no gain may have an effect."""
    if means.min() < means.max() and epsilon > 0:
        private = math.isfinite(epsilon)
        name, own = (LOWER, epsilon) if private else (LOWER_WITHOUT, None)
        yield Rate(name, least_regret(rounds, means, epsilon), own)


def _local(rounds: Floats, n_arms: int, gaps: Floats, epsilon: float, v: float, u: float) -> Iterator[Rate]:
    """Theorems 8 and 9 of Tao et al. 2022 hold but are loose; Theorem 7, an upper bound, is below the true rate.

    The true rate is (K/ε²)^(v/(2(1+v))) T^((2+v)/(2(1+v))) (Zhou & Zhang 2024); Theorem 9 has
    (K/ε²)^(v/(1+v)) T^(1/(1+v)). Theorem 7 has K ln T in place of K. Its power of u is as printed, although it does not
    scale with the unit of the gains.
    """
    unit, q, arms = u ** (1 / (1 + v)), v / (1 + v), n_arms / epsilon**2
    pulls = np.sum((unit / gaps) ** (1 / v)) / epsilon**2
    printed = u ** (2 / (1 + v)) * (arms * np.log(rounds)) ** q * rounds ** (1 - q)
    yield Rate("lower order: Zhou & Zhang 2024", unit * arms ** (q / 2) * rounds ** (1 - q / 2))
    yield Rate("lower order, loose: Tao et al., Theorem 8", unit * pulls * np.log(rounds))
    yield Rate("lower order, loose: Tao et al., Theorem 9", unit * arms**q * rounds ** (1 - q))
    yield Rate("upper order, contradicted: Tao et al., Theorem 7", printed)
