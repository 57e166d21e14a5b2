"""Claims about the game best_arm, on hand-made results."""

import numpy as np
import pytest

from privbandits_cli.claims.verdicts import verdicts
from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.identification import times
from tests.figures.test_answers import CAPPED, CONFIG, MOST, OLD, results, right

SLOW = [3 * time for time in OLD]
WRONG = [(time, int(i < 12)) for i, time in enumerate(SLOW)]


@pytest.fixture
def judge(tmp_path):
    """The verdict on one claim; ε = 1 is slow and wrong in 12 of 20 trials, 0.1 is often at the cap, 10 at times."""
    folder = results(tmp_path, {None: right(OLD), 0.1: MOST, 1: WRONG, 10: CAPPED})

    def judged(claim):
        path = tmp_path / "claimed.yaml"
        path.write_text(f'{CONFIG}claims: [{{claim: "{claim}", source: here}}]\n')
        (found,) = verdicts(folder, load(path))
        return found

    return judged


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("pulls(eb_tci) < 0.5 x pulls(dp_tt[epsilon=1])", "HOLDS"),
        ("pulls(dp_tt[epsilon=1]) in 3 to 400", "HOLDS"),
        ("pulls(eb_tci) > pulls(dp_tt[epsilon=1])", "FAILS"),
        ("pulls(dp_tt[epsilon=1]) > lower_bound(dp_tt[epsilon=1])", "HOLDS"),
        ("median_pulls(dp_tt[epsilon=10]) in 100 to 120", "HOLDS"),
        ("median_pulls(dp_tt[epsilon=10]) < 0.5 x median_pulls(dp_tt[epsilon=1])", "HOLDS"),
        ("median_pulls(dp_tt[epsilon=10]) < 112", "NOT DECIDED"),
        ("wrong(dp_tt[epsilon=1]) > 0.1", "HOLDS"),
        ("wrong(eb_tci) < 0.2", "HOLDS"),
        ("wrong(eb_tci) < 0.1", "NOT DECIDED"),
        ("wrong(eb_tci) < wrong(dp_tt[epsilon=1])", "HOLDS"),
        ("capped(dp_tt[epsilon=0.1]) in 0.3 to 0.8", "HOLDS"),
        ("capped(dp_tt[epsilon=0.1]) < 0.1", "FAILS"),
        ("at the worst epsilon: capped(dp_tt) > 0.3", "HOLDS"),
        ("at the worst epsilon: wrong(dp_tt) > 0.1", "HOLDS"),
        ("epsilon(dp_tt[epsilon=1]) <= 1", "HOLDS"),
    ],
)
def test_verdicts(judge, claim, verdict):
    found = judge(claim)
    assert found.verdict == verdict, found.figures


def test_a_mean_is_unknown_if_trials_reached_the_cap(judge):
    found = judge("pulls(dp_tt[epsilon=10]) < 1000")
    assert found.verdict == "NOT DECIDED"
    assert found.figures.startswith("3 of 20 trials of ")
    assert found.figures.endswith("reached the cap, so the mean time is unknown: claim median_pulls(...)")
    half = judge("median_pulls(dp_tt[epsilon=0.1]) < 1000")
    assert half.verdict == "NOT DECIDED" and half.figures.endswith("reached the cap: claim capped(...)")


def test_figures_of_a_verdict(judge):
    share = judge("wrong(dp_tt[epsilon=1]) > 0.1").figures
    assert share == "60.00 % (36.05 % to 80.88 %), 20 trials"
    mean, bound = np.mean(SLOW), times.lower_bound((0.7, 0.4), 1.0, 0.1)
    against = judge("pulls(dp_tt[epsilon=1]) > lower_bound(dp_tt[epsilon=1])").figures
    assert against.startswith(f"{mean:.4g}"[:3]) and f"a lower bound of {bound:.3g}"[:18] in against


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (
            "eb_tci < dp_tt[epsilon=1]",
            "claims about the game best_arm are on lower_bound(...), epsilon(...), pulls(...)",
        ),
        ("at round 10: wrong(eb_tci) < 0.1", "a claim about the game best_arm is about whole trials, and has no round"),
        ("wrong(eb_tci) < pulls(eb_tci)", "wrong(...) can only be compared with a number or wrong(...)"),
    ],
)
def test_claims_that_do_not_fit_the_game(judge, claim, message):
    with pytest.raises(ConfigError) as failed:
        judge(claim)
    assert message in "\n".join(failed.value.errors)
