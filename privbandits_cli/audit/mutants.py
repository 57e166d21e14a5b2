"""Deliberately broken algorithms, each with the fault of a plausible slip. An auditor that misses one is no auditor."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from privbandits_cli import registry
from privbandits_cli.algorithms.dp_robust_se import noise as mean_noise
from privbandits_cli.algorithms.exp3 import restart
from privbandits_cli.algorithms.robust_se import begin, cut, pulled
from privbandits_cli.audit.auditor import audit, watched
from privbandits_cli.audit.trees import ITEMS
from privbandits_cli.audit.verdict import Audit, Steps, Test
from privbandits_cli.games.bandit import Algorithm, Draws, Setting
from privbandits_cli.games.steps import STEPS, composition, steps
from privbandits_cli.jit import Record, Records, compile_step, record
from privbandits_cli.mechanisms.tree import depth

Step = Callable[..., Any]


FACTOR = 1.0  # set where a mutant is made


def scaled_noise(state: Record, gain: float, rng: Draws) -> float:
    """Noise of FACTOR times the scale."""
    noisy: float = gain + FACTOR * state.scale * rng.laplace
    return noisy


def no_noise(state: Record, gain: float, rng: Draws) -> float:
    """No noise at all."""
    return gain


def twice_the_gain(state: Record, gain: float, rng: Draws) -> float:
    """The sensitivity taken for half of what it is: gains of range 2 under the noise for range 1."""
    noisy: float = 2.0 * gain - 0.5 + state.scale * rng.laplace
    return noisy


def one_noise(state: Record, gain: float, rng: Draws) -> float:
    """One noise, drawn in the first round and kept."""
    if state.kept == 0.0:
        state.kept = state.scale * rng.laplace
    noisy: float = gain + state.kept
    return noisy


def noise_for_two(state: Record, gain: float, rng: Draws) -> float:
    """Each noise serves two rounds."""
    if state.kept == 0.0:
        state.kept = state.scale * rng.laplace
        noisy: float = gain + state.kept
    else:
        noisy = gain + state.kept
        state.kept = 0.0
    return noisy


def true_gain(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The base is fed the gain itself; the noise only decides whether."""
    noisy = gain + state.scale * rng.laplace
    if -state.b <= noisy <= state.b + 1.0:
        base_update(state.wrapped, arm, (gain + state.b) / (2.0 * state.b + 1.0), rng)


def true_gain_kept(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The base is fed the gain itself, and the noise is released for show."""
    base_update(state.wrapped, arm, gain, rng)


def doubled_rate(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """EXP3 with twice the learning rate."""
    p = (1.0 - state.gamma) * state.weights[arm] / state.sums[1] + state.rate
    state.gains[arm] += 2.0 * state.rate * gain / p
    restart(state, state.gains.max())


def no_floor(state: Record, rng: Draws) -> int:
    """EXP3 that forgets to explore."""
    threshold = rng.uniform * state.sums[1]
    reached = 0.0
    arm = 0
    for i in range(len(state.weights) - 1):
        reached += state.weights[i]
        arm += threshold >= reached
    return arm


def losses(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """EXP3 carried over to losses: the difference of two tables is amplified, not contracted."""
    p = (1.0 - state.gamma) * state.weights[arm] / state.sums[1] + state.rate
    state.gains[arm] -= state.rate * (1.0 - gain) / p
    restart(state, state.gains.max())


def sum_of_block(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """A mini-batch that feeds the sum of its block, not the mean."""
    state.gain += gain
    state.played += 1
    if state.played == state.tau:
        base_update(state.wrapped, arm, state.gain, rng)
        state.gain = 0.0
        state.played = 0


def scaled_release(state: Record, gain: float, rng: Draws) -> float:
    """What is released of a block under noise of FACTOR times the scale."""
    noisy: float = right_released(state, gain, Draws(rng.uniform, FACTOR * rng.laplace))
    return noisy


def sum_released(state: Record, gain: float, rng: Draws) -> float:
    """The sum of a block, under the noise for its mean."""
    noisy: float = right_released(state, (state.gain + gain) * state.tau - state.gain, rng)
    return noisy


def first_noise(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The noise of the first round, for every block."""
    if state.kept == 0.0:
        state.kept = rng.laplace
    right_update(state, arm, gain, Draws(rng.uniform, state.kept))


def scaled(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The right step under noise of FACTOR times the scale."""
    right_update(state, arm, gain, Draws(rng.uniform, FACTOR * rng.laplace))


def sum_for_mean(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """The division of an epoch's sum by R forgotten, but in the noise."""
    if state.left > 1 and pulled(state, arm, state.cycles * cut(state, gain), mean_noise(state, rng)):
        begin(state)


def uncut(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """Gains that are not truncated, under the noise for those that are."""
    if state.left > 1 and pulled(state, arm, gain, mean_noise(state, rng)):
        begin(state)


def redrawn(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """Fresh noise for every sum that is asked for, in place of that of its nodes."""
    state.noise[:] = 0.0
    right_update(state, arm, gain, rng)


def right_update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """Stands for the algorithm's own step until its mutant is compiled."""
    raise NotImplementedError


def right_released(state: Record, gain: float, rng: Draws) -> float:
    """Stands for the algorithm's own tap until its mutant is compiled."""
    raise NotImplementedError


def base_update(state: Record, arm: int, gain: float, rng: Draws) -> None:
    """Stands for EXP3's step until `sum_of_block` is compiled."""
    raise NotImplementedError


@dataclass(frozen=True)
class Mutant:
    """A broken algorithm: the name of the one it is taken for, and the step that is replaced."""

    name: str
    algorithm: str
    step: str
    broken: Step
    factor: float = 1.0

    def audited(self, setting: Setting, alpha: float, budget: int, seed: int, test: Test = "bets") -> Audit:
        """The audit of this mutant, against the claim of the algorithm that it is taken for."""
        parameters = CORRECT[self.algorithm]()
        setting = watched(parameters, setting)
        parameters = parameters.tuned(setting)
        state = parameters.state(setting)
        if self.broken in (one_noise, noise_for_two, first_noise):
            state = with_field(state, "kept", 0.0)
        return audit(parameters, setting, alpha, budget, seed, self.mutated(parameters), state, test)

    def mutated(self, parameters: Algorithm) -> Steps:
        """The steps of the algorithm compiled anew, with the broken one among them."""
        modules = composition(parameters)
        base = steps(modules[1:]) if modules[1:] else {}
        names: dict[str, Any] = {f"base_{name}": step for name, step in base.items()}
        names["FACTOR"] = self.factor
        module = import_module(modules[0])
        plain = {name: getattr(module, name) for name in STEPS if hasattr(module, name)} | {self.step: self.broken}
        names["right_update"] = compile_step(module.update, **names)
        if "released" in plain:  # `update` calls it
            names["right_released"] = compile_step(module.released, **names)
            names["released"] = compile_step(plain["released"], **names)
        return {name: compile_step(step, **names) for name, step in plain.items()}


def with_field(state: Records, name: str, value: float) -> Records:
    """A state with one more field."""
    names = state.dtype.names or ()
    fields = {old: state[old].reshape(()) if state[old].dtype.names else state[old][0] for old in names}
    return record(**fields, **{name: value})


def make(name: str, **parameters: Any) -> Algorithm:
    """An algorithm by name."""
    made = registry.find("algorithms", name)(**parameters)
    assert isinstance(made, Algorithm)
    return made


CORRECT: dict[str, Callable[[], Algorithm]] = {
    "dp_exp3_lap": lambda: make("dp_exp3_lap", epsilon=1.0),
    "exp3": lambda: make("exp3"),
    "exp3_tau": lambda: make("exp3_tau"),
    "adap_ucb": lambda: make("adap_ucb", epsilon=1.0),
    "batched_htinf": lambda: make("batched_htinf", epsilon=0.25),
    "dp_exp2": lambda: make("dp_exp2", epsilon=1.0),
    "dp_robust_se": lambda: make("dp_robust_se", epsilon=1.0),
    "dp_robust_ucb": lambda: make("dp_robust_ucb", epsilon=1.0),
    "dp_se": lambda: make("dp_se", epsilon=1.0),
    "dp_ucb": lambda: make("dp_ucb", epsilon=1.0, bonus="azize"),
    "ldp_robust_se": lambda: make("ldp_robust_se", epsilon=1.0),
    "ldp_robust_ucb": lambda: make("ldp_robust_ucb", epsilon=1.0),
    "ldp_ucb": lambda: make("ldp_ucb", epsilon=1.0),
}

MUTANTS = (
    Mutant("noise scale x 0.5", "dp_exp3_lap", "released", scaled_noise, 0.5),
    Mutant("noise scale x 0.75", "dp_exp3_lap", "released", scaled_noise, 0.75),
    Mutant("noise scale x 0.9", "dp_exp3_lap", "released", scaled_noise, 0.9),
    Mutant("no noise", "dp_exp3_lap", "released", no_noise),
    Mutant("sensitivity halved", "dp_exp3_lap", "released", twice_the_gain),
    Mutant("noise reused", "dp_exp3_lap", "released", one_noise),
    Mutant("noise kept for two rounds", "dp_exp3_lap", "released", noise_for_two),
    Mutant("base fed the true gain", "dp_exp3_lap", "update", true_gain),
    Mutant("noise scale x 0.5", "dp_exp2", "released", scaled_noise, 0.5),
    Mutant("noise scale x 0.9", "dp_exp2", "released", scaled_noise, 0.9),
    Mutant("no noise", "dp_exp2", "released", no_noise),
    Mutant("noise reused", "dp_exp2", "released", one_noise),
    Mutant("base fed the true gain", "dp_exp2", "update", true_gain_kept),
    Mutant("noise scale x 0.5", "batched_htinf", "released", scaled_release, 0.5),
    Mutant("noise of a sum for a mean", "batched_htinf", "released", scaled_release, 4.0),
    Mutant("sum under the noise of a mean", "batched_htinf", "released", sum_released),
    Mutant("half the noise is used", "batched_htinf", "update", scaled, 0.5),
    Mutant("sum for mean", "batched_htinf", "update", sum_of_block),
    Mutant("one noise for all blocks", "batched_htinf", "update", first_noise),
    Mutant("learning rate doubled", "exp3", "update", doubled_rate),
    Mutant("floor missing", "exp3", "choose", no_floor),
    Mutant("losses for gains", "exp3", "update", losses),
    Mutant("sum for mean", "exp3_tau", "update", sum_of_block),
    Mutant("B for 2B on a mean", "dp_robust_se", "update", scaled, 0.5),
    Mutant("no noise on a mean", "dp_robust_se", "update", scaled, 0.0),
    Mutant("mean not divided by R", "dp_robust_se", "update", sum_for_mean),
    Mutant("gains not truncated", "dp_robust_se", "update", uncut),
    Mutant("noise scale x 0.5", "dp_se", "update", scaled, 0.5),
    Mutant("noise scale x 0.5", "adap_ucb", "update", scaled, 0.5),
    Mutant("B for 2B on a report", "ldp_robust_se", "update", scaled, 0.5),
    Mutant("report not used", "ldp_robust_se", "update", scaled, 0.0),
    Mutant("B for 2B on a report", "ldp_robust_ucb", "update", scaled, 0.5),
    Mutant("B for 2B in a tree", "dp_robust_ucb", "update", scaled, 0.5),
    Mutant("log for levels in a tree", "dp_robust_ucb", "update", scaled, math.log(ITEMS) / depth(ITEMS)),
    Mutant("noise redrawn for every sum", "dp_robust_ucb", "update", redrawn),
)
