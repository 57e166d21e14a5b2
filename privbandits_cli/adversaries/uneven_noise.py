"""Losses that punish quiet and loud rounds of a private leader differently (ours, against Agarwal & Singh 2017).

The learner is DP-FTRL. Its point at round t depends on the noise of prefix t - 1, whose deviation s is known: the
mechanism computes it. Where s varies, an adversary that knows only the mechanism adds to the regret in every block.

1. In the first c rounds the first expert has the loss 1, and the second one the loss 0. So the first is c behind.
2. The other rounds are in blocks of c, or of 2^20 if c is larger. In the louder half of a block, by s, the first expert
   has the loss 1, and in the quieter half the second one. Both halves are as long, so after each block the first expert
   is c behind again.

Let p(s) be the mean weight of the second expert when it leads by about c. The noise hides the lead the more the larger
s is, so p falls in s. A quiet round costs p(s), and a loud one 1 - p(s). Two such rounds cost 1 + p(quiet) - p(loud),
and each expert only 1. So each pair of rounds adds p(quiet) - p(loud) > 0 to the regret, whatever T is. If all prefixes
have the same s, a pair adds nothing.

For Gaussian noise and a leader without regulariser p(s) = Φ(c/s), which differs most for a c near s. With a regulariser
the best c is larger. c is 1.4 times the deviation of the noise in the lead, root mean square over the prefixes, and at
most T/4, so that three quarters of the game remain. On the sphere, the cube and polytopes the two ends of the first
axis take the place of the two experts.
"""

import math
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.random import Generator
from pydantic import Field

from privbandits_cli.games import linear
from privbandits_cli.games.linear import Floats, Setting, loss_set, papers_delta
from privbandits_cli.games.parameters import Chance
from privbandits_cli.mechanisms import counters
from privbandits_cli.mechanisms.counter import Counter, Law

LONGEST = 2**20  # rounds that are held in memory at once
LEAD = 1.4  # deviations; against Honaker's tree at ε = 0.03, T = 2^20 the regret is 8 % less with 1, and with 1.8


class Parameters(linear.Adversary):
    """The mechanism that it plays against, in the words of `dp_ftrl`."""

    display = "Uneven noise"

    epsilon: float = Field(ge=1e-9, description="ε of the learner")
    nodes: Law = Field("laplace", description="the law of the learner's noise")
    delta: Chance | None = Field(None, description="δ of Gaussian noise; default T^-2")
    counter: counters.Name = Field("k_ary", description="what sums the losses for the learner")
    spare: counters.Spare = Field("fresh", description="top-up noise of a tree")

    def mechanism(self, setting: Setting) -> Counter:
        """The learner's counter, which releases the prefixes 1, ..., T - 1."""
        return counters.counter(self.counter, counters.last_prefix(setting.horizon), self.nodes, self.spare)

    def lead(self, setting: Setting) -> int:
        """c, an even number of rounds."""
        counter, losses = self.mechanism(setting), loss_set(setting)
        delta = (self.delta or papers_delta(setting)) if self.nodes == "gaussian" else None
        deviation = counter.scale(losses.changes(), self.epsilon, delta) * math.sqrt(counter.spread()[0])
        low, high = losses.swinging(np.array([-1.0, 1.0]))[:, :2] / 2
        deviation /= float(np.linalg.norm(high - low))  # a round moves the lead by 1, and the sum by high - low
        return 2 * max(1, math.floor(min(LEAD * deviation, setting.horizon / 4) / 2))

    def swings(self, setting: Setting) -> Iterator[Floats]:
        """1 in the first c rounds; then block by block 1 in loud and -1 in quiet rounds, up to the horizon."""
        counter, c, horizon = self.mechanism(setting), self.lead(setting), math.ceil(setting.horizon)
        for first in range(0, min(c, horizon), LONGEST):
            yield np.ones(min(LONGEST, min(c, horizon) - first))
        block = min(c, LONGEST)
        for first in range(c, horizon, block):  # the last prefix before the block
            variances = counter.variances(np.arange(first, min(first + block, horizon)))
            swing, half = np.zeros(len(variances)), len(variances) // 2
            order = np.argsort(variances, kind="stable")
            swing[order[:half]], swing[order[len(order) - half :]] = -1.0, 1.0
            yield swing

    def losses(self, setting: Setting, rng: Generator, blocks: Iterable[range]) -> Iterator[Floats]:
        ends, swings, ready = loss_set(setting), self.swings(setting), np.empty(0)
        for rounds in blocks:
            parts, many = [ready], len(ready)
            while many < len(rounds):
                parts.append(next(swings))
                many += len(parts[-1])
            ready = np.concatenate(parts)
            yield ends.swinging(ready[: len(rounds)])
            ready = ready[len(rounds) :]

    def errors(self, setting: Setting) -> Iterator[str]:
        yield from super().errors(setting)
        unfit = list(counters.law_errors(self.counter, self.nodes, self.spare, chosen=True))
        unfit += counters.errors(self.counter, None, setting.horizon)
        yield from unfit
        if self.nodes == "laplace" and self.delta is not None:
            yield "Laplace noise needs no delta: leave it out, or set nodes: gaussian"
        found = counters.class_of(self.counter, self.spare)
        if not unfit and found.steady:
            what = f"the noise of {found.title} has one law, or never becomes smaller"
            yield f"{what}: there is nothing to exploit; set counter: k_ary, honaker or smooth"
        if setting.n_arms < 2 and isinstance(setting.space, linear.Simplex):
            yield "uneven_noise needs two experts: set a dimension of at least 2"
