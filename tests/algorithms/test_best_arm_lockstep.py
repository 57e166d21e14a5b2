"""The steps of best-arm learners, with `stop`, play many trials in lockstep, and do the same as one trial alone."""

import numpy as np
import pytest

from privbandits_cli.games import bandit, best_arm, lockstep
from privbandits_cli.games.bandit import asked
from privbandits_cli.games.drawing import fill_of
from privbandits_cli.games.players import Setting
from privbandits_cli.games.steps import composition
from privbandits_cli.numerics.arrays import aligned
from privbandits_cli.numerics.jit import unbound
from privbandits_cli.numerics.streams import stream
from privbandits_cli.spmd.source import Step
from tests.algorithms.test_best_arm import made
from tests.conftest import foe, some

choose = update = stop = unbound
TRIALS = lockstep.WIDTH
MEANS = [0.2, 0.9, 0.5]


def stopping_round(state, player, rng, gains, worth, memory, observed, t):
    """A round of a trial that has not stopped; `last` is the answer, and `total` is τ."""
    if player.last < 0:
        arm = choose(state, rng)
        update(state, arm, gains[arm], rng)
        player.total += 1.0
        player.last = stop(state)


def together(algorithm, adversary, setting, seed):
    """τ and the answers of TRIALS trials, played in lockstep."""
    numbers, names = asked(algorithm, setting), (algorithm.identity(), adversary.identity())
    layout, horizon = bandit._first_record(algorithm, setting).dtype, int(setting.horizon)
    steps = {"stop": Step(best_arm.plain(algorithm, "stop")["stop"], {})}
    shape = (setting.n_arms, tuple(bandit.axis(numbers.get(kind, bandit.One())) for kind in bandit.Numbers._fields))
    made = lockstep.loop(stopping_round, "bandit", composition(algorithm), layout, TRIALS, *shape, **steps)
    assert made.reason == ""
    records = np.repeat(bandit._first_record(algorithm, setting), TRIALS)
    rngs = [stream(seed, "gains", names[1], trial=trial) for trial in range(TRIALS)]
    gains = next(adversary.gains_in_lanes(setting, rngs, lambda: [range(1, horizon + 1)]))
    tables = dict.fromkeys(bandit.Numbers._fields, np.full((horizon, TRIALS), np.nan))
    for kind in numbers:
        tables[kind] = aligned((horizon, TRIALS), np.float64)
        fill_of(kind, *(stream(seed, kind, *names, trial=trial) for trial in range(TRIALS)))(tables[kind])
    given = bandit.Table(gains, **tables, worth=np.zeros((setting.n_arms, TRIALS)), memory=0, observed=True)
    words, found = lockstep.spread(records, made.layout, TRIALS), np.empty((TRIALS, 1))
    assert made.play(words, np.array([horizon]), found, tuple(given))
    lockstep.collect(words, records, made.layout)
    return found[:, 0].astype(int).tolist(), records["player"]["last"].tolist()


EVERY = {
    "eb_tci": {},
    "track_and_stop": {},
    "successive_elimination": {},
    "dp_se": {"epsilon": 1.0, "beta": 0.01},
    "adap_tt": {"epsilon": 1.0},
    "adap_tt_star": {"epsilon": 1.0},
    "dp_tt": {"epsilon": 1.0},
    "dp_uniform": {"epsilon": 1.0},
    "ctb_tt": {"epsilon": 2.0},
    "dp_uniform_best_arm": {"epsilon": 1.0},
    "dp_halving": {"epsilon": 1.0},
}


@pytest.mark.parametrize("name", some(EVERY, "eb_tci", "dp_tt"))
def test_trials_that_stop_in_different_rounds_play_together(name):
    setting, adversary = Setting(12_000, len(MEANS)), foe("bernoulli", means=MEANS)
    algorithm = made(name, **EVERY[name]).tuned(setting)
    alone = best_arm.play(algorithm, adversary, setting, range(TRIALS), 4)
    taus, answers = together(algorithm, adversary, setting, 4)
    assert taus == alone.pulls.tolist() and answers == alone.answers.tolist()
    assert not alone.capped.all()
