import pytest

from privbandits_cli.audit.evidence import by_groups

SEEDS = [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)]


def conforms(noise):
    """The p-value of numbers as standard Laplace noise, neither too small nor too large."""
    found = by_groups(noise, {}, 0.001)
    return min(found.p, found.more)
