"""Audits of tuned algorithms: an empirical attempt to refute what each claims, valid at level alpha.

What is watched is what the proof privatises (`Algorithm.tap`):

- `release`: the noisy gain, before any accept or ignore step. Every round is a canary of gain 0 or 1; where one number
  is released of a block's mean, the last round of every block.
- `report`: what a round adds to the sum of an arm's reports. Every round is a canary.
- `mean`: the noisy mean of an epoch, of which the last gain is the canary.
- `tree`: all noisy sums of one arm, of which the first gain is the canary.
  Of these three gains far beyond the canary's range are tried, too, where gains need not lie in one.
- `arms`: the arms of EXP3, or of its blocks. The prefix in which arm 1 becomes rare is played once; there the
  canary's gain is 1 or 0, and many continuations are forked in which nothing is earned. Arm 1 is counted. The claim
  put to the test is not the ledger's bound, which no count could reach, but EXP3's exact law on this game: (1, δ)
  with the δ that `canary` computes. An EXP3 that leaks more than that is not EXP3.

Of the game `linear`:

- `prefix`: the noisy sum of losses that the base is given. Games of a few rounds, the first loss the canary.
- `play`: the noisy loss of a point, before the base sees it. Every round is a canary, as far along its point as goes.

Of the game `contextual`:

- `gram`: the noisy sums by which arms are chosen. Games of a few rounds, the first datum the canary.
- `row`: what a round reports. Every round is a canary.
- `answer`: the arm of a round, of which one of two is best, by a coin; and what its base's tap is.

The auditor uses `choose`, `update`, `probabilities` and the taps alone, so an algorithm joins by declaring its tap.
"""

import math
from collections.abc import Callable

from privbandits_cli.algorithms.plain_dp_linucb import Parameters as Plain
from privbandits_cli.audit import grams
from privbandits_cli.audit.answers import audit_answers, audit_rows, both
from privbandits_cli.audit.forks import audit_arms
from privbandits_cli.audit.plays import audit_plays
from privbandits_cli.audit.prefixes import ROUNDS, audit_prefixes
from privbandits_cli.audit.releases import audit_kept, audit_release, completing, reaches_further
from privbandits_cli.audit.trees import ITEMS, audit_tree
from privbandits_cli.audit.verdict import Audit, Steps, Test, compiled_canary
from privbandits_cli.games import arms
from privbandits_cli.games.linear import Cube, Simplex, Sphere
from privbandits_cli.games.players import Algorithm, Setting
from privbandits_cli.games.steps import composition, steps
from privbandits_cli.numerics.jit import Records

KEPT = {"report": "sums", "mean": "means", "tree": "means"}  # what `update` keeps, by which a gain acts
WATCHED: dict[str, Callable[..., Audit]] = {  # of the games `linear` and `contextual`
    "prefix": audit_prefixes,
    "play": audit_plays,
    "gram": grams.audit_grams,
    "row": audit_rows,
}
COORDINATES = 10  # of what is watched of a linear game, at most
DIMENSIONS = 3  # of a contextual one
ROUNDS_A_FORK = 128  # a fork of an EXP3 costs thousands of rounds, so the budget buys fewer


def watched(algorithm: Algorithm, setting: Setting) -> Setting:
    """The setting of the games that are watched: trees so short that levels can be counted, and few coordinates."""
    if algorithm.tap() == "tree":
        return setting._replace(horizon=ITEMS, n_arms=1)
    if algorithm.tap() == "prefix":
        setting = setting._replace(horizon=max(2, min(ROUNDS, setting.horizon)))
    if setting.contexts is not None:
        known = setting.contexts
        setting = setting._replace(contexts=known._replace(dimension=min(DIMENSIONS, known.dimension)))
        short = setting._replace(horizon=max(2, min(grams.ROUNDS, setting.horizon)))
        if algorithm.tap() == "gram" and not list(algorithm.errors(short)) and algorithm.tuned(short).guarantee(short):
            return short  # else, of so few rows that nothing is proved of a short tree, the first rounds of a long one
    if isinstance(setting.space, Simplex | Sphere | Cube):
        n = min(COORDINATES, setting.n_arms)
        setting = setting._replace(n_arms=n, space=type(setting.space)(n))
    return setting


def audit(
    algorithm: Algorithm,
    setting: Setting,
    alpha: float = 0.001,
    budget: int = 2**18,
    seed: int = 0,
    bound: Steps | None = None,
    state: Records | None = None,
    test: Test = "bets",
) -> Audit:
    """Audit a tuned algorithm; `bound` and `state` replace its steps and state, as a mutant's do.

    budget: rounds observed of a release; forks are budget / ROUNDS_A_FORK.
    test: `bets` stop as soon as they have won; `counts` compare Clopper-Pearson limits at the end of the budget.
    """
    if watched(algorithm, setting) != setting:
        setting = watched(algorithm, setting)
        algorithm = algorithm.tuned(setting)
    bound = steps(composition(algorithm)) if bound is None else bound
    state = algorithm.state(setting) if state is None else state
    bound = {"canary": compiled_canary(str(state.dtype.descr))} | bound
    tap, promised = algorithm.tap(), algorithm.guarantee(setting)
    if promised is None or math.isinf(promised.epsilon):
        return Audit("NOT AUDITABLE", "none", "nothing is promised", 0)
    if isinstance(algorithm, Plain):
        own = audit_answers(algorithm, setting, bound, state, alpha / 2, budget, seed, test)
        return both(own, audit(algorithm.base, setting, alpha / 2, budget, seed, test=test))
    if not isinstance(algorithm, arms.Algorithm):
        watch = WATCHED.get(tap or "")
        if watch is None:
            return Audit("NOT AUDITABLE", str(promised), f"no tap is declared ({promised.source})", 0)
        return watch(algorithm, setting, bound, state, promised, alpha, budget, seed, test)
    if tap == "release":
        rest = algorithm.periods()["laplace"] - 1
        return audit_release(bound, state, setting.n_arms, rest, promised.epsilon, alpha, budget, seed, test)
    if tap in KEPT:
        state = completing(state) if tap == "mean" else state
        if not algorithm.bounded and reaches_further(bound, state, KEPT[tap]):
            further = "a gain beyond the range that noise is made for moves more than that range does"
            return Audit("VIOLATION", str(promised), further, 4)
    if tap == "report" or tap == "mean":
        return audit_kept(bound, state, tap, promised.epsilon, alpha, budget, seed, test)
    if tap == "tree":
        return audit_tree(bound, state, promised.epsilon, alpha, budget, seed, test)
    if tap == "arms":
        return audit_arms(algorithm, setting, bound, state, alpha, max(64, budget // ROUNDS_A_FORK), seed, test)
    return Audit("NOT AUDITABLE", str(promised), f"no tap is declared ({promised.source})", 0)
