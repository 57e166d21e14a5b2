"""What it costs to mistake one arm for another: divergences of noisy means, and the costs of two arms together.

An arm's mean is x. To believe that it is y costs n d+(x, y) if y is above x, and n d-(x, y) if y is below x, where n is
the number of its plays. Two arms change places if both have one mean y, so that costs the least of both costs over y.

- `private_transport`: d+ = d_ε of `numerics.kl`, and d-(x, y) = d_ε(1 - x, 1 - y). ε = infinity is no privacy, with
  d+ = d- = kl (Jourdan & Azize 2025).
- `noisy_transport`: D of `noisy_kl`, which counts the Laplace numbers in a noisy mean (ours, docs/privacy/best_arm.md).

All functions are plain Python, which steps and loops compile. Domain: means in [0, 1], plays n > 0, ε > 0. Units: nats.
"""

import math

import numpy as np

from privbandits_cli.numerics.jit import once
from privbandits_cli.numerics.kl import kl, private_kl
from privbandits_cli.numerics.logarithm import logarithm

LARGE = 40.0  # the largest tilt λ; a larger one changes a divergence by rounding only
HALVINGS = 50  # of an interval, at most
CLOSE = 1e-8  # relative error of where a function has its end; that of the function is about its square


def d_plus(x: float, y: float, epsilon: float) -> float:
    """d+_ε(x, y), the cost of one play of an arm with mean x if its mean is to be y > x; 0 for y <= x."""
    if y <= x:
        return 0.0
    return kl(x, y) if epsilon == math.inf else private_kl(x, y, epsilon)


def d_minus(x: float, y: float, epsilon: float) -> float:
    """d-_ε(x, y) = d+_ε(1 - x, 1 - y), the same for y < x; 0 for y >= x."""
    return d_plus(1.0 - x, 1.0 - y, epsilon)


def edge_of(x: float, small: float) -> float:
    """The y up to which d+_ε(x, y) is kl(x, y), and 0 at x = 0; small: e^-ε. Domain: ε < infinity."""
    return np.divide(x, x + (1.0 - x) * small) if x > 0.0 else 0.0


@once
def transport(up: float, low: float, n: float, m: float) -> float:
    """The least n kl(up, y) + m kl(low, y) over y: the arms' n and m plays at means up > low; 0 for up <= low."""
    if up <= low:
        return 0.0
    y = min(up, max(low, (n * up + m * low) / (n + m)))
    return n * kl(up, y) + m * kl(low, y)


@once
def private_transport(up: float, low: float, n: float, m: float, epsilon: float) -> float:
    """The least n d-_ε(up, y) + m d+_ε(low, y) over y, in closed form (ours); 0 for up <= low."""
    if up <= low:
        return 0.0
    if epsilon == math.inf:
        return transport(up, low, n, m)
    small, kappa = math.exp(-epsilon), -math.expm1(-epsilon)
    ours, theirs = edge_of(low, small), edge_of(1.0 - up, small)
    y = meeting_of(up, low, n, m, ours, theirs, kappa)
    return n * divergence(1.0 - up, 1.0 - y, theirs, epsilon, kappa) + m * divergence(low, y, ours, epsilon, kappa)


def divergence(x: float, y: float, edge: float, epsilon: float, kappa: float) -> float:
    """d+_ε(x, y), if the edge of x and κ are known."""
    if y <= x:
        return 0.0
    if y >= 1.0:
        return epsilon * (1.0 - x)
    return kl(x, y) if y <= edge else max(0.0, -math.log1p(-kappa * y) - epsilon * x)


def meeting_of(up: float, low: float, n: float, m: float, ours: float, theirs: float, kappa: float) -> float:
    """The y at which `private_transport` has its minimum, with the edges of both arms. Domain: up > low, ε < infinity.

    d+ has a slope in y of (y - x)/(y (1 - y)) up to the edge of x, and beyond it the smaller one κ/(1 - κy), with
    κ = 1 - e^-ε. They agree at the edge. At the minimum, n times the slope of one arm is m times that of the other.
    With the slopes of kl this holds at the mean of all plays. If one arm alone is beyond its edge there, then so it is
    at the minimum. If both are, the y at which it holds with κ/(1 - κy) for both tells whether one of them is not.
    """
    y: float = np.divide(n * up + m * low, n + m)  # "/" would check for 0, which prevents vectors
    low_private, up_private = y > ours, 1.0 - y > theirs
    if low_private and up_private:
        y = np.divide(np.divide(n - m, kappa) + m, n + m)
        low_private, up_private = y > ours, 1.0 - y > theirs
    if low_private and not up_private:
        y = 1.0 - crossing(1.0 - up, m, n, kappa)
    if up_private and not low_private:
        y = crossing(low, n, m, kappa)
    return min(up, max(low, y))


def crossing(low: float, n: float, m: float, kappa: float) -> float:
    """The y of `meeting_of` if d+ is kl there and d- is beyond its edge.

    It is the positive root of κ(n + m) y² + (m(1 - κ - κ low) - nκ) y - m low (1 - κ).
    """
    square, rest = kappa * (n + m), m * low * (1.0 - kappa)
    middle = m * (1.0 - kappa - kappa * low) - n * kappa
    root = math.sqrt(middle * middle + 4.0 * square * rest)
    y: float = np.divide(2.0 * rest, middle + root) if middle > 0.0 else np.divide(root - middle, 2.0 * square)
    return y


# ------------------------------------------------------------------------------------------ in the steps of many trials

# The same costs for an algorithm that needs them in each round: the entropies of both means are known, and the
# logarithms are those of `numerics.logarithm`, which a compiler can vectorise.


def quick_transport(up: float, low: float, n: float, m: float, of_up: float, of_low: float) -> float:
    """`transport`, up to rounding, if the entropies of both means are known."""
    if up <= low:
        return 0.0
    y = np.divide(n * up + m * low, n + m)
    yes, no = logarithm(y), logarithm(1.0 - y)
    return n * kl_by(up, of_up, yes, no) + m * kl_by(low, of_low, yes, no)


def quick_private_transport(
    up: float, low: float, n: float, m: float, of_up: float, of_low: float, epsilon: float
) -> float:
    """`private_transport`, up to rounding, if the entropies of both means are known. Domain: ε < infinity."""
    if up <= low:
        return 0.0
    small, kappa = math.exp(-epsilon), -math.expm1(-epsilon)
    ours, theirs = edge_of(low, small), edge_of(1.0 - up, small)
    y = meeting_of(up, low, n, m, ours, theirs, kappa)
    yes, no = logarithm(y), logarithm(1.0 - y)
    own = kl_by(up, of_up, yes, no) if 1.0 - y <= theirs else beyond(1.0 - up, 1.0 - y, epsilon, kappa)
    other = kl_by(low, of_low, yes, no) if y <= ours else beyond(low, y, epsilon, kappa)
    return n * own + m * other


def kl_by(x: float, of_x: float, yes: float, no: float) -> float:
    """kl(x, y), if the entropy of x, ln y and ln(1 - y) are known."""
    return max(0.0, -of_x - x * yes - (1.0 - x) * no)


def beyond(x: float, y: float, epsilon: float, kappa: float) -> float:
    """d+_ε(x, y) beyond the edge of x, if κ is known."""
    return max(0.0, -logarithm(1.0 - kappa * y) - epsilon * x) if y < 1.0 else epsilon * (1.0 - x)


# ------------------------------------------------------------------------------------------ noise that counts


def tilt(x: float, y: float, share: float, epsilon: float) -> float:
    """The λ in [0, ε) at which -λx - ln(1 - y + y e^-λ) + share ln(1 - λ²/ε²) is largest. It is concave in λ.

    share: the number of Laplace numbers Lap(1/ε) for each play.
    """
    low, high = 0.0, min(epsilon, LARGE)
    rate = 0.5 * high
    for _ in range(HALVINGS):  # Newton's method, in an interval that is halved where a step would leave it
        weight = y * math.exp(-rate)
        whole, room = 1.0 - y + weight, (epsilon - rate) * (epsilon + rate)
        if room <= 0.0:
            high, rate = rate, 0.5 * (low + rate)
            continue
        gain = weight / whole - x - 2.0 * share * rate / room
        bend = weight * (1.0 - y) / (whole * whole) + 2.0 * share * (epsilon * epsilon + rate * rate) / (room * room)
        if gain > 0.0:
            low = rate
        else:
            high = rate
        before, middle = rate, 0.5 * (low + high)
        newton = before + gain / bend if bend > 0.0 else middle
        rate = newton if low < newton and newton < high else middle
        if abs(rate - before) <= CLOSE * before:
            break
    return rate


def noisy_kl(x: float, y: float, share: float, epsilon: float) -> float:
    """D(x, y), the largest -λx - ln(1 - y + y e^-λ) + share ln(1 - λ²/ε²) over 0 <= λ < ε; 0 for y <= x.

    With N plays, m = N share Laplace numbers and the mean y, the noisy mean is at most x with probability at most
    e^-ND. So D <= d+_ε, and D tends to d+_ε as share tends to 0. Domain: 0 <= share, ε < infinity.
    """
    if y <= x:
        return 0.0
    rate = tilt(x, y, share, epsilon)
    noise = share * math.log1p(-(rate / epsilon) * (rate / epsilon)) if share > 0.0 else 0.0
    return max(0.0, -rate * x - math.log1p(y * math.expm1(-rate)) + noise)


def noisy_steepness(x: float, y: float, share: float, epsilon: float) -> float:
    """The slope of D(x, y) in y, κ/(1 - κy) with κ = 1 - e^-λ; infinite at y = 1 if e^-λ is 0 in floats."""
    if y <= x:
        return 0.0
    rate = tilt(x, y, share, epsilon)
    rest = 1.0 - y + y * math.exp(-rate)
    return -math.expm1(-rate) / rest if rest > 0.0 else math.inf


@once
def noisy_transport(up: float, low: float, n: float, k: float, m: float, j: float, epsilon: float) -> float:
    """The least n D(1 - up, 1 - y) + m D(low, y) over y; 0 for up <= low.

    The upper arm has n plays and k Laplace numbers, the lower arm m plays and j Laplace numbers. The sum is convex.
    """
    if up <= low:
        return 0.0
    left, right = low, up
    for _ in range(HALVINGS):
        y = 0.5 * (left + right)
        if m * noisy_steepness(low, y, j / m, epsilon) < n * noisy_steepness(1.0 - up, 1.0 - y, k / n, epsilon):
            left = y
        else:
            right = y
        if right - left <= CLOSE * min(left, 1.0 - right):
            break
    y = 0.5 * (left + right)
    return n * noisy_kl(1.0 - up, 1.0 - y, k / n, epsilon) + m * noisy_kl(low, y, j / m, epsilon)
