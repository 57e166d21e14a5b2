"""Small programs that the compiler once played wrongly: lockstep plays them as plain Python does, byte for byte."""

import pytest

from privbandits_cli.spmd.source import Unsupported
from tests.spmd.playing import Alone, game_of, one_by_one, plainly, together
from tests.spmd.programs import HEAD

ARM = "\n\ndef choose(state, rng):\n    return state.t & 3\n\n\ndef update(state, arm, gain, rng):\n    state.t += 1\n"


def file_of(steps, head=HEAD):
    """A user's file with these statements in `update`."""
    return head + ARM + "".join(f"    {line}\n" for line in steps.splitlines())


def played(steps, folder, head=HEAD):
    """Such a file, in lockstep and in plain Python."""
    game = game_of(file_of(steps, head), folder, rounds=6)
    return together(game), plainly(game)


@pytest.mark.parametrize(
    "steps",
    [
        "old = state.f * 2.0\nstate.f[arm] = rng.uniform\nstate.v[:] = old",
        "old = state.f + rng.uniform\nstate.f[:] = 0.5 * rng.uniform\nstate.x += old[arm] + old[-1]",
        "state.a[arm] = 2**62 + state.t\nstate.a[:] = state.a.sum() - 2**62",
        "state.c = (state.t & 1) or 5\nstate.x = (arm and 0.5 * rng.uniform) + 1.0\nstate.a[0] = arm and 7",
        "state.b = (state.b ^ rng.bits) * np.uint64(13787848793156543929)",
        "state.x = TABLE[7] if arm == 9 else 0.5",
        "state.x = 2.0 if 0 < arm < 6 // arm else 0.5",
        "state.v[:] = state.f / (state.inner.y + 0.5)",
        "state.m[:] = rng.uniform\nstate.f /= state.f.max() + 1.0\nstate.f -= state.f.min()",
        "row = state.m[arm]\nrow += rng.uniform",
        "state.x = sum(state.f) - np.max(state.f)\nstate.a += 2\nstate.b = rng.bits % np.uint64(10) // np.uint64(3)",
        "state.x = min(2.0, np.inf - np.inf)\nstate.inner.y = max(np.inf - np.inf, rng.uniform)",
        "y = +state.f\nstate.f[arm] = rng.uniform\nstate.v[:] = y",
        "state.x = 5.0 // state.inner.y if state.inner.y > 9.0 else rng.uniform",
        "if arm == 9:\n    state.x = 5.0 % (state.x - state.x)\nstate.inner.y = rng.uniform",
        "if rng.uniform >= 0.0:\n    return\nstate.x = 5.0 // (state.x - state.x)",
        "state.x = state.inner.y ** (arm - 9) if state.inner.y > 9.0 else rng.uniform",
    ],
)
def test_it_is_played_as_in_plain_python(steps, tmp_path):
    here, there = played(steps, tmp_path)
    assert here.error is None and here == there


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ("state.m[:] = state.m[::-1]", "a matrix to itself"),
        ("state.f[1:] += state.f[:-1]", "with another part of it"),
        ("old = state.f * 2.0\nold += 1.0", "write `x = x + ...`"),
        ("state.a += 0.5", "another kind than the array"),
        ("state.x = 1.0 / ZERO if arm == 9 else 0.5", "division by zero"),
        ("u, v = min((arm, 2))", "`min` or `max` of one value"),
        ("state.f[:] = state.m.max()", "no array of one dimension"),
        ("state.x = np.sum(state.m[:2]) + np.min(TABLE)", "no array of one dimension"),
        ("state.x = sum((rng.uniform, 0.5))", "no array of one dimension"),
        ("state.x = state.f[rng.uniform > 0.5]", "an index that is no whole number"),
        ("state.x = (state.f * 2.0)[rng.uniform]", "an index that is no whole number"),
        ("state.x = TABLE[4.0 * rng.uniform]", "an index that is no whole number"),
        ("np.floor(state.f, state.v)", "the arguments of floor"),
        ("np.minimum(state.f, 0.5, state.v)", "arguments of this function"),
        ("state.c = np.argmax(state.f, 0)", "arguments of this function"),
    ],
)
def test_it_has_no_form_for_several_trials(steps, reason, tmp_path):
    found = played(steps, tmp_path, HEAD.replace("TABLE =", "ZERO = np.float64(0.0)\nTABLE ="))[0]
    assert isinstance(found.error, Unsupported) and reason in str(found.error) and "of update" in str(found.error)


def test_an_error_ends_a_loop_whose_trials_all_go_on(tmp_path):
    here, there = played("n = int(state.c)\nwhile n > 0:\n    n = 6 // int(state.c - 3) + 1", tmp_path)
    assert isinstance(here.error, Alone) and isinstance(there.error, ZeroDivisionError)


HELPER = "\n\ndef changed(state, arm):\n    state.f[arm] = -3.0\n    state.x = 5.0\n    return 0.25\n"


@pytest.mark.parametrize("steps", ["state.f[arm] += changed(state, arm)", "state.x -= changed(state, arm)"])
def test_a_number_changed_in_place_is_read_before_the_other_side_changes_it(steps, tmp_path):
    here, there = played(steps, tmp_path, HEAD + HELPER)
    assert here.error is None and here == there


TEST = "\n\ndef tick(state):\n    state.c += 1\n    return state.c % 40\n"


@pytest.mark.parametrize(
    "leaves",
    ["    if k == arm:\n        return", "    if k == arm:\n        break", "    if state.t == 3:\n        break"],
)
def test_who_has_left_a_loop_does_not_evaluate_its_test(leaves, tmp_path):
    steps = f"k = 0\nwhile k < 9 and tick(state) < 30:\n    k += 1\n{leaves}\nstate.x = k * 1.0"
    here, there = played(steps, tmp_path, HEAD + TEST)
    assert here.error is None and here == there


@pytest.mark.parametrize(
    "steps", ["for k in range(8):\n    state.v[k % 4] = 1.37 ** (k * 7)", "state.x = TABLE[1] ** 3"]
)
def test_a_power_of_known_numbers_is_that_of_compiled_code(steps, tmp_path):
    """Numba multiplies; Python's own power may differ in the last digit."""
    game = game_of(file_of(steps), tmp_path, rounds=6)
    assert together(game) == one_by_one(game)


def test_a_value_that_is_returned_in_some_cases_only_is_not_a_number(tmp_path):
    helper = "\n\ndef some(u):\n    if u > 0.5:\n        return u\n"
    found = played("if not some(rng.uniform):\n    state.x = 1.0", tmp_path, HEAD + helper)[0]
    assert isinstance(found.error, Unsupported) and "some returns a value in some cases only" in str(found.error)


def test_a_division_of_arrays_by_zero_is_played_alone(tmp_path):
    """It is no error there, as compiled code divides them by NumPy's rules."""
    assert isinstance(played("state.v[:] = state.f // (state.x - state.x)", tmp_path)[0].error, Alone)


ONCE = """

from privbandits_cli.numerics.jit import once


@once
def above(state, limit: float, strict: bool) -> bool:
    state.c += 1
    bump = state.x if strict else tiny(state)
    return bump > limit if strict else bump >= limit


def tiny(state):
    state.a[0] += 1
    return state.x
"""


def test_what_one_trial_plays_alone_takes_and_returns_bools(tmp_path):
    """Each trial has its own; a number may be changed within an expression that few trials evaluate."""
    steps = "state.x = rng.uniform\nwell = above(state, 0.5, arm > 1)\nstate.v[arm] = 1.0 if well else -1.0"
    here, there = played(steps, tmp_path, HEAD + ONCE)
    assert here.error is None and here == there


def test_a_field_that_only_such_a_function_changes_differs_between_trials(tmp_path):
    head = f"{HEAD}{ONCE}\n\n@once\ndef noted(state, u: float) -> float:\n    state.inner.y = u\n    return u\n"
    here, there = played("state.x = noted(state, rng.uniform)\nstate.v[arm] = state.inner.y", tmp_path, head)
    assert here.error is None and here == there


@pytest.mark.parametrize("given", ["(1, 2)", "np.ones(2)"])
def test_a_tuple_or_a_global_array_is_no_argument_of_what_one_trial_plays_alone(given, tmp_path):
    """`(1, 2)` equals `(1.0, 2.0)`, for which the code would be another."""
    head = f"{HEAD}{ONCE}\nGIVEN = {given}\n\n\n@once\ndef first(pair, x: float) -> float:\n    return pair[0] * x\n"
    error = played("state.x = first(GIVEN, rng.uniform)", tmp_path, head)[0].error
    assert isinstance(error, Unsupported) and "a tuple or a global array" in str(error)
