"""Trials in lockstep equal trials alone bit for bit: algorithms, adversaries, random numbers, on every processor."""

import json
import os
import platform
import subprocess
import sys

import llvmlite.binding
import numpy as np
import pytest
from numpy.random import SFC64, Generator

from privbandits_cli.games import bandit, lockstep
from privbandits_cli.games.bandit import Draws, play
from privbandits_cli.games.drawing import NUMBERS, fill_of
from privbandits_cli.games.lockstep import LANES
from privbandits_cli.games.players import Setting
from privbandits_cli.games.steps import blocks, composition, steps
from privbandits_cli.numerics.jit import without_jit
from privbandits_cli.numerics.streams import stream
from tests.conftest import ROOT, first, fit, foe, make, match, playing, some, watch_states

REST = pytest.mark.slow  # left to `make test-all`


def in_lockstep(algorithm, adversary="stochastic", n_arms=4):
    """Whether an algorithm plays in lockstep."""
    game = match(foe(adversary), [algorithm], 100, n_arms)
    return bandit.Games.loop(game, game.algorithms[0]).play is not None


ALL = playing("algorithms")
# Weights, roots found by Newton's method, trees, epochs, draws by rejection, several numbers a round. Against an
# adversary with known means each loop differs in the same way, so the first two are enough.
KINDS = ["exp3", "htinf", "dp_ucb", "dp_se", "thompson", "gaussian_ts"]
SEVERAL = [(name, KINDS if name == "stochastic" else KINDS[:2]) for name in playing("adversaries")]
# Large and small steps, weights that must be recomputed, gains far outside [0, 1], rounds that are ignored
FEW_EXTREME = [
    make("exp3", gamma=1.0),
    make("exp3", gamma=0.5),
    make("exp3", gamma=1e-7),
    make("dp_lambda_lap", epsilon=0.5, b=0.5, base=make("mini_batch", tau=3, base=make("exp3"))),
    make("htinf", sigma=0.1),
]
EXTREME = [
    *FEW_EXTREME,
    make("exp2", eta=2.0, gamma=0.1),
    make("exp2", eta=0.3, gamma=0.2, mu=[0.1, 0.2, 0.3, 0.4]),
    make("exp3_ix", eta=1.5, gamma=1e-3),
    make("dp_reduction", epsilon=0.01, base=make("exp3")),
    make("dp_exp2", epsilon=0.05),
    make("dp_lambda_lap", epsilon=0.5, b=0.1, base=make("exp3")),
    make("mini_batch", tau=1, base=make("exp2")),
    make("mini_batch", tau=2, base=make("dp_exp3_lap", epsilon=1.0)),
    make("mini_batch", tau=7, base=make("mini_batch", tau=3, base=make("exp3", gamma=0.7))),
    make("mini_batch", tau=3, base=make("tsallis_inf")),
    make("dp_reduction", epsilon=0.3, base=make("tsallis_inf")),
    make("dp_lambda_lap", epsilon=0.5, b=0.1, base=make("tsallis_inf")),
    make("mini_batch", tau=2, base=make("dp_reduction", epsilon=3.0, base=make("htinf", sigma=0.5))),
    make("batched_htinf", epsilon=0.25),
]


# Epochs and phases that end, a last arm that is left, arms that are forced
DECIDING = [
    make("dp_se", epsilon=100.0),
    make("dp_ucb", epsilon=0.5),
    make("thompson"),
    make("robust_se", constants=0.02),
    make("dp_robust_se", constants=0.02, epsilon=5.0),
    make("ldp_robust_se", constants=0.02, epsilon=50.0),
    make("ldp_robust_se", constants=0.02, epsilon=50.0, err="printed"),
    make("dp_klucb", epsilon=0.1),
    make("dp_klucb", epsilon=1.0, width="optimal", memory="last"),
    make("dp_klucb", epsilon=1.0, width="chernoff", first=30.0),
    make("dp_imed", epsilon=0.3),
    make("adap_ucb", epsilon=1.0),
    make("adac_ucb", rho=0.5),
    make("ldp_ucb", epsilon=0.2),
    make("ldp_ucb", epsilon=2.0, report="bernoulli"),
    make("ldp_robust_ucb", epsilon=0.3, constants=0.01),
    make("ldp_robust_ucb", epsilon=0.3, constants=0.01, report="bernoulli", alpha=0.1),
    make("dp_ucb", epsilon=0.5, bonus="without_nu"),
    make("dp_ucb", epsilon=5.0, bonus="mishra_thakurta"),
    make("dp_ucb", epsilon=5.0, bonus="azize"),
    make("dp_ucb", epsilon=1.0, bonus="chernoff", counter="k_ary"),
    make("dp_ucb", epsilon=1.0, bonus="chernoff", counter="smooth"),
    make("mini_batch", tau=3, base=make("ucb1")),
    make("kl_ucb"),
    make("kl_ucb", c=3.0),
    make("lazy_dp_ts", epsilon=0.5),
    make("lazy_dp_ts", epsilon=0.01, log="2"),
    make("dp_ts", epsilon=2.0),
    make("dp_ts", epsilon=0.01),
]


def both(monkeypatch, game, trials, **how):
    """Regrets, and the learners' states after each block, in lockstep and one trial after the other."""
    found, states = [], []
    for several in (True, False):
        last = []
        with monkeypatch.context() as patch:
            watch_states(patch, lambda states, last=last: last.append(states.copy()))
            if not several:
                patch.setattr(lockstep, "loop", lambda *_, **__: lockstep.NONE)
            found.append(play(game, trials, **how))
        states.append(last)
    wanted = [one[: len(other)].tobytes() for one, other in zip(*states, strict=True)]  # without copied trials
    return (found[0], wanted), (found[1], [one.tobytes() for one in states[1]])


def test_every_algorithm_plays_in_lockstep():
    assert all(in_lockstep(one) for one in (*map(make, ALL), *EXTREME, *DECIDING))


@pytest.mark.parametrize(
    ("adversary", "names"),
    [
        *first(4, SEVERAL[::3] + SEVERAL[1::3] + SEVERAL[2::3]),
        *(pytest.param(name, ALL, marks=REST) for name in playing("adversaries")),
    ],
)
def test_lockstep_equals_trials_alone(monkeypatch, adversary, names):
    against = foe(adversary)
    game = match(against, [one for one in map(make, names) if fit(one, against)], 400, checkpoints=range(1, 401))
    (one, states), (other, expected) = both(monkeypatch, game, range(LANES + 1))
    np.testing.assert_array_equal(one, other)
    assert states == expected and (states or not game.algorithms)


@pytest.mark.parametrize("learners", [FEW_EXTREME, pytest.param(EXTREME, marks=REST)], ids=["few", "all"])
@pytest.mark.parametrize("adversary", some(["switching_costs", "stochastic", "deterministic"], "switching_costs"))
def test_lockstep_equals_trials_alone_where_most_gains_are_unusual(monkeypatch, adversary, learners):
    game = match(foe(adversary), learners, 1500, checkpoints=[1, 2, 3, 1500])
    (one, states), (other, expected) = both(monkeypatch, game, range(LANES + 1), block=256)
    np.testing.assert_array_equal(one, other)
    assert states == expected


@pytest.mark.parametrize(
    ("adversary", "learners"),
    [("stochastic", DECIDING[:1]), *(pytest.param(name, DECIDING, marks=REST) for name in ("bernoulli", "pareto"))],
    ids=["few", "bernoulli", "pareto"],
)
def test_lockstep_equals_trials_alone_where_decisions_are_frequent(monkeypatch, adversary, learners):
    against = foe(adversary, **({} if adversary == "stochastic" else {"means": [0.9, 0.5, 0.45, 0.1]}))
    game = match(against, [one for one in learners if fit(one, against)], 12_000, checkpoints=[1, 99, 5000, 12_000])
    (one, states), (other, expected) = both(monkeypatch, game, range(LANES + 1), block=1000)
    np.testing.assert_array_equal(one, other)
    assert states == expected
    ends = [np.ptp(np.diff(regrets[:, -2:])) for regrets in one]
    assert np.count_nonzero(ends) > len(ends) // 2  # games of an algorithm differ


def test_epochs_end_and_one_arm_is_left():
    """In the games of the test above."""
    state = make("dp_se", epsilon=100.0).tuned(Setting(12_000, 4))
    own, known, rng = steps(composition(state)), state.state(Setting(12_000, 4)), np.random.default_rng(1)
    for _ in range(12_000):
        draws = Draws(rng.random(), rng.laplace())
        arm = own["choose"](known[0], draws)
        own["update"](known[0], arm, float(rng.random() < [0.9, 0.5, 0.45, 0.1][arm]), draws)
    assert known["left"] == 1 and known["epoch"] > 1


@pytest.mark.parametrize(
    ("n_arms", "names"),
    [(3, ["exp3"]), *(pytest.param(k, ALL, marks=REST) for k in (2, 3, 7, 8, 9)),
     pytest.param(1, ["tsallis_inf"], marks=REST)],
)  # fmt: skip
def test_lockstep_equals_trials_alone_with_other_numbers_of_arms(monkeypatch, n_arms, names):
    game = match(foe("stochastic"), list(map(make, names)), 200, n_arms, checkpoints=[1, 200])
    (one, states), (other, expected) = both(monkeypatch, game, range(5))
    np.testing.assert_array_equal(one, other)
    assert states == expected


@pytest.mark.parametrize("adversary", some(["stochastic", "switching_costs", "pareto"], "switching_costs"))
def test_many_arms_have_gains_in_lanes_and_the_same_games(adversary):
    """With more arms than eight, entries are found by addresses; with very many, trials play alone."""
    learner = make("exp3" if foe(adversary).bounded else "uniform")
    game = match(foe(adversary), [learner], 300, 20, checkpoints=[1, 7, 300])
    larger = match(foe(adversary), [learner], 300, bandit.MANY + 1)  # its states are large
    assert bandit.Games.together(game) == LANES and bandit.Games.together(larger) == 1
    whole = play(game, range(LANES + 1))
    np.testing.assert_array_equal(whole, play(game, range(LANES + 1), width=1))
    np.testing.assert_array_equal(whole[:, :6], play(game, range(6), block=17))


@pytest.mark.parametrize("more", [[], pytest.param([make("tsallis_inf"), *EXTREME[-2:]], marks=REST)], ids=len)
def test_any_number_of_trials_plays_the_same_games(more):
    learners = [make("exp3"), make("htinf", sigma=0.1), *more]
    game = match(foe("switching_costs"), learners, 60, checkpoints=[7, 60])
    whole = play(game, range(LANES + 1))
    for n in range(1, LANES + 1):
        np.testing.assert_array_equal(play(game, range(n)), whole[:, :n])


@pytest.mark.parametrize("name", playing("adversaries"))
def test_gains_in_lanes_are_those_of_each_trial(name):
    horizon = 700
    adversary = foe(name).tuned(Setting(horizon, 5))
    setting = adversary.revealed(Setting(horizon, 5))
    rngs = [stream(7, "gains", trial=trial) for trial in range(LANES)]
    parts = adversary.gains_in_lanes(setting, rngs, lambda: blocks(horizon, 99))
    together = np.concatenate([part.copy() for part in parts])
    for trial in (0, 1, 17, LANES - 1):
        alone = np.concatenate(list(adversary.gains(setting, stream(7, "gains", trial=trial), blocks(horizon, 300))))
        np.testing.assert_array_equal(together[:, :, trial], alone)


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("plain", [False, True])
def test_numbers_in_lanes_are_those_of_each_stream(kind, plain):
    """More numbers than a word has signs, in two calls."""
    n = 40 if plain else 3000
    with without_jit(plain):
        fill = fill_of(kind, *(Generator(SFC64(seed)) for seed in range(LANES)))
        out = np.empty((n + 77, LANES), np.uint64 if kind == "bits" else np.float64)
        fill(out[:n])
        fill(out[n:])
    for seed in (0, 5, LANES - 1):
        alone = np.empty(n + 77, out.dtype)
        fill_of(kind, Generator(SFC64(seed)))(alone)
        np.testing.assert_array_equal(out[:, seed], alone)


@pytest.mark.parametrize("kind", NUMBERS)
def test_several_numbers_of_a_round_are_those_of_each_stream(kind):
    fill = fill_of(kind, *(stream(7, kind, "one", "other", trial=trial) for trial in range(5)))
    out = np.empty((90, 3, 5), np.uint64 if kind == "bits" else np.float64)
    fill(out[:40])
    fill(out[40:])
    for trial in range(5):
        alone = np.empty(270, out.dtype)
        fill_of(kind, stream(7, kind, "one", "other", trial=trial))(alone)
        np.testing.assert_array_equal(out[..., trial].ravel(), alone)


PROGRAM = """
import json
from tests.conftest import foe, make, match
from privbandits_cli.games.bandit import play
lineup = [make(name) for name in {lineup}]
print(json.dumps(play(match(foe("switching_costs"), lineup, 3000), range(9)).tolist()))
"""
LINEUP = ["exp3", "dp_exp3_lap", "tsallis_inf", "batched_htinf", "kl_ucb", "dp_ucb", "lazy_dp_ts"]
PROCESSORS = {"x86-64": "", "haswell": "+avx2", "skylake-avx512": "+avx512f,+avx512vl,+avx512dq,+avx512bw"}


def on_every_processor(program, processors=tuple(PROCESSORS)):
    """Run a program compiled for SSE2, AVX2 and AVX-512, as far as this machine has them; yield the JSON it prints."""
    has = llvmlite.binding.get_host_cpu_features()
    for name in processors:
        features = PROCESSORS[name]
        if not all(has[feature[1:]] for feature in features.split(",") if feature):
            continue
        environment = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features}
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        yield name, json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lineup", "processors"),
    [(LINEUP[:1], ["x86-64"]), (LINEUP, [*PROCESSORS])],
    ids=["the plainest", "all"],
)
@pytest.mark.skipif(platform.machine() != "x86_64", reason="these are names of x86-64 processors")
def test_every_processor_plays_the_same_bytes(lineup, processors):
    own = play(match(foe("switching_costs"), list(map(make, lineup)), 3000), range(9))
    for name, found in on_every_processor(PROGRAM.format(lineup=lineup), processors):
        assert found == own.tolist(), name
