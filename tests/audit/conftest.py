"""Audits in plain Python, for games so short that compiling them takes longer."""

from functools import cache

import numpy as np
import pytest

from privbandits_cli.audit import mutants, target
from privbandits_cli.numerics.jit import uncompiled
from tests.conftest import some


@pytest.fixture
def plainly(monkeypatch):
    """Loops are plain Python, and no loop is kept for the tests that compile."""
    for module, name in ((target, "_compiled"), (target, "_reader"), (mutants, "mutated")):
        monkeypatch.setattr(module, name, cache(getattr(module, name).__wrapped__))
    with uncompiled(), np.errstate(over="ignore"):
        yield


@pytest.fixture(params=some([True, False], True), ids=["plain", "compiled"])
def either(request):
    """An audit in plain Python, and in `make test-all` also compiled."""
    if request.param:
        request.getfixturevalue("plainly")
