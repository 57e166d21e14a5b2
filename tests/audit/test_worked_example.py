"""The worked example of `docs/privacy/audits.md`: every number of its table, coupled by hand in plain Python."""

import re

import numpy as np
import pytest

from privbandits_cli.audit.auditor import audit
from privbandits_cli.games.bandit import Draws, Setting
from privbandits_cli.games.steps import composition, steps
from tests.conftest import ROOT, make

PAGE = (ROOT / "docs" / "privacy" / "audits.md").read_text(encoding="utf-8")
SMALL = Setting(16, 2)
CHANGED = 2  # the round, from 0, whose gain differs


def example():
    """By round: the arms of A and B, their gains, the means of the arm, its scale of noise, and the move."""
    algorithm = make("dp_ucb", epsilon=1.0, bonus="chernoff", counter="tree").tuned(SMALL)
    bound, rng = steps(composition(algorithm)), np.random.default_rng(5)

    def played(states, gain, u, z):
        after, numbers = states.copy(), Draws(u, z)
        arm = bound["choose"](after[0], numbers)
        bound["update"](after[0], arm, gain, numbers)
        return after, arm, float(after[0].means[arm])

    a, b = algorithm.state(SMALL), algorithm.state(SMALL)
    for t in range(16):
        u, z, gain = rng.random(), rng.laplace(), float(rng.random() < 0.5)
        other = 1 - gain if t == CHANGED else gain
        after, arm, mean = played(a, gain, u, z)
        scale = played(a, gain, u, z + 1)[2] - mean
        unmoved = played(b, other, u, z)[2]
        move = (mean - unmoved) / scale
        b, arm_of_b, moved = played(b, other, u, z + move)
        assert moved == pytest.approx(mean, abs=1e-12)
        a = after
        yield arm, arm_of_b, gain, other, mean, unmoved, scale, move


def test_the_table_of_the_page_is_what_is_played():
    rows = re.findall(r"^\| (\d+) \| (\d) \| (\d), (\d) \| (\S+) \| (\S+) \| (\S+) \| (\S+) \|$", PAGE, re.MULTILINE)
    found = list(example())
    assert all(arm == arm_of_b for arm, arm_of_b, *_ in found)
    for t, arm, gain, other, *numbers in rows:
        own = found[int(t) - 1]
        assert (own[0] + 1, own[2], own[3]) == (int(arm), float(gain), float(other))
        assert numbers == [f"{own[i]:.3f}" if i < 7 else f"{abs(own[7]):.1f}" for i in (4, 5, 6, 7)]
    costly = [t for t, row in enumerate(found, start=1) if abs(row[7]) > 1e-12]
    assert len(rows) > len(costly) and {str(t) for t in costly} <= {row[0] for row in rows}
    total = sum(abs(row[7]) for row in found)
    assert f"the gain of round {CHANGED + 1} costs ε = {total:.1f}" in " ".join(PAGE.split())


@pytest.mark.slow
def test_the_audit_of_the_example_says_what_the_page_says():
    algorithm = make("dp_ucb", epsilon=1.0, bonus="chernoff", counter="tree").tuned(SMALL)
    found = audit(algorithm, SMALL)
    page = " ".join(PAGE.split())
    assert found.verdict == "CONSISTENT" and found.epsilon_seen is not None
    assert f"The audit of this game finds ε = {found.epsilon_seen:.4g}" in page
