import pytest

from privbandits_cli.audit.evidence import by_groups

SEEDS = [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)]


def some(mutants, every=6):
    """These mutants as parameters of a test: one of so many, and the first of each subject, is not long."""
    seen, found = set(), []
    for i, mutant in enumerate(mutants):
        fast = i % every == 0 or mutant.subject not in seen
        seen.add(mutant.subject)
        marks = [] if fast else [pytest.mark.slow]
        found.append(pytest.param(mutant, marks=marks, id=f"{mutant.subject}, {mutant.name}"))
    return found


def conforms(noise):
    """The p-value of numbers as standard Laplace noise, neither too small nor too large."""
    found = by_groups(noise, {}, 0.001)
    return min(found.p, found.more)
