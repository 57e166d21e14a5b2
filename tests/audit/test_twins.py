"""The search for the field of a state that carries a secret past the release."""

import numpy as np

from privbandits_cli.audit.twins import carrier
from privbandits_cli.numerics.jit import record


def twins(**second):
    first = {"t": 1, "prefix": np.zeros(2), "noise": np.zeros(2), "hint": 0.0}
    return [
        record(t=of["t"], prefix=of["prefix"], wrapped=record(noise=of["noise"], hint=of["hint"]))
        for of in (first, first | second)
    ]


def test_the_carrier_is_the_field_whose_exchange_changes_the_play():
    first, second = twins(prefix=np.array([1.0, 2.0]), hint=3.0)
    before = first.tobytes(), second.tobytes()
    assert carrier(first, second, lambda state: bool(state["wrapped"]["hint"][0] > 0)) == "wrapped.hint"
    assert carrier(first, second, lambda state: bool(state["prefix"].sum() > 0)) == "prefix"
    assert carrier(first, second, lambda state: True) == "prefix, wrapped.hint"
    assert (first.tobytes(), second.tobytes()) == before


def test_equal_fields_are_not_tried_and_no_carrier_has_no_name():
    first, second = twins(noise=np.array([0.0, np.nan]))
    tried = []
    assert carrier(first, second, lambda state: bool(tried.append(state))) == ""
    assert len(tried) == 1
    assert carrier(first, first.copy(), lambda state: True) == ""


def test_a_mixed_state_in_which_a_step_fails_is_no_evidence():
    first, second = twins(prefix=np.ones(2), hint=3.0)

    def differs(state):
        if state["prefix"].sum() > 0:
            raise IndexError("no play leads to this state")
        return True

    assert carrier(first, second, differs) == "wrapped.hint"
