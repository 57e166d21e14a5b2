"""The divergence kl of two Bernoulli laws, the divergence d_ε of private learning, and upper confidence bounds by both.

kl(x, y) = x ln(x/y) + (1 - x) ln((1 - x)/(1 - y)). d_ε(x, y) for x < y is the least of ε|z - x| + kl(z, y) over z
between them (Azize et al. 2025): it is kl(x, y) if ε >= ln(y (1 - x)/(x (1 - y))), and else
-ln(1 - y (1 - e^-ε)) - εx. For x >= y it is 0.

`reach` and `private_reach` find the largest q with d(x, q) <= cost. `chernoff_reach` finds an upper confidence bound q
that counts Laplace numbers. All three return -ln(1 - q), which distinguishes values near 1. All functions are compiled.
Domain: x and y in [0, 1], cost >= 0, 0 < ε < infinity.
"""

import math

LARGE = 40.0  # if -ln(1 - q) is at least this, ln q is 0 up to rounding


def clipped(x: float) -> float:
    """x, clipped to [0, 1]."""
    return min(1.0, max(0.0, x))


def entropy(x: float) -> float:
    """-x ln x - (1 - x) ln(1 - x)."""
    return 0.0 if x <= 0.0 or x >= 1.0 else -x * math.log(x) - (1.0 - x) * math.log(1.0 - x)


def kl(x: float, y: float) -> float:
    """The divergence kl(x, y); infinite if y is 0 or 1 and x is not."""
    if x == y:
        return 0.0
    if y <= 0.0 or y >= 1.0:
        return math.inf
    return max(0.0, -entropy(x) - x * math.log(y) - (1.0 - x) * math.log(1.0 - y))


def reach(x: float, cost: float) -> float:
    """-ln(1 - q) of the largest q with kl(x, q) <= cost."""
    return reach_of(x, entropy(x), cost)


def reach_of(x: float, entropy: float, cost: float) -> float:
    """`reach` for an x whose entropy is known.

    Newton's method for y = -ln(1 - q), in which kl is convex: from the second step on, y decreases to the solution. It
    starts from the solution up to order cost, or, for large costs, from a bound above it.
    """
    if x >= 1.0:
        return math.inf
    if x <= 0.0:
        return cost
    total, variance = cost + entropy, x * (1.0 - x)
    near = x + math.sqrt(2.0 * variance * cost) + 2.0 / 3.0 * (1.0 - 2.0 * x) * cost
    y = total / (1.0 - x)  # without x ln(1/q), which is at least 0
    if cost < 0.25 * variance and x < near < 1.0:
        y = -math.log(1.0 - near)
    if y >= LARGE:
        return y
    for _ in range(100):
        odds = math.expm1(y)  # q / (1 - q)
        slope = 1.0 - x * (odds + 1.0) / odds
        if slope <= 0.0:  # by rounding, at q = x
            break
        step = (y - x * math.log(odds) - total) / slope
        y -= step
        if abs(step) <= 1e-8 * y:  # the next one would be its square
            break
    return y


def private_kl(x: float, y: float, epsilon: float) -> float:
    """The divergence d_ε(x, y)."""
    if y <= x:
        return 0.0
    if y >= 1.0:
        return epsilon * (1.0 - x)
    if x > 0.0 and math.log(y) - math.log(1.0 - y) + math.log(1.0 - x) - math.log(x) <= epsilon:
        return kl(x, y)
    return max(0.0, -math.log1p(y * math.expm1(-epsilon)) - epsilon * x)


def private_reach(x: float, cost: float, epsilon: float) -> float:
    """-ln(1 - q) of the largest q with d_ε(x, q) <= cost; infinite from cost = ε(1 - x) on, where q is 1."""
    if x >= 1.0:
        return math.inf
    y = at_rate(cost + epsilon * x, epsilon)
    if y == math.inf:
        return y
    log_odds = math.log(math.expm1(y)) if y < LARGE else y  # the log odds of q
    if x > 0.0 and log_odds + math.log(1.0 - x) - math.log(x) <= epsilon:
        return reach(x, cost)
    return y


def chernoff_reach(x: float, cost: float, noises: float, epsilon: float) -> float:
    """-ln(1 - q) of the least q, over 0 < λ < ε, with -λx - ln(1 - q + q e^-λ) = cost - noises ln(1 - λ²/ε²).

    This is Chernoff's bound for the mean of Bernoulli numbers with Laplace noise of scale 1/ε; `noises`: how many
    Laplace numbers there are for each Bernoulli number. Every λ gives a valid q. The left side minus the right one is
    concave in λ, so q has a single minimum, which a ternary search over ln λ finds.
    """
    most = min(epsilon, LARGE)  # a larger λ changes q by rounding only, or enlarges it
    low, high = 0.0, 50.0  # the ends of the search for ln(most/λ)
    for _ in range(40):
        third = (high - low) / 3.0
        a, b = most * math.exp(-low - third), most * math.exp(third - high)
        if math.expm1(-laplace_cost(x, cost, noises, epsilon, a)) / math.expm1(-a) <= (
            math.expm1(-laplace_cost(x, cost, noises, epsilon, b)) / math.expm1(-b)
        ):
            high -= third
        else:
            low += third
    rate = most * math.exp(-0.5 * (low + high))
    return at_rate(laplace_cost(x, cost, noises, epsilon, rate), rate)


def laplace_cost(x: float, cost: float, noises: float, epsilon: float, rate: float) -> float:
    """cost + λx - noises ln(1 - λ²/ε²) at λ = rate."""
    return cost + rate * x - noises * math.log1p(-((rate / epsilon) ** 2))


def at_rate(spent: float, rate: float) -> float:
    """-ln(1 - q) of q = (1 - e^-spent)/(1 - e^-rate); infinite where q >= 1."""
    if spent >= rate:
        return math.inf
    q = math.expm1(-spent) / math.expm1(-rate)
    return -math.log1p(-q) if q < 0.5 else spent + math.log(math.expm1(-rate) / math.expm1(spent - rate))
