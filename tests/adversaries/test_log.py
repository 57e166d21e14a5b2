"""The adversary `log`: rejection replay of logged decisions."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from privbandits_cli.adversaries import log
from privbandits_cli.analysis.simulated_logs import linear_world, logged, softmax
from privbandits_cli.data.logs import logged as read
from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.games import contextual
from privbandits_cli.games.contextual import Contexts, Setting
from privbandits_cli.games.logged import Exhausted, ask, take
from privbandits_cli.games.match import Match
from privbandits_cli.numerics.jit import compile_step, without_jit
from privbandits_cli.numerics.streams import stream
from tests.conftest import Steps, make, some
from tests.engine.test_engine import outputs

THETA = np.array([[0.5, 0.2, -0.1], [0.45, -0.2, 0.2], [0.4, 0.1, 0.15]])
CONFIG = """\
experiment: ads
game: contextual
horizon: 300
arms: 3
dimension: 9
trials: 24
seed: 1
checkpoints: 6
adversary: {name: log, path: ads.csv}
algorithms: [linucb, {name: dp_linucb, epsilon: 1, delta: 0.01}]
"""


def simulated(rows, trial=0, share=0.3):
    world = linear_world(THETA, rows, 1, trial, "bernoulli")
    return logged(world, softmax(world.means, 0.1, share), 1, trial)


def write(path, made, head="x,y,action,reward,propensity", names="abc"):
    columns = zip(made.features.tolist(), made.actions, made.rewards.tolist(), made.propensities.tolist(), strict=True)
    lines = [f"{x!r},{y!r},{names[a]},{r!r},{p!r}" for (x, y), a, r, p in columns]
    Path(path).write_text("\n".join([head, *lines]) + "\n")


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch):
    """A working directory with a log of 6,000 events, and with its config."""
    monkeypatch.chdir(tmp_path)
    write("ads.csv", simulated(6000))
    Path("ads.yaml").write_text(CONFIG)


def setting(horizon=300, k=3, d=9):
    return Setting(horizon, k, contexts=Contexts(d))


def ready(**parameters):
    adversary = log.Parameters(**({"path": "ads.csv"} | parameters))
    assert not list(adversary.errors(setting()))
    return adversary.tuned(setting())


def match(algorithms, rounds=(10, 150, 300), seed=5):
    adversary = ready()
    known = adversary.revealed(setting(rounds[-1]))
    tuned = [algorithm.tuned(known) for algorithm in algorithms]
    return Match(adversary, tuned, known, np.array(rounds), seed)


LEARNERS = {
    "linucb": {},
    "dp_linucb": {},
    "ldp_linucb": {},
    "plain_dp_linucb": {"epsilon": 1.0, "base": make("linucb")},
}


# ------------------------------------------------------------------------------------------ the game


def linucb_by_hand(played, trial):
    """LinUCB's rounds of rejection replay, by direct solves: the events that it keeps."""
    made, adversary = read("ads.csv"), played.adversary
    rng = stream(played.seed, "contexts", adversary.name, trial=trial)
    order = rng.permutation(6000)
    shown = rng.random(6000) < made.propensities.min() / made.propensities[order]
    unit = (made.rows - made.rows.min(0)) / (made.rows.max(0) - made.rows.min(0))
    z = np.column_stack([np.ones(6000), unit / np.linalg.norm(unit, axis=1).max()]) / math.sqrt(2)
    v, u, kept = np.eye(9), np.zeros(9), []
    for i in order[shown]:
        inverse = np.linalg.inv(v)
        beta = 0.5 * math.sqrt(2 * math.log(2 * 300) + np.linalg.slogdet(v)[1]) + math.sqrt(6)
        arms = np.kron(np.eye(3), z[i])
        scores = arms @ inverse @ u + beta * np.sqrt(np.einsum("ki,ij,kj->k", arms, inverse, arms))
        arm = int(np.argmax(scores.round(9)))
        if arm == made.actions[i] and len(kept) < 300:
            v += np.outer(arms[arm], arms[arm])
            u += arms[arm] * made.rewards[i]
            kept.append(i)
    return made, np.array(kept)


@pytest.mark.usefixtures("either")
def test_linucb_keeps_the_events_of_its_twin():
    played = match([make("linucb")], tuple(range(1, 301)))
    made, kept = linucb_by_hand(played, 1)
    values = [
        sum(Fraction(r) / Fraction(p) for r, p in pairs) / sum(1 / Fraction(p) for _, p in pairs)
        for pairs in (list(zip(made.rewards[at], made.propensities[at], strict=True))
                      for at in (made.actions == a for a in range(3)))
    ]  # fmt: skip
    expected = np.cumsum(float(max(values)) - made.rewards[kept])
    np.testing.assert_allclose(contextual.play(played, [1])[0, 0], expected, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("block", [1, 7, 299])
@pytest.mark.parametrize("learners", [2, 4])
def test_blocks_and_other_learners_change_no_number(learners, block):
    played = match([make(name, **given) for name, given in list(LEARNERS.items())[:learners]])
    whole = contextual.play(played, [0, 3])
    np.testing.assert_array_equal(contextual.play(played, [0, 3], block), whole)
    alone = played._replace(algorithms=played.algorithms[1:2])
    np.testing.assert_array_equal(contextual.play(alone, [0, 3])[0], whole[1])
    assert (whole[:, 0] != whole[:, 1]).any()


@pytest.mark.slow
def test_plain_python_plays_the_same():
    played = match([make("linucb"), make("dp_linucb")])._replace(checkpoints=np.array([5, 40]))
    with without_jit():
        found = contextual.play(played, [0])
    np.testing.assert_allclose(found, contextual.play(played, [0]), atol=1e-9)


def test_the_log_may_end():
    played = match([make("linucb")], (300,))._replace(checkpoints=np.array([3000]))
    message = r"the log has no event for round \d+, as \d+ were shown to the learner"
    with pytest.raises(ValueError, match=message), without_jit():
        contextual.play(played, [0])


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("noise", some(["gaussian", "wishart"], "gaussian"))
def test_a_release_is_drawn_once_a_round(noise):
    """Choosing again without a new row draws nothing, as privacy is that of one release for each number of rows."""
    from privbandits_cli.games.steps import composition, steps

    known = ready().revealed(setting())
    private = make("dp_linucb", noise=noise).tuned(known)
    with without_jit(Steps.plain):
        states, choose = private.state(known), steps(composition(private))["choose"]
    rng, arms = np.random.default_rng(1), np.eye(9, 3)
    first = choose(states[0], arms, rng)
    after, noise = rng.bit_generator.state, states["counter"]["noise"].copy()
    assert choose(states[0], arms, rng) == first and rng.bit_generator.state == after
    np.testing.assert_array_equal(states["counter"]["noise"], noise)


# ------------------------------------------------------------------------------------------ it is unbiased

POLICIES = {  # the action for features x; each depends on them in its own way
    "always a": lambda x: 0,
    "always c": lambda x: 2,
    "first positive": lambda x: 0 if x[0] > 0 else 1,
    "best": lambda x: int(np.argmax(THETA[:, 0] + THETA[:, 1:] @ x)),
    "worst": lambda x: int(np.argmin(THETA[:, 0] + THETA[:, 1:] @ x)),
}


def replayed(made, events, policy, rounds):
    """The mean reward of a fixed policy in its first rounds of a replay, and the number of events that it saw."""
    fixed = {"choose": lambda state, arms, rng: policy(made.rows[events.order[events.places["seen"][0] - 1]])}
    with without_jit():
        asked = compile_step(ask, **fixed)
        x, rewards = np.empty(9), []
        for _ in range(rounds):
            rewards.append(take(events, asked(None, events, None), x)[0])
    return np.mean(rewards), int(events.places["seen"][0])


@pytest.mark.parametrize("logs", some([40, 60, 200], 40))
@pytest.mark.parametrize("name", some(POLICIES, "first positive"))
def test_replay_is_unbiased(name, logs):
    """Within 3 standard errors of the true value, over many logs; without thinning the same policies are found out."""
    x = np.random.default_rng(0).uniform(-1, 1, (200_000, 2))
    chosen = np.array([POLICIES[name](row) for row in x[:20_000]])
    truth = (THETA[chosen, 0] + (THETA[chosen, 1:] * x[:20_000]).sum(axis=1)).mean()
    rounds, means, naive, seen = 40, [], [], []
    for trial in range(logs):
        write("one.csv", simulated(1500, trial, share=0.6))
        made, adversary = read("one.csv"), log.Parameters(path="one.csv").tuned(setting(rounds))
        events = adversary.events_of_log(setting(rounds), stream(1, "contexts", trial=trial))
        mean, n = replayed(made, events.opened(()), POLICIES[name], rounds)
        means.append(mean)
        seen.append(n / len(events.order))
        every = events._replace(order=np.arange(len(made.rows)))
        if name == "first positive":  # its actions were logged with different probabilities in different contexts
            naive.append(replayed(made, every.opened(()), POLICIES[name], 400)[0])
    error = np.std(means, ddof=1) / math.sqrt(logs)
    own = np.std(x[:, 0]) * 0.3 / math.sqrt(20_000)  # of the truth
    assert abs(np.mean(means) - truth) < 3 * math.hypot(error, own)
    assert max(seen) < 1
    if naive:
        assert abs(np.mean(naive) - truth) > 3 * np.std(naive, ddof=1) / math.sqrt(logs)


# ------------------------------------------------------------------------------------------ files


def test_columns_are_recognised_or_named():
    made = simulated(6000)
    write("short.csv", made, "x,y,A,R,PScore")
    write("own.csv", made, "x,y,advert,bought,chance")
    named = {"action": "advert", "reward": "bought", "propensity": "chance"}
    for found in (read("short.csv"), read("own.csv", **named)):
        np.testing.assert_array_equal(found.rows, made.features)
        assert (found.actions == made.actions).all() and (found.rewards == made.rewards).all()
        assert (found.propensities == made.propensities).all() and found.classes == ("a", "b", "c")


WRONG = {
    "set `arms: 3` and `dimension: 9`, which is 3 x (1 + 2)": ("dimension: 9", "dimension: 8"),
    "unlikely to serve 2000 rounds: set `horizon: ": ("horizon: 300", "horizon: 2000"),
    "cannot be read: No such file or directory": ("ads.csv", "none.csv"),
    "is not the file that was played": ("path: ads.csv", "path: ads.csv, sha256: abc"),
    "no column is called 'advert': the action is one of x, y, action": ("ads.csv", "ads.csv, action: advert"),
    "name one of them as `propensity`; if all K": ("ads.csv", "none.csv", "x,y,action,reward,logged"),
    "arm and action may all be the action: name one of them as `action`": (
        "ads.csv", "none.csv", "x,arm,action,reward,p"
    ),
    "row 1 has 2 in column 'p': a probability is above 0": ("ads.csv", "none.csv", "x,a,r,p\n1,b,1,2\n2,c,1,.5"),
    "row 2 has -1 in column 'r': rewards lie between 0 and 1": ("ads.csv", "none.csv", "x,a,r,p\n1,b,1,.2\n1,c,-1,.2"),
    "cannot add up to 1: the smallest is 0.6, of 2 actions": ("ads.csv", "none.csv", "x,a,r,p\n1,b,1,.6\n2,c,1,.6"),
    "row 1 has 'no' in column 'r', where numbers": ("ads.csv", "none.csv", "x,y,a,r,p\n1,1,b,no,.6\n2,1,c,no,.6"),
    "column 1 is an index of the rows": ("ads.csv", "none.csv", "x,y,a,r,p\n0,1,b,1,.5\n1,1,c,1,.5\n2,3,c,1,.5"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("k", "chance"),
    [(3, np.float32(1 / 3)), (6, np.float32(1 / 6)), (6, 0.17), (6, 0.1667), (15, 0.07), (8, 0.13), (3, "0.3333334")],
)
def test_propensities_may_be_rounded(k, chance):
    rows = [f"{i / 7:.3f},{i % k},{i % 2},{float(chance)!r}" for i in range(2 * k)]
    Path("rounded.csv").write_text("\n".join(["x,a,r,p", *rows]))
    assert read("rounded.csv").least == float(chance)


@pytest.mark.parametrize(("k", "chance"), [(3, 0.34), (6, 0.18), (15, 0.08), (4, 0.3), (6, 0.1668), (2, 1.0)])
def test_propensities_that_no_rounding_explains_are_refused(k, chance):
    rows = [f"{i / 7:.3f},{i % k},{i % 2},{chance}" for i in range(2 * k)]
    Path("wrong.csv").write_text("\n".join(["x,a,r,p", *rows]))
    with pytest.raises(ValueError, match="cannot add up to 1"):
        read("wrong.csv")


def test_a_probability_or_reward_of_one_may_have_32_bits():
    Path("sure.csv").write_text("x,a,r,p\n0.1,b,1,1.00000012\n0.5,c,-1e-8,0.5\n0.2,b,1.00000012,0.5\n")
    assert read("sure.csv").propensities.tolist() == [1.0, 0.5, 0.5]
    assert read("sure.csv").rewards.tolist() == [1.0, 0.0, 1.0]


def test_columns_of_features_are_chosen():
    made = simulated(6000)
    write("wide.csv", made, "x,user,action,reward,propensity")
    adversary = log.Parameters(path="wide.csv", features=["x"])
    assert not list(adversary.errors(setting(d=6)))
    np.testing.assert_array_equal(adversary.read("wide.csv").rows[:, 0], made.features[:, 0])
    assert not list(log.Parameters(path="wide.csv", features=[]).errors(setting(d=3)))
    (error,) = log.Parameters(path="wide.csv", features=["y"]).errors(setting(d=6))
    assert error == "wide.csv: no column of features is called 'y': `features` are of 'x', 'user'"


@pytest.mark.parametrize("message", WRONG)
def test_a_config_that_does_not_fit_is_refused(message):
    old, new, *file = WRONG[message]
    if file:
        Path("none.csv").write_text(file[0] if "\n" in file[0] else f"{file[0]}\n1,2,3,1,.5\n3,2,1,1,.5\n")
    Path("wrong.yaml").write_text(CONFIG.replace(old, new))
    with pytest.raises(ConfigError) as error:
        load(Path("wrong.yaml"))
    (found,) = error.value.errors
    assert message in found and found.startswith("wrong.yaml:9:")


def test_the_largest_horizon_is_served_by_nearly_every_log():
    """Binomial: of 6,000 events each is kept with probability 1/10; five standard deviations fewer is never seen."""
    from scipy.stats import binom

    most = log.most_rounds(6000, 0.1)
    assert most == int(600 - 5 * math.sqrt(540)) and binom.cdf(most - 1, 6000, 0.1) < 1e-6
    assert log.most_rounds(10, 0.1) == 0


@pytest.mark.slow
@pytest.mark.usefixtures("one_format")
@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_a_run_is_the_same_whatever_the_jobs_and_engine(engine):
    one = outputs(Path("one"), Path("ads.yaml"))[2]
    assert outputs(Path("two"), Path("ads.yaml"), jobs=2, engine=engine)[2] == one


def test_an_exhausted_log_is_an_exception_of_its_own():
    events = ready().events_of_log(setting(), np.random.default_rng(1))
    with without_jit(), pytest.raises(Exhausted):
        compile_step(ask, choose=lambda *_: 0)(None, events._replace(order=np.empty(0, int)).opened(()), None)
