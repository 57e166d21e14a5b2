"""What the guarantee of a round says of a person who is in several rounds: by hand, by brute force, and attacked."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from privbandits_cli.accounting import gaussian, toeplitz, trees
from privbandits_cli.accounting.guarantee import Guarantee, group
from privbandits_cli.accounting.releases import Release
from privbandits_cli.convex.spaces import Simplex, Sphere
from privbandits_cli.games import bandit, linear
from privbandits_cli.games.players import Contexts, Setting, papers_delta
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.mechanisms import counters
from privbandits_cli.numerics.jit import without_jit
from privbandits_cli.plugins.registry import Registry
from tests.conftest import ROOT, make, some

GAME = Setting(2**12, 4)
BITS = {"report": "bernoulli", "epsilon": 0.5}


def people(rounds, setting=GAME):
    return setting._replace(rounds_per_person=rounds)


def normal_epsilon(mu, delta):
    """ε of a shift by μ deviations, from Φ and a root finder."""

    def excess(epsilon):
        return (
            stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu) - delta
        )

    return optimize.brentq(excess, 0, 50, xtol=1e-12)


# ------------------------------------------------------------------------------------------ group privacy


@pytest.mark.parametrize(("epsilon", "delta", "rounds"), [(0.5, 1e-3, 2), (0.2, 1e-4, 7), (1e-14, 1e-4, 5)])
def test_group_privacy_is_attained_by_a_chain_of_coins(epsilon, delta, rounds):
    """Coins with p_(i+1) = e^ε p_i + δ: neighbours are (ε, δ)-close, and the ends are just as far as the bound says."""
    chances = [1e-3]
    for _ in range(rounds):
        chances.append(math.exp(epsilon) * chances[-1] + delta)
    for p, q in itertools.pairwise(chances):
        both = [(p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p)]
        assert max(a - math.exp(epsilon) * b for a, b in both) <= delta * (1 + 1e-9)
    needed = chances[-1] - math.exp(rounds * epsilon) * chances[0]

    def profile(at):
        return Guarantee(epsilon, delta, "coins", "exact") if at >= delta else None

    found = group(profile, rounds, 1.01 * needed)
    assert found is not None and found.epsilon == rounds * epsilon and found.delta == 1.01 * needed
    assert found.status == "proved" and found.source.startswith("coins; by group privacy, from δ = ")
    assert group(profile, rounds, 0.99 * needed) is None


@pytest.mark.parametrize("rounds", [2, 4])
def test_group_privacy_never_says_less_than_a_gaussian_release_costs(rounds):
    """Known exactly: mμ. By groups the sum of δ' e^(iε) must be at most δ, and no larger δ' fits by one percent."""
    mu, delta = 0.4, 1e-6
    profile = lambda at: Guarantee(gaussian.epsilon_of(mu, at), at, "one number", "exact")  # noqa: E731
    found = group(profile, rounds, delta)
    epsilon = found.epsilon / rounds
    used = gaussian.delta_of(mu, epsilon)
    total = lambda own, at: at * sum(math.exp(i * own) for i in range(rounds))  # noqa: E731
    assert total(epsilon, used) <= delta
    assert total(gaussian.epsilon_of(mu, 1.01 * used), 1.01 * used) > delta * 0.999
    assert found.epsilon > normal_epsilon(rounds * mu, delta)


def test_without_a_bound_at_any_smaller_delta_nothing_is_said():
    assert group(lambda at: None, 2, 1e-6) is None
    assert group(lambda at: Guarantee(300.0, at, "x", "proved"), 4, 1e-6) is None
    assert group(lambda at: Guarantee(1.0, 0.0, "x", "proved"), 4, 1e-6) is None


# ------------------------------------------------------------------------------------------ releases


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.3), (0.2, 1.1), (2.0, 0.5)])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.4])
def test_one_laplace_number_reveals_more_than_two_that_share_its_move(a, b, epsilon):
    """By integration; the reverse is false, and two numbers that are each moved by all of a + b reveal more."""

    def delta(first, second):
        law = stats.laplace

        def inner(x):  # the δ of the second number, at the ε that the first leaves
            left = epsilon - (law.logpdf(x, first) - law.logpdf(x))
            if left >= second:
                return 0.0
            return (1 - math.exp((left - second) / 2) if left > -second else 1 - math.exp(left)) * law.pdf(x, first)

        points = sorted({0.0, first})
        return sum(integrate.quad(inner, *ends)[0] for ends in itertools.pairwise([-40.0, *points, 40.0]))

    one = 1 - math.exp((epsilon - a - b) / 2)
    assert 1e-3 < delta(a, b) < one < delta(a + b, a + b)


def nodes(n, k):
    """The leaves of each node with noise: leaf t closes one of k^j leaves, if k^j divides t."""
    return [(t - max(k**j for j in range(9) if t % k**j == 0) + 1, t) for t in range(1, n + 1)]


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("n", [1, 2, 5, 7, 8, 11])
def test_the_worst_leaves_of_a_tree_are_found(n, k):
    for items, squares in itertools.product((1, 2, 3, 4), (True, False)):
        chosen = itertools.combinations(range(1, n + 1), min(items, n))
        held = [[sum(a <= i <= b for i in some) for a, b in nodes(n, k)] for some in chosen]
        worst = max(math.hypot(*one) if squares else sum(one) for one in held)
        assert trees.held(n, k, items, squares=squares) == pytest.approx(worst, rel=1e-12)


def test_more_leaves_than_are_counted_have_an_upper_bound():
    n, items = 2**14 - 1, trees.MOST
    for squares in (True, False):
        exact, bound = (trees.held(n, 2, many, squares=squares) for many in (items, items + 1))
        assert exact < bound <= (items + 1) * trees.held(n, 2, 1, squares=squares) * (1 + 1e-12)


@pytest.mark.parametrize("name", ["square_root", "blt"])
@pytest.mark.parametrize("n", some([1, 2, 9, 13], 1, 2))
def test_the_worst_columns_of_a_factorisation_are_the_first(name, n):
    counter = counters.class_of(name)(n, "gaussian")
    c = toeplitz.square_root(n)
    if name == "blt":
        powers = (1 - counter.fitted.rates) ** np.arange(n - 1)[:, None]
        c = np.concatenate([[1.0], powers @ counter.fitted.weights()])
    matrix = np.array([[c[i - j] if i >= j else 0.0 for j in range(n)] for i in range(n)])
    for items in (1, 2, 3):
        chosen = itertools.combinations(range(n), min(items, n))
        worst = max(float(np.linalg.norm(matrix[:, list(some)].sum(axis=1))) for some in chosen)
        assert counter.together(items) == pytest.approx(worst, rel=1e-9)
    assert counter.together(1) == pytest.approx(counter.sensitivity(), rel=1e-12)


@pytest.mark.parametrize("name", ["tree", "honaker", "smooth", "k_ary", "square_root", "blt"])
def test_rounds_of_one_person_cost_more_than_of_several_and_at_most_m_times_as_much(name):
    counter = counters.counter(name, 63, "gaussian")
    for items in (2, 5, 30):
        factor = counter.growth(items)
        assert math.sqrt(items) < factor <= items * (1 + 1e-12)


@pytest.mark.parametrize(("name", "law"), [("honaker", "gaussian"), ("negative_digits", "laplace")])
def test_counters_of_which_nothing_better_is_proved_cost_m_times_as_much(name, law):
    """Their noise does not follow from the nodes that hold the rounds."""
    for rounds in (2, 30, 63):
        assert counters.counter(name, 63, law).growth(rounds) == pytest.approx(rounds, rel=1e-12)


# ------------------------------------------------------------------------------------------ three algorithms by hand


def test_a_gaussian_tree_by_hand():
    """T = 8 rounds release the prefixes 1, ..., 7; the nodes with noise are 1, 3, 5, 7, 1-2, 5-6 and 1-4.

    Round 1 is in three of them, so μ = √3 μ_node. A person in the rounds 1 and 2 moves node 1 by 1, and the nodes 1-2
    and 1-4 by 2: √(1 + 4 + 4) = 3. So the person's μ is √3 times that of a round, not twice.
    """
    given = {"nodes": "gaussian", "epsilon": 1.0, "delta": 1e-6, "spare": "none"}
    known = Setting(8, 2, space=Simplex(2))
    algorithm = make("dp_ftrl", **given).tuned(known)
    one = optimize.brentq(lambda mu: normal_epsilon(mu, 1e-6) - 1.0, 0.05, 1.0, xtol=1e-14)
    assert algorithm.guarantee(known).epsilon == pytest.approx(1.0, rel=1e-9)
    found = algorithm.promise(people(2, known))
    assert found.epsilon == pytest.approx(normal_epsilon(math.sqrt(3) * one, 1e-6), rel=1e-9)
    assert round(found.epsilon, 3) == 1.814 and found.unit == "one person, in at most 2 rounds"
    assert found.source.endswith("; the worst 2 rounds") and found.status == "proved"
    grouped = group(lambda at: algorithm.guarantee(known, at), 2, 1e-6)
    assert round(grouped.epsilon, 3) == 2.139  # by group privacy of (ε, δ), more than of μ
    assert found.epsilon < normal_epsilon(2 * one, 1e-6) == pytest.approx(2.1229, abs=5e-5)


def test_sums_of_disjoint_rounds_by_hand():
    """Three rounds of one person move one sum by 3, or three sums by 1 each: 3ε at δ = 0, whichever it is.

    With Gaussian noise one sum costs 3μ, three sums √3 μ: the worst allocation is the one of group privacy.
    """
    found = make("dp_klucb", epsilon=0.5).tuned(GAME).promise(people(3))
    assert (found.epsilon, found.delta) == (1.5, 0.0)
    delta, rho = papers_delta(GAME), 0.02
    best = make("adac_ucb", rho=rho).tuned(GAME).promise(people(3))
    assert best.epsilon == pytest.approx(normal_epsilon(3 * math.sqrt(2 * rho), delta), rel=1e-9)
    (converted,) = [b for b in make("adac_ucb", rho=rho).tuned(GAME).of_person(people(3), delta) if "zCDP" in b.source]
    assert converted.epsilon == pytest.approx(9 * rho + 2 * math.sqrt(9 * rho * math.log(1 / delta)), rel=1e-12)
    allocations = [(3,), (2, 1), (1, 1, 1)]
    assert [math.sqrt(sum(m * m for m in one)) for one in allocations] == sorted(
        (math.sqrt(sum(m * m for m in one)) for one in allocations), reverse=True
    )


def test_local_reports_by_hand():
    """m bits, each right with probability e^ε/(1 + e^ε): the number of right ones is binomial, and tells everything."""
    rounds, delta = 64, 1e-6
    algorithm = make("ldp_ucb", **BITS).tuned(GAME)
    p = math.exp(0.5) / (1 + math.exp(0.5))
    right = np.arange(rounds + 1)
    a, b = stats.binom.pmf(right, rounds, p), stats.binom.pmf(right, rounds, 1 - p)
    least = optimize.brentq(lambda e: np.maximum(a - math.exp(e) * b, 0).sum() - delta, 0.0, 32.0, xtol=1e-10)
    bounds = algorithm.of_person(people(rounds), delta)
    upper = [bound for bound in bounds if not bound.lower]
    assert sorted(round(bound.epsilon, 6) for bound in upper) == [round(least, 6), 32.0]
    assert max(bound.epsilon for bound in bounds if bound.lower and bound.delta) == pytest.approx(least, rel=1e-6)
    assert round(least, 2) == 24.1
    assert algorithm.promise(people(rounds)).epsilon == 32.0  # in a legend, which has δ = 0


def test_gaussian_reports_are_composed():
    """Each report has noise of its own: m of them have √m times the μ of one, not m times."""
    algorithm = make("rw_ftpl", epsilon=1.0, delta=1e-6)
    game = Setting(2**12, 10, space=Simplex(10))
    mu = gaussian.mu_of(1.0, 1e-6)
    for m in (1, 4, 64):
        promised = algorithm.tuned(game).promise(people(m, game), 1e-6)
        assert promised.epsilon == pytest.approx(normal_epsilon(math.sqrt(m) * mu, 1e-6), rel=1e-9)


def test_the_most_rounds_of_a_person_are_found():
    """One sum may hold all rounds, so ε = 1/m hides m; of Gaussian reports 1/μ² of the wanted μ; never beyond T."""
    game = Setting(100, 10, space=Simplex(10))
    for m in (1, 2, 3, 7, 64, 100):
        assert make("rnm_ftnl", epsilon=1 / m).people_at(game, 1.0, 1e-6) == m
    assert make("rnm_ftnl", epsilon=1 / 101).people_at(game, 1.0, 1e-6) == 100
    assert make("rnm_ftnl", epsilon=1.01).people_at(game, 1.0, 1e-6) is None
    wanted, own = (gaussian.mu_of(epsilon, 1e-6) for epsilon in (1.0, 0.2))
    found = make("rw_ftpl", epsilon=0.2, delta=1e-6).tuned(game).people_at(game, 1.0, 1e-6)
    assert found == math.floor((wanted / own) ** 2) > 1


def test_the_table_of_the_page_is_right():
    n, page = 2**16 - 1, (ROOT / "docs/privacy/people.md").read_text()
    laws = [("tree", "gaussian", "none"), ("square_root", "gaussian", "fresh"), ("blt", "gaussian", "fresh")]
    made = [counters.counter(name, n, law, spare) for name, law, spare in (*laws, ("tree", "laplace", "none"))]
    for m in (2, 4, 16, 64):
        assert f"| {m} | " + " | ".join(f"{counter.growth(m):#.4g}" for counter in made) + " |" in page
    assert counters.counter("tree", n, "gaussian").growth(16) == 16


# ------------------------------------------------------------------------------------------ all algorithms

SPACE = GAME._replace(space=Simplex(4))
PLANE = GAME._replace(contexts=Contexts(3, reward=1.0))
EVERY = [
    ("dp_se", {}, GAME),
    ("dp_ucb", {}, GAME),
    ("dp_ts", {}, GAME),
    ("adac_ucb", {}, GAME),
    ("exp3_tau", {"tau": 64}, GAME),
    ("dp_exp3_lap", {}, GAME),
    ("mini_batch", {"tau": 16, "base": make("dp_exp3_lap", epsilon=1.0)}, GAME),
    ("gaussian_ts", {}, GAME),
    ("dist_dp_se", {}, GAME),
    ("ldp_ucb", {}, GAME),
    ("ldp_ucb", BITS, GAME),
    ("rnm_ftnl", {}, SPACE),
    ("noisy_ftrl", {}, SPACE),
    ("dp_ftrl", {}, SPACE),
    ("dp_ftrl", {"counter": "negative_digits"}, SPACE),
    ("dp_ftrl", {"nodes": "gaussian", "counter": "honaker"}, SPACE),
    ("dp_ftpl", {}, SPACE),
    ("shrinking_dartboard", {}, SPACE),
    ("dp_linucb", {}, PLANE),
    ("ldp_linucb", {}, PLANE),
    ("adac_oful", {}, PLANE),
]


@pytest.mark.parametrize(("name", "given", "game"), EVERY, ids=str)
def test_a_person_costs_more_than_a_round_and_attacks_stay_below(name, given, game):
    algorithm = make(name, **given).tuned(game)
    one, delta = algorithm.guarantee(game), algorithm.stated_delta(game) or papers_delta(game)
    found = [algorithm.promise(people(rounds, game)) for rounds in (1, 2, 4)]
    assert found[0] == one
    assert one.epsilon < found[1].epsilon < found[2].epsilon
    assert [bound.delta for bound in found] == [one.delta] * 3
    for rounds in (2, 4):
        bounds = algorithm.of_person(people(rounds, game), delta)
        assert {bound.unit for bound in bounds} == {f"one person, in at most {rounds} rounds"}
        assert all(" of each round of one person replaced" in bound.neighbours for bound in bounds)
        upper = [bound for bound in bounds if not bound.lower and bound.status != "numeric"]
        for low in (bound for bound in bounds if bound.lower):
            assert low.epsilon <= min(
                (b.epsilon for b in upper if b.delta <= low.delta * (1 + 1e-12)), default=math.inf
            ) * (1 + 1e-9)
    pure = [b for b in algorithm.of_person(people(4, game), delta) if not b.lower and b.delta == 0]
    singles = [b for b in algorithm.bounds(game, delta) if not b.lower and b.delta == 0]
    assert all(b.epsilon <= 4 * a.epsilon * (1 + 1e-12) for a, b in zip(singles, pure, strict=True))


def test_an_attack_on_one_round_of_a_person_says_so():
    """Reports are attacked in all rounds of the person, and their lower bound grows; sums in one round only."""
    for name, given, alone in (("dp_klucb", {"epsilon": 0.5}, True), ("ldp_ucb", BITS, False)):
        algorithm = make(name, **given).tuned(GAME)
        one, four = ([b for b in algorithm.of_person(people(m), 1e-6) if b.lower] for m in (1, 4))
        assert [b.epsilon == a.epsilon for a, b in zip(one, four, strict=True)] == [alone, alone]
        said = [bound.source.endswith("; only one round of the person is attacked") for bound in (*one, *four)]
        assert said == [False, False, alone, alone]


NOISED = {"dp_exp2", "dp_exp3_lap", "dp_lambda_lap", "dp_reduction", "dp_scrible"}  # a number for each gain or loss
GAMES = {
    "bandit": GAME,
    "best_arm": GAME._replace(confidence=0.9),
    "contextual": GAME._replace(contexts=Contexts(3, reward=1.0, fixed=True)),
    "linear": GAME._replace(space=Sphere(4)),
}


def test_only_what_hides_one_round_by_itself_is_composed():
    """A number that holds several rounds may hold all of a person: only reports and single gains have fresh noise."""
    composed = {name: set[bool]() for name in dict(Registry().every("algorithms"))}
    for name, model in Registry().every("algorithms"):
        game = SPACE if name in ("rnm_ftnl", "shrinking_dartboard") else GAMES[model.game]
        for bound in make(name).tuned(game).bounds(game, 1e-6):
            if isinstance(bound.spent, Release) and not bound.lower:
                composed[name].add(bound.spent.fresh)
    local = {name for name, model in Registry().every("algorithms") if model.local}
    assert {name for name, fresh in composed.items() if True in fresh} == local | NOISED
    assert not any(fresh == {True, False} for fresh in composed.values())


@pytest.mark.slow
def test_where_nothing_is_known_at_a_smaller_delta_the_epsilon_of_a_person_is_infinite():
    algorithm = make("dp_linucb", noise="wishart", calibration="exact").tuned(PLANE)
    assert algorithm.guarantee(PLANE).epsilon < 4 and algorithm.guarantee(PLANE, 0.01) is None
    assert algorithm.promise(people(2, PLANE)).epsilon == math.inf


def test_a_block_may_hold_all_rounds_of_a_person():
    """In blocks of τ rounds a mean moves by up to m/τ, so noisy means are not composed as if each had one round."""
    base = make("dp_exp3_lap", epsilon=1.0)
    own, delta = base.tuned(GAME), 1e-3
    blocks = make("mini_batch", tau=16, base=base).tuned(GAME)
    composed = min(b.epsilon for b in own.of_person(people(64), delta) if not b.lower)
    merged = min(b.epsilon for b in blocks.of_person(people(64), delta) if not b.lower)
    assert composed < 64 * 1.0 * 0.8 and merged == pytest.approx(64 / 16)


# ------------------------------------------------------------------------------------------ attacks


def played(algorithm, setting):
    """Steps in plain Python and the first state, a new one at each call."""
    with without_jit():
        return steps(composition(algorithm)), algorithm.state(setting)[0]


def measured(hits, misses, runs):
    """A lower limit on ε at δ = 0 that holds with 99 %: ln of two Clopper-Pearson limits."""
    low = stats.beta.ppf(0.005, hits, runs - hits + 1)
    high = stats.beta.ppf(0.995, misses + 1, runs - misses)
    return math.log(low / high)


def noisy_sum(algorithm, setting, gains, rng):
    """The first noisy sum of arm 0, in which all of these gains are."""
    bound, state = played(algorithm, setting)
    for gain in gains:
        arm = bound["choose"](state, bandit.Draws(0.5, 0.0))
        assert arm == 0 and state.counts[0] == 0
        bound["update"](state, arm, gain, bandit.Draws(0.5, rng.laplace()))
    assert state.counts[0] == len(gains)
    return float(state.sums[0])


def test_an_attack_on_one_person_in_one_noisy_sum():
    """The person is in the rounds 1 to 4 of 8, all in the first sum of arm 0: gains 1 against 0, others ½."""
    algorithm, runs = make("dp_klucb", epsilon=0.5, first=4.0).tuned(GAME), 2000
    rng = np.random.default_rng(11)
    sums = {
        own: np.array([noisy_sum(algorithm, GAME, [own] * 4 + [0.5] * 4, rng) for _ in range(runs)])
        for own in (1.0, 0.0)
    }
    hits, misses = (int(np.sum(sums[own] > 6.0)) for own in (1.0, 0.0))  # 4 + 2: the middle of the first law
    seen = measured(hits, misses, runs)
    one, person = algorithm.guarantee(GAME).epsilon, algorithm.promise(people(4)).epsilon
    assert (one, person) == (0.5, 2.0)
    assert one < seen < person and seen > 1.5


def test_an_attack_on_one_person_with_several_local_reports():
    """Four reports of one person, all of them 1 or not: e^2 times as likely with gains 1 as with gains 0."""
    algorithm, runs = make("ldp_ucb", **BITS).tuned(GAME), 3000
    rng = np.random.default_rng(12)
    bound, state = played(algorithm, GAME)

    def all_ones(gain):
        reports = [bound["released"](state, gain, bandit.Draws(rng.random(), 0.0)) for _ in range(4)]
        return min(reports) > 0.5

    hits, misses = (sum(all_ones(gain) for _ in range(runs)) for gain in (1.0, 0.0))
    seen = measured(hits, misses, runs)
    one, person = algorithm.guarantee(GAME).epsilon, algorithm.promise(people(4)).epsilon
    assert one < seen < person == 2.0 and seen > 1.4


@pytest.mark.parametrize("rounds", [(1, 2), (1, 3), (1, 2, 3, 4)])
def test_an_attack_on_one_person_in_a_gaussian_tree(rounds):
    """Exactly: the code's noise is a matrix, and the person's losses move the prefixes along a known vector."""
    known = Setting(8, 2, space=Simplex(2))
    given = {"nodes": "gaussian", "epsilon": 1.0, "delta": 1e-6, "spare": "none"}
    algorithm = make("dp_ftrl", **given).tuned(known)
    wanted = algorithm.draws(known, np.arange(1, 9))["normal"]

    def prefixes(losses, normal):
        bound, state = played(algorithm, known)
        seen, at, x = [], 0, np.full(2, 0.5)
        for t in range(8):
            own = normal[at : at + wanted[t]]
            at += wanted[t]
            draws = linear.Draws(np.empty(0), np.empty(0), own)
            bound["choose"](state, x, draws)
            seen.append(state.wrapped.losses.copy())
            bound["update"](state, losses[t], draws)
        return np.concatenate(seen[1:])

    size, nothing = int(wanted.sum()), np.zeros((8, 2))
    noise = np.column_stack([prefixes(nothing, row) for row in np.eye(size)])
    losses = nothing.copy()
    losses[np.array(rounds) - 1] = 1.0
    moved = prefixes(losses, np.zeros(size))
    mu = math.sqrt(moved @ np.linalg.pinv(noise @ noise.T) @ moved)
    seen = normal_epsilon(mu, 1e-6)
    claim = algorithm.promise(people(len(rounds), known)).epsilon
    assert algorithm.guarantee(known).epsilon < seen <= claim * (1 + 1e-6)  # the claim of a round is refuted
    if rounds in ((1, 2), (1, 2, 3, 4)):
        assert seen == pytest.approx(claim, rel=1e-6)  # the worst rounds


def test_shares_of_a_release_of_several_rounds():
    """Fresh numbers are composed; others may be the same, and an attack on them claims one round only."""
    fresh, same = Release("laplace", 0.5, fresh=True), Release("laplace", 0.5)
    assert fresh.of_person(64, 0.0) == same.of_person(64, 0.0) == 32.0
    assert fresh.of_person(64, 1e-6) < 22.3 < 31 < same.of_person(64, 1e-6) == pytest.approx(32.0, abs=1e-5)
    assert same.of_person(64, 1e-6, lower=True) == same.bracket(1e-6)[0] < 0.5
    assert 20 < fresh.of_person(64, 1e-6, lower=True) <= fresh.of_person(64, 1e-6)
    assert Release("gaussian", 0.5, fresh=True).of_person(9, 1e-6) == pytest.approx(normal_epsilon(1.5, 1e-6), rel=1e-9)
    assert Release("gaussian", 0.5).of_person(3, 1e-6) == pytest.approx(normal_epsilon(1.5, 1e-6), rel=1e-9)
