"""The law of the shrinking dartboard's experts, and what one loss vector costs in them at least.

Weights are (1 - η)^L, where L is an expert's sum of losses. An expert that lost l is kept with probability (1 - p)
(1 - η)^l; otherwise one is drawn by the weights. There are `draws` such draws, after the first one.

Units: nats, rounds. Domain: 0 < η < 1, 0 < p <= 1.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Dartboard:
    """The law of Asi, Feldman, Koren & Talwar 2023, Algorithm 1: η, p and the number of later draws."""

    eta: float
    p: float
    draws: int

    def attack(self, n_arms: int, horizon: int) -> float:
        """ln P(s)/P'(s) of one sequence s of experts, for losses that differ in one round: a lower limit on ε.

        Two experts (one, if there are two in all) lose until they have the least weights, while another one is kept. In
        the round that differs, all others lose, or these two do. Then the two are drawn in turn, without any loss, as
        often as there are draws. A draw of the expert that is played cannot be seen, but in the rounds before, which
        both games share, it is as likely in both.
        """
        keep = math.log1p(-self.eta)
        turns = max(1, min(self.draws, horizon // 2))
        few = min(2, n_arms - 1)
        light = math.exp(keep * max(0, horizon - turns - 1))
        own = few * light + (n_arms - few) * math.exp(keep)
        other = few * light * math.exp(keep) + (n_arms - few)
        moved = math.log((self.p + self.eta - self.p * self.eta) / self.p)  # the expert that lost is left
        back = 0 if few == 2 else turns // 2  # draws of the other expert
        later = turns * math.log(other / own) + (2 * back - turns) * keep
        return moved + max(0.0, later)
