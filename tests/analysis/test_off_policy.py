"""Off-policy estimates: by hand in fractions, against Open Bandit Pipeline, on simulated logs, and their errors."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom
from scipy.stats import t as student

from privbandits_cli.analysis.off_policy import (
    FEW_ROWS,
    Log,
    check_policy,
    direct,
    doubly_robust,
    fitted,
    ips,
    on_policy,
    snips,
)
from privbandits_cli.analysis.simulated_logs import World, contextual_world, linear_world, logged, softmax
from privbandits_cli.games.bandit import Setting
from privbandits_cli.games.contextual import Contexts
from tests.conftest import foe, some

ALL = (ips, snips, direct, doubly_robust)


def new_log(features, actions, rewards, propensities, n_actions):
    """A log of lists or arrays."""
    columns = np.asarray(actions, np.int64), np.asarray(rewards, float), np.asarray(propensities, float)
    return Log(np.asarray(features, float), *columns, n_actions)


def fractions(rows):
    return [[Fraction(x) for x in row] for row in rows]


def floats(rows):
    return np.array([[float(x) for x in row] for row in rows])


# ------------------------------------------------------------------------------------------ by hand

# Five rows: x, action, reward, propensity; a policy; the predictions of a model of one's own.
ROWS = fractions([["1/2", 0, 1, "1/2"], [-1, 1, "1/4", "1/4"], [2, 0, 0, "3/4"], [1, 1, 1, "2/5"], [0, 0, "1/2", 1]])
POLICY = fractions([["1/4", "3/4"], ["1/2", "1/2"], [1, 0], ["1/5", "4/5"], ["2/3", "1/3"]])
OWN = fractions([["1/2", "1/3"], [0, 1], ["1/4", "1/2"], ["3/4", "1/5"], ["1/2", 0]])


def log_of(rows, features=None):
    x, actions, rewards, propensities = floats(rows).T
    return new_log(x[:, None] if features is None else floats_3(features), actions, rewards, propensities, 2)


def floats_3(features):
    return np.array([floats(row) for row in features])


def deciding(terms):
    """How many rows the error of these terms rests on."""
    squares = [(term - sum(terms) / len(terms)) ** 2 for term in terms]
    return sum(squares) ** 2 / sum(x * x for x in squares) if any(squares) else 0


def snips_by_hand(rows, policy):
    """Value and terms."""
    w = weights_of(rows, policy)
    value = sum(weight * row[2] for weight, row in zip(w, rows, strict=True)) / sum(w)
    return value, [weight * (row[2] - value) * len(w) / sum(w) for weight, row in zip(w, rows, strict=True)]


def close(found, value, terms, rows=ROWS, policy=POLICY, both=None):
    """Whether an estimate has this value, the error of these terms, and the weights of this log.

    both: other terms, on which the error rests, too.
    """
    n, mean = len(terms), sum(terms) / len(terms)
    error = math.sqrt(sum((term - mean) ** 2 for term in terms) / (n - 1) / n)
    w = weights_of(rows, policy)
    half = student.ppf(0.975, n - 1) * error
    low, high = chernoff([float(x) for x in w], [float(row[2]) for row in rows])
    decide = min(map(deciding, [terms] if both is None else [terms, both]))
    assert decide < FEW_ROWS
    ends = min(value - half, low), max(value + half, high)
    expected = (value, *ends, error, sum(w) ** 2 / sum(x * x for x in w), max(w), sum(w) / n, decide)
    assert [*found] == pytest.approx([float(x) for x in expected], rel=1e-7, abs=1e-15)


def chernoff(weights, rewards, confidence=0.95):
    """All q with n kl(mean of w r / M, q / M) <= ln(4 / (1 - confidence)), by bisection; of 1 - r if it is rarer."""
    n, most = len(weights), max(1, *weights)
    earned, missed = (
        sum(w * r for w, r in zip(weights, each, strict=True)) / n for each in (rewards, [1 - r for r in rewards])
    )
    x, bound = min(earned, missed) / most, math.log(4 / (1 - confidence)) / n

    def reached(q):
        return sum(a * math.log(a / b) for a, b in ((x, q), (1 - x, 1 - q)) if a) - bound

    low = most * brentq(reached, 1e-300, x, xtol=1e-15) if x > 0 else 0.0
    high = most * brentq(reached, x or 1e-300, 1 - 1e-15, xtol=1e-15) if reached(1 - 1e-15) > 0 else most
    low, high = min(low, 1), min(high, 1)
    return (low, high) if earned <= missed else (1 - high, 1 - low)


def weights_of(rows, policy):
    return [probabilities[int(a)] / p for (_, a, _, p), probabilities in zip(rows, policy, strict=True)]


def expected_of(policy, predictions):
    return [sum(p * q for p, q in zip(*row, strict=True)) for row in zip(policy, predictions, strict=True)]


def solved(matrix, right):
    """The solution of linear equations in fractions, by elimination."""
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for j in range(len(rows)):
        pivot = next(i for i in range(j, len(rows)) if rows[i][j])
        rows[j], rows[pivot] = rows[pivot], rows[j]
        rows[j] = [x / rows[j][j] for x in rows[j]]
        for i in range(len(rows)):
            if i != j:
                rows[i] = [x - rows[i][j] * y for x, y in zip(rows[i], rows[j], strict=True)]
    return [row[-1] for row in rows]


def dot(x, y):
    return sum(a * b for a, b in zip(x, y, strict=True))


def least_squares(rows, policy, features):
    """Predictions and influences by the formula, with dense features of every action, `[n][K][p]`."""
    n, size = len(rows), len(features[0][0])
    played = [features[i][int(a)] for i, (_, a, _, _) in enumerate(rows)]
    gram = [[sum(phi[i] * phi[j] for phi in played) / n for j in range(size)] for i in range(size)]
    theta = solved(gram, [sum(phi[i] * row[2] for phi, row in zip(played, rows, strict=True)) / n for i in range(size)])
    pairs = [pair for row in zip(policy, features, strict=True) for pair in zip(*row, strict=True)]
    g = [sum(p * phi[i] for p, phi in pairs) / n for i in range(size)]
    pull = solved(gram, g)
    influence = [dot(pull, phi) * (row[2] - dot(phi, theta)) for phi, row in zip(played, rows, strict=True)]
    return [[dot(phi, theta) for phi in row] for row in features], influence


def test_weighted_estimates_by_hand():
    log, policy, w = log_of(ROWS), floats(POLICY), weights_of(ROWS, POLICY)
    assert w == fractions([["1/2", 2, "4/3", 2, "2/3"]])[0]
    terms = [weight * row[2] for weight, row in zip(w, ROWS, strict=True)]
    assert sum(terms) == Fraction(10, 3)  # 1/2 + 1/2 + 0 + 2 + 1/3
    close(ips(log, policy), Fraction(2, 3), terms)
    value = Fraction(10, 3) / Fraction(13, 2)
    close(snips(log, policy), value, [x * (row[2] - value) / Fraction(13, 10) for x, row in zip(w, ROWS, strict=True)])


def test_estimates_with_a_model_of_ones_own_by_hand():
    log, policy, own, expected = log_of(ROWS), floats(POLICY), floats(OWN), expected_of(POLICY, OWN)
    close(direct(log, policy, own), sum(expected) / 5, expected)
    corrections = [w * (row[2] - q[int(row[1])]) for w, row, q in zip(weights_of(ROWS, POLICY), ROWS, OWN, strict=True)]
    terms = [x + y for x, y in zip(expected, corrections, strict=True)]
    close(doubly_robust(log, policy, own), sum(terms) / 5, terms, both=snips_by_hand(ROWS, POLICY)[1])


def check_linear(rows, policy, features, log):
    predictions, influence = least_squares(rows, policy, features)
    expected = expected_of(policy, predictions)
    assert sum(influence) == 0
    terms = [x + y for x, y in zip(expected, influence, strict=True)]
    close(direct(log, floats(policy)), sum(expected) / len(rows), terms, rows, policy)
    weights = weights_of(rows, policy)
    residuals = [row[2] - q[int(row[1])] for row, q in zip(rows, predictions, strict=True)]
    terms = [x + w * y for x, w, y in zip(expected, weights, residuals, strict=True)]
    both = snips_by_hand(rows, policy)[1]
    close(doubly_robust(log, floats(policy)), sum(terms) / len(rows), terms, rows, policy, both)


def test_a_linear_model_that_actions_share_by_hand():
    features = [fractions([[1, x], [x, x * x + 1]]) for x, *_ in ROWS]
    check_linear(ROWS, POLICY, features, log_of(ROWS, features))


SIX = [*ROWS, fractions([[3, 1, "1/3", "1/5"]])[0]]  # three rows for each action


@pytest.mark.parametrize("policy", [[*POLICY, POLICY[0]], fractions([[1, 0]] * 6)], ids=["mixed", "action 0"])
def test_a_linear_model_per_action_by_hand(policy):
    """It is the shared one with the features e_a ⊗ (1, x), whether or not all actions are fitted."""
    check_linear(SIX, policy, [fractions([[1, x, 0, 0], [0, 0, 1, x]]) for x, *_ in SIX], log_of(SIX))


def test_an_action_that_the_policy_never_plays_needs_no_model():
    """Action 1 has two rows in the log, too few for two coefficients."""
    predictions, influence = fitted(log_of(ROWS), floats([[1, 0]] * 5))
    assert not predictions[:, 1].any() and not influence[[1, 3]].any() and influence[[0, 2, 4]].all()


def test_columns_that_are_nearly_collinear_are_fitted():
    """The powers of a year, in which the rewards are linear; of the cube only 1e-7 is not in the other powers."""
    years = np.arange(1990.0, 2024.0)
    rewards = 3 + 0.002 * (years - 2000) ** 2 + 0.0001 * (years - 2000) ** 3
    log = new_log(np.column_stack([years, years**2, years**3]), years % 2, rewards, np.full(34, 0.5), 2)
    predictions, _ = fitted(log, np.full((34, 2), 0.5))
    assert predictions == pytest.approx(np.column_stack([rewards, rewards]), rel=1e-7)


@pytest.mark.parametrize("estimator", [direct, doubly_robust])
def test_a_feature_that_follows_from_others_changes_nothing(estimator):
    """A constant, a copy, a sum; and one that only in the rows of action 0 is a copy."""
    rng = np.random.default_rng(5)
    x, actions, rewards = rng.random((60, 2)), np.arange(60) % 2, rng.random(60)
    policy = np.column_stack([x[:, 0], 1 - x[:, 0]])
    plain = estimator(new_log(x, actions, rewards, np.full(60, 0.5), 2), policy)
    more = np.column_stack([x[:, 0], np.ones(60), x[:, 1], 2 * x[:, 1], x.sum(axis=1)])
    assert estimator(new_log(more, actions, rewards, np.full(60, 0.5), 2), policy) == pytest.approx(plain, rel=1e-12)
    partly = np.column_stack([x, np.where(actions == 0, x[:, 0], rng.random(60))])
    other = estimator(new_log(partly, actions, rewards, np.full(60, 0.5), 2), policy)
    assert math.isfinite(other.value) and abs(other.value - plain.value) > 1e-6


def test_no_weight_is_clipped():
    log = new_log(np.zeros((3, 0)), [0, 0, 1], [1.0, 0.0, 1.0], [1e-6, 0.5, 0.5], 2)
    found = ips(log, np.full((3, 2), 0.5))
    assert found.largest_weight == 0.5 / 1e-6 and found.value == pytest.approx((5e5 + 1) / 3)
    assert found.effective == pytest.approx(1, rel=1e-5) and found.low < 0 and found.high > 8e5


def test_the_confidence_sets_the_width():
    log, policy = log_of(ROWS), floats(POLICY)
    for estimator in (ips, snips):
        wide, narrow = estimator(log, policy), estimator(log, policy, confidence=0.5)
        assert (wide.value, wide.error) == (narrow.value, narrow.error)
        w = [float(x) for x in weights_of(ROWS, POLICY)]
        bounds = chernoff(w, [float(row[2]) for row in ROWS], confidence=0.5)
        assert narrow.high == pytest.approx(max(narrow.value + student.ppf(0.75, 4) * narrow.error, bounds[1]))
        assert narrow.low == pytest.approx(min(narrow.value - student.ppf(0.75, 4) * narrow.error, bounds[0]))


def test_one_row_has_no_finite_interval():
    log = new_log([[1.0]], [0], [1.0], [0.5], 2)
    found = direct(log, np.array([[0.5, 0.5]]), np.array([[0.2, 0.4]]))
    assert found.value == pytest.approx(0.3) and (found.low, found.high) == (-math.inf, math.inf)


# ------------------------------------------------------------------------------------------ Open Bandit Pipeline


def test_estimates_are_those_of_open_bandit_pipeline():
    """obp 0.4.1 on the same log; `RegressionModel` with scikit-learn's `LinearRegression` is the linear model."""
    i = np.arange(24)
    x = np.column_stack([(7 * i % 11) / 11, (5 * i % 13) / 13])
    actions, rewards, propensities = (i * i // 2 + i // 3) % 3, (3 * i % 7) / 7, (1 + 4 * i % 9) / 10
    policy = np.column_stack([1 + i % 2, 2 + i % 3, np.full(24, 3)]).astype(float)
    policy /= policy.sum(axis=1, keepdims=True)
    own = ((i[:, None] * (2 + np.arange(3))) % 5) / 5
    log = new_log(x, actions, rewards, propensities, 3)
    # its default features are x and the action's indicators, with an intercept
    indicators = np.broadcast_to(np.eye(3), (24, 3, 3))
    additive = log._replace(features=np.concatenate([np.repeat(x[:, None], 3, axis=1), indicators], axis=2))
    assert ips(log, policy).value == pytest.approx(0.42733172413586246, abs=1e-9)
    assert snips(log, policy).value == pytest.approx(0.4490591924165877, abs=1e-9)
    for given, predictions, dm, dr in (
        (log, own, 0.39804894179894185, 0.41622796164321113),
        (additive, None, 0.44004620179950554, 0.4341213025219251),
        (log, None, 0.41529833610610806, 0.4078503775365962),  # with the features e_a ⊗ (1, x)
    ):
        assert direct(given, policy, predictions).value == pytest.approx(dm, abs=1e-9)
        assert doubly_robust(given, policy, predictions).value == pytest.approx(dr, abs=1e-9)


# ------------------------------------------------------------------------------------------ rare rewards


def of_ones(ones, n):
    """The log of n rows of one action, of which so many have the reward 1."""
    return new_log(np.zeros((n, 1)), np.zeros(n), (np.arange(n) < ones) * 1.0, np.ones(n), 1)


@pytest.mark.parametrize("n", [20, pytest.param(300, marks=pytest.mark.slow)])
def test_the_interval_of_a_mean_holds_it_whatever_it_is(n):
    """The exact probability over all numbers of ones; that of Student's t goes down to 0."""
    found = [on_policy(of_ones(ones, n)) for ones in range(n + 1)]
    for p in np.exp(np.linspace(math.log(0.1 / n), math.log(0.5), 60)):
        for share in (p, 1 - p):
            held = [one.low <= share <= one.high for one in found]
            assert binom.pmf(np.arange(n + 1), n, share)[held].sum() > 0.93
    normal = [abs(one.value - 0.1 / n) <= student.ppf(0.975, n - 1) * one.error for one in found]
    assert binom.pmf(np.arange(n + 1), n, 0.1 / n)[normal].sum() < 0.2


def test_of_rewards_that_were_never_seen_the_interval_is_clopper_and_pearsons():
    for n in (10, 300):
        most = 1 - 0.025 ** (1 / n)
        none, every = on_policy(of_ones(0, n)), on_policy(of_ones(n, n))
        assert (none.value, none.low, none.error, none.error_rows) == (0, 0, 0, 0)
        assert none.high == pytest.approx(most, rel=1e-9)
        assert (every.low, every.high) == pytest.approx((1 - most, 1), rel=1e-9)


@pytest.mark.parametrize("reward", [0.0, 1.0, 0.3])
def test_no_interval_has_the_width_0(reward):
    """Equal rewards have no standard error, nor have equal predictions."""
    n = 60
    log = new_log(np.arange(n)[:, None] % 7, np.arange(n) % 2, np.full(n, reward), np.full(n, 0.5), 2)
    for policy in (np.full((n, 2), 0.5), np.tile([0.0, 1.0], (n, 1))):
        for estimator in ALL:
            for given in ((), (np.full((n, 2), 0.3),))[: 1 + (estimator in (direct, doubly_robust))]:
                one = estimator(log, policy, *given)
                assert one.high - one.low > 0.05 and one.low <= one.value <= one.high, (estimator, given)
                assert (estimator is direct and given) or one.low - 1e-12 <= reward <= one.high + 1e-12


def test_rare_weighted_rewards_are_in_their_intervals():
    """Of 250 logs of 200 rows with one reward expected, each interval holds the value in 95 % or more.

    The mean reward of action a is 0.005 (1 ± x/2) at x in [-1, 1]; the policy plays the better action, whose mean is
    0.005 x 1.25. The log prefers the other one, so that weights go up to 10, and a model's predictions vary with x.
    """
    rng, n, logs, value = np.random.default_rng(1), 200, 250, 0.005 * 1.25
    held, normal = dict.fromkeys(ALL, 0), dict.fromkeys(ALL, 0)
    for _ in range(logs):
        x = rng.uniform(-1, 1, n)
        first = np.clip(0.5 - 0.4 * x, 0.1, 0.9)
        actions = (rng.random(n) > first).astype(int)
        rewards = (rng.random(n) < 0.005 * (1 + 0.5 * x * (1 - 2 * actions))) * 1.0
        log = new_log(x[:, None], actions, rewards, np.where(actions == 0, first, 1 - first), 2)
        for estimator in ALL:
            one = estimator(log, np.eye(2)[(x <= 0).astype(int)])
            held[estimator] += one.low <= value <= one.high
            normal[estimator] += abs(one.value - value) <= student.ppf(0.975, n - 1) * one.error
    assert min(held.values()) > 0.95 * logs and max(normal.values()) < 0.6 * logs


def test_many_rows_that_differ_need_no_bound():
    log, policy = simulated("bernoulli", 500, 0)
    for estimator in ALL:
        one = estimator(log, policy)
        assert one.error_rows > FEW_ROWS
        half = student.ppf(0.975, 499) * one.error
        assert (one.low, one.high) == pytest.approx((one.value - half, one.value + half), rel=1e-12)


# ------------------------------------------------------------------------------------------ simulated logs

THETA = np.array([[0.5, 0.2, -0.1], [0.45, -0.2, 0.2], [0.4, 0.1, 0.15]])
TRUTH = 0.2 * 0.45 + 0.8 * (0.5 * (0.5 + 0.2 / 2) + 0.5 * (0.45 + 0.2 / 2))  # E[x1 | x1 > 0] = 1/2


def target(x):
    """The policy that plays action 0 for x1 > 0, else action 1, and a uniform one with probability 1/5."""
    return 0.8 * np.eye(3)[np.where(x[:, 0] > 0, 0, 1)] + 0.2 / 3


def simulated(law, rows, trial):
    world = linear_world(THETA, rows, 1, trial, law)
    return logged(world, softmax(world.means, 0.1, 0.2), 1, trial), target(world.features)


def coverages(law, rows, logs):
    """Shares of logs whose intervals hold the true value; of direct also without the model's error."""
    held = {}
    for trial in range(logs):
        log, policy = simulated(law, rows, trial)
        found = {estimator.__name__: estimator(log, policy) for estimator in ALL}
        found["model held fixed"] = direct(log, policy, fitted(log, policy)[0])
        for name, one in found.items():
            held.setdefault(name, []).append(abs(one.value - TRUTH) <= one.high - one.value)
            held.setdefault(f"{name}, z = 1.5", []).append(abs(one.value - TRUTH) <= 1.5 * one.error)
    return {name: np.mean(each) for name, each in held.items()}


@pytest.mark.parametrize("logs", some([400, 1000], 400))
@pytest.mark.parametrize("law", some(["bernoulli", "gaussian"], "bernoulli"))
def test_intervals_hold_the_value(law, logs):
    """Of the logs, 95 % do up to 3 standard deviations of a binomial share; shorter intervals are found out."""
    found = coverages(law, 500, logs)
    within = 3 * math.sqrt(0.95 * 0.05 / logs)
    for estimator in ALL:
        assert abs(found[estimator.__name__] - 0.95) < within, (estimator.__name__, found)
        assert found[f"{estimator.__name__}, z = 1.5"] < 0.95 - within
    assert found["model held fixed"] < 0.5


def test_estimates_approach_the_value():
    """Their standardised errors on a log of many rows; a policy that is wrong by 0.1 is found out."""
    log, policy = simulated("bernoulli", 40_000, 0)
    for estimator in ALL:
        found = estimator(log, policy)
        assert abs(found.value - TRUTH) < 4 * found.error < 0.1 and abs(found.mean_weight - 1) < 0.05
        assert abs(estimator(log, np.roll(policy, 1, axis=1)).value - TRUTH) > 4 * found.error


@pytest.mark.slow
def test_the_arms_of_a_game_are_features_of_actions():
    """θ is the same in all rounds of a trial: the first rounds are logged, and all rounds tell the value."""
    setting = Setting(30_000, 6, contexts=Contexts(4))
    world = contextual_world(foe("sphere_arms"), setting, 30_000, 1, 0)
    first = World(world.features[:2000], world.means[:2000], world.law)
    assert first.features.shape == (2000, 6, 4) and world.law == "signs"
    policy = softmax(world.means, 0.3, 0.1)
    log = logged(first, softmax(first.means, 2.0, 0.2), 1, 0)
    value = (policy * world.means).sum(axis=1).mean()
    for estimator in ALL:
        found = estimator(log, policy[:2000])
        assert abs(found.value - value) < 4 * found.error < 0.3
    predictions, _ = fitted(log, policy[:2000])
    assert (
        np.abs(predictions - first.means).max() < 5 * math.sqrt(4 / 2000) * 2
    )  # |θ^ - θ| <= 5 sd, coordinates of 1/√4


def test_a_log_has_the_law_of_its_policy():
    """Shares of actions and rewards within 5 standard deviations; propensities are the policy's own."""
    n = 20_000
    world = linear_world(np.array([[0.2, 0.0], [0.7, 0.0], [0.5, 0.0]]), n, 3, 0, "bernoulli")
    logging = softmax(world.means, 0.5, 0.3)
    log = logged(world, logging, 3, 0)
    powers = np.exp(world.means / 0.5)
    assert logging == pytest.approx(0.7 * powers / powers.sum(axis=1, keepdims=True) + 0.1, rel=1e-12)
    assert (log.propensities == logging[np.arange(n), log.actions]).all()
    for action in range(3):
        mine, p, mean = log.actions == action, logging[0, action], world.means[0, action]
        assert abs(mine.mean() - p) < 5 * math.sqrt(p * (1 - p) / n)
        assert abs(log.rewards[mine].mean() - mean) < 5 * math.sqrt(mean * (1 - mean) / mine.sum())


def test_logs_are_reproducible():
    one, again, other = (simulated("gaussian", 50, trial)[0] for trial in (0, 0, 1))
    assert all((x == y).all() for x, y in zip(one[:4], again[:4], strict=True))
    assert (one.features != other.features).all() and (one.rewards != other.rewards).all()


# ------------------------------------------------------------------------------------------ errors

GOOD = {
    "features": [[0.0], [1.0], [2.0]],
    "actions": [0, 1, 0],
    "rewards": [1.0, 0.0, 1.0],
    "propensities": [0.5, 1, 1],
}


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ([[1, 0], [0.5, 0.4], [1, 0]], "row 2: the policy's probabilities add up to 0.9, not to 1"),
        ([[1, 0], [1.5, -0.5], [1, 0]], "row 2: the policy has a number that is no probability"),
        ([[1, 0], [1, 0], [math.nan, 1]], "row 3: the policy has a number that is no probability"),
        ([[1, 0, 0]] * 3, "the policy has shape (3, 3), but needs a probability for each row and action, (3, 2)"),
    ],
)
def test_wrong_policies(policy, message):
    with pytest.raises(ValueError) as raised:
        check_policy(np.array(policy, float), (3, 2))
    assert str(raised.value) == message


@pytest.mark.parametrize("estimator", [ips, snips, doubly_robust])
def test_a_policy_that_the_log_says_nothing_of(estimator):
    with pytest.raises(ValueError, match="the policy may play the logged action in 1 of 3 rows, but 2 are needed"):
        estimator(new_log(**GOOD, n_actions=2), np.array([[0.0, 1.0]] * 3))


@pytest.mark.parametrize("estimator", [direct, doubly_robust])
def test_wrong_models(estimator):
    rows, even = log_of(ROWS), floats(POLICY)
    never = new_log([[0.0], [1.0], [3.0]], [0, 0, 0], [1.0, 0.0, 1.0], [1.0] * 3, 2)
    few = new_log([[row] * 2 for row in np.eye(3)], [0, 1, 0], [1.0] * 3, [1.0] * 3, 2)
    half = np.full((3, 2), 0.5)
    for log, policy, predictions, message in (
        (rows, even, None, "action 1 (which the policy plays) has 2 rows: too few to fit 2 coefficients; use fewer"),
        (never, half, None, "action 1 (which the policy plays) has 0 rows: too few to fit 2 coefficients"),
        (few, half, None, "the log has 3 rows: too few to fit 3 coefficients"),
        (rows, even, np.zeros((5, 3)), "predictions have shape (5, 3), but the policy has (5, 2)"),
        (rows, even, np.full((5, 2), math.nan), "row 1: a prediction is not a finite number"),
    ):
        with pytest.raises(ValueError) as raised:
            estimator(log, policy, predictions)
        assert str(raised.value).startswith(message), raised.value


def test_wrong_confidences_and_worlds():
    with pytest.raises(ValueError, match="the confidence is 95, but must lie between 0 and 1"):
        ips(log_of(ROWS), floats(POLICY), confidence=95)
    world = World(np.zeros((2, 1)), np.array([[0.5, 0.5], [0.5, 1.5]]), "bernoulli")
    with pytest.raises(ValueError, match="row 2: bernoulli rewards cannot have the means"):
        logged(world, np.full((2, 2), 0.5), 1, 0)
    with pytest.raises(ValueError, match=r"row 1: the policy's probabilities add up to 0\.8"):
        logged(world, np.full((2, 2), 0.4), 1, 0)
