"""How far the noise moves the eigenvalues of a Gram matrix, and the shift that compensates for it.

(ρ_min, ρ_max, γ) of Shariff & Sheffet 2018, Definition 3: with probability 1 - α' in each round, the regulariser H,
which is the noise plus the shift, has its eigenvalues in [ρ_min, ρ_max], and the noise h of Σ x y has norm at most γ in
the norm of H^-1.
"""

import math
from dataclasses import dataclass

from privbandits_cli.games.players import Contexts
from privbandits_cli.numerics import goe


@dataclass(frozen=True)
class Regularisers:
    """Regularisers made of noise with eigenvalues in [low, high], plus `shift` times the identity.

    reach: for Gaussian noise |h| <= reach, so γ = reach/√ρ_min. For Wishart noise |h| <= reach in the norm of the
    inverse noise, so γ is the largest reach √(ρ/(ρ + shift)) over the eigenvalues ρ: at `low` for a negative shift,
    else at `high`.
    """

    low: float
    high: float
    reach: float
    shift: float
    wishart: bool

    @property
    def rho_min(self) -> float:
        """ρ_min."""
        return self.low + self.shift

    @property
    def rho_max(self) -> float:
        """ρ_max."""
        return self.high + self.shift

    @property
    def gamma(self) -> float:
        """γ."""
        if not self.wishart:
            return self.reach / math.sqrt(self.rho_min)
        return self.reach * math.sqrt(self.low / self.rho_min if self.shift <= 0 else self.high / self.rho_max)

    def facts(self) -> dict[str, float]:
        """The numbers by name."""
        return {"rho_min": self.rho_min, "rho_max": self.rho_max, "gamma": self.gamma, "shift": self.shift}

    def shifted_to(self, rho_min: float) -> "Regularisers":
        """The same noise with the shift that gives this ρ_min."""
        return Regularisers(self.low, self.high, self.reach, rho_min - self.low, self.wishart)


def gaussian(known: Contexts, sigma: float, variance: float, log_alpha: float) -> Regularisers:
    """Proposition 11, log_alpha = ln α': Υ = σ √(2m) (4 √d - 2 ln α'), shifted by 2 Υ.

    variance: m, the variance of the noise of an entry off the diagonal in units of σ²; in a tree, its number of nodes.
    """
    d = known.dimension
    upsilon = sigma * math.sqrt(2 * variance) * (math.sqrt(16 * d) - 2 * log_alpha)
    reach = math.sqrt(variance) * sigma * (math.sqrt(d) + math.sqrt(-2 * log_alpha))
    return Regularisers(-upsilon, upsilon, reach, 2 * upsilon, wishart=False)


def gaussian_by_density(known: Contexts, sigma: float, variance: float, log_alpha: float) -> Regularisers:
    """As `gaussian`, with Υ from the one-point density of the eigenvalues (`numerics.goe`) and |h| from its χ² law.

    Each bound may fail with probability α'/2. At α' = 1.5e-16 and d = 5, Υ is 8.7 times smaller than in `gaussian`.
    """
    from scipy.special import gammainccinv

    half, deviation = log_alpha - math.log(2), math.sqrt(variance) * sigma
    upsilon = deviation * goe.largest(known.dimension, half)
    reach = deviation * math.sqrt(2 * gammainccinv(known.dimension / 2, math.exp(half)))
    return Regularisers(-upsilon, upsilon, reach, 2 * upsilon, wishart=False)


def wishart(known: Contexts, rows: float, nodes: int, log_alpha: float, shifted: bool) -> Regularisers:
    """Proposition 9, log_alpha = ln α': L~² (√(mk) ∓ D)², D = √d + √(2 ln(4/α')); shifted to ρ_min = 4 L~² √(mk) D.

    If mk is so small that √(mk) < D, the only lower bound on the eigenvalues is 0.
    """
    d, square = known.dimension, known.row_norm() ** 2
    root, wide = math.sqrt(nodes * rows), math.sqrt(d) + math.sqrt(2 * (math.log(4) - log_alpha))
    reach = known.row_norm() * (math.sqrt(d) + math.sqrt(-2 * log_alpha))
    plain = Regularisers(square * max(0.0, root - wide) ** 2, square * (root + wide) ** 2, reach, 0.0, wishart=True)
    return plain.shifted_to(4 * square * root * wide) if shifted else plain


def regret_bound(known: Contexts, made: Regularisers, rounds: float, alpha: float, least: float = 1.0) -> float:
    """β √(8 n d ln(1 + n L²/(d ρ_min))) max(1, S L): Theorem 5 after n rounds, before the last step of its proof.

    The printed form, σ times the square of the first term, follows from this. made: the regularisers for the
    largest noise. least: the ratio of ρ_min in the first round to theirs (`games.ellipsoid`).
    """
    d, rho_min = known.dimension, least * made.rho_min
    grown = rounds * known.norm**2 / (d * rho_min)
    chance = 2 * math.log(2 / alpha) + d * math.log(made.rho_max / rho_min + grown)
    beta = known.sigma * math.sqrt(chance) + known.theta_norm * math.sqrt(made.rho_max) + made.gamma
    return max(1.0, known.theta_norm * known.norm) * beta * math.sqrt(8 * rounds * d * math.log1p(grown))


def optimal(known: Contexts, made: Regularisers, horizon: float, alpha: float) -> Regularisers:
    """The same noise with the shift that minimises Theorem 5's bound at the horizon."""
    from scipy import optimize

    scale = made.high - made.low
    found = optimize.minimize_scalar(
        lambda log: regret_bound(known, made.shifted_to(math.exp(log)), horizon, alpha),
        bounds=(math.log(1e-6 * scale), math.log(1e3 * scale)),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return made.shifted_to(math.exp(float(found.x)))
