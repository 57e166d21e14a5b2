"""The optimal weights of the plays without privacy, fast enough for a step that needs them often.

For a level y let r_a be the weight at which N_l kl and N_a kl cost y together, with 1 for the best arm, and let x_a be
the mean that both arms then share. The optimal y is the root of Σ kl(μ*, x_a)/kl(μ_a, x_a) = 1, whose left side grows
with y (Garivier & Kaufmann 2016, Theorem 5). Domain: means in (0, 1), one best arm.
"""

from privbandits_cli.numerics.jit import once
from privbandits_cli.numerics.kl import kl
from privbandits_cli.numerics.types import Floats

HALVINGS = 50
NEWTON = 60
CLOSE = 1e-12


def ratio(top: float, low: float, level: float) -> float:
    """r_a, by Newton's method from 0: the cost is concave in r, so that no step goes beyond the root."""
    r = 0.0
    for _ in range(NEWTON):
        x = (top + r * low) / (1.0 + r)
        own = kl(low, x)
        if own <= 0.0:
            break
        step = (level - kl(top, x) - r * own) / own
        r += step
        if step <= CLOSE * r:
            break
    return r


@once
def fill_weights(means: Floats, best: int, out: Floats) -> float:
    """Set `out[arms]` to the optimal weights, and return the level y."""
    top, low, high = means[best], 0.0, 1e300
    for a in range(len(means)):
        if a != best:
            high = min(high, kl(top, means[a]))
    for _ in range(HALVINGS):
        level, total = 0.5 * (low + high), 0.0
        for a in range(len(means)):
            if a != best:
                r = ratio(top, means[a], level)
                x = (top + r * means[a]) / (1.0 + r)
                total += kl(top, x) / max(1e-300, kl(means[a], x))
        if total < 1.0:
            low = level
        else:
            high = level
    total = 1.0
    for a in range(len(means)):
        out[a] = 1.0 if a == best else ratio(top, means[a], low)
        total += 0.0 if a == best else out[a]
    for a in range(len(means)):
        out[a] /= total
    return low
