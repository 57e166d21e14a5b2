"""Never wrong: random programs play in lockstep as in plain Python, and as by the loop for one trial, byte for byte.

The programs are sharp: with each of a list of bugs in the compiler, some of them differ.
"""

from contextlib import suppress

import numpy as np
import pytest

from privbandits_cli.numerics.jit import without_jit
from privbandits_cli.spmd.source import Unsupported
from tests.conftest import some
from tests.spmd.bugs import BUGS, OF_GAMES, planted
from tests.spmd.playing import GAMES, ROUNDS, Alone, game_of, one_by_one, other_game_of, plainly, play_other, together
from tests.spmd.programs import Writer
from tests.spmd.test_steps import file_of

FEW, MANY, PARTS = 40, 2000, 40  # programs, each of four random functions
NAMED = {  # of the first programs none finds these bugs
    "a continue leaves the loop": (
        "for i in range(5):\n    if state.f[i & 3] > rng.uniform:\n        continue\n    state.x += rng.uniform"
    ),
    "a break does not end a loop over a range": (
        "for i in range(5):\n    if state.f[i & 3] > rng.uniform:\n        break\n    state.x += rng.uniform"
    ),
    "the variable of a loop is that of the trial with most turns": (
        "i = 0\nfor i in range(arm + 1):\n    state.x += 1.0\nstate.c = i"
    ),
    "a return in a loop leaves only the turn": (
        "for i in range(3):\n    if state.f[3 - i] > rng.uniform:\n        return\n    state.x += 1.0"
    ),
    "a chained comparison is evaluated whole": "state.x = 1.0 if 0 < arm < 6 // arm else 0.5",
    "NaN does not differ from NaN": "state.x = 1.0 if state.v[1] != state.v[1] else 0.5",
    "kinds are not widened": "z = 0\nfor i in range(40):\n    z = z * 0.5 + rng.uniform\nstate.x = z",
    "a negative quotient is rounded towards 0": "state.a[arm] = -7 // int(arm + 2)",
    "argmin passes over NaN": "state.c = np.argmin(state.v)",
    "an index out of bounds is not noted": "state.x = state.f[int(state.a[1]) + state.t]",
}
FAST = ("a store has no mask", "a continue leaves the loop", "argmin passes over NaN")
ERRORS = 0.015  # the chance that a statement may raise an error
PLAYED = 0.9  # at least, of all programs, in lockstep


def differs(game, other=plainly, **how):
    """Whether lockstep plays a game otherwise; Unsupported if it does not play it."""
    here = together(game, **how)
    if isinstance(here.error, Unsupported):
        raise here.error
    there = other(game)
    if isinstance(here.error, Alone):
        return there.error is None
    return here != there


def count(seeds, differs):
    """Seeds of programs that differ, and how many programs lockstep does not play."""
    wrong, left = [], 0
    for seed in seeds:
        try:
            if differs(seed):
                wrong.append(seed)
        except Unsupported:
            left += 1
    return wrong, left


def program(seed, folder, errors=ERRORS, compiled=False):
    """The game of a bandit's random program."""
    return game_of(Writer(seed, errors, compiled).file(), folder)


@pytest.mark.parametrize("step", some([2, 5, 10], 10))
def test_random_programs_are_played_as_in_plain_python(step, tmp_path):
    wrong, left = count(range(0, FEW, step), lambda seed: differs(program(seed, tmp_path)))
    assert wrong == [] and left <= (1 - PLAYED) * FEW / step


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_some_thousand_programs_are_played_as_in_plain_python(part, tmp_path):
    wrong, left = count(range(1000 + part, 1000 + MANY, PARTS), lambda seed: differs(program(seed, tmp_path)))
    assert wrong == [] and left <= (1 - PLAYED) * MANY / PARTS


@pytest.mark.slow
@pytest.mark.parametrize("width", [8, 16, 32])
def test_programs_of_compiled_loops_are_played_as_by_the_loop_for_one_trial(width, tmp_path):
    seeds = range(width, 100 * width, 32)
    wrong, left = count(seeds, lambda seed: differs(program(seed, tmp_path, compiled=True), one_by_one, width=width))
    assert wrong == [] and left <= 0.25 * 100


@pytest.mark.slow
def test_errors_are_those_of_the_loop_for_one_trial(tmp_path):
    """The same class and message, and as many errors as make this a test."""
    raised = 0
    for seed in range(3000, 3060):
        game = program(seed, tmp_path, errors=0.06)
        here, there = together(game).error, one_by_one(game).error
        if isinstance(here, Alone):
            played = together(game, again=True).error
            assert (type(played), str(played)) == (type(there), str(there)) and there is not None
            raised += 1
        elif not isinstance(here, Unsupported):
            assert there is None
    assert raised >= 10


TRIALS, CUTS, WIDTHS = (1, 2, 9), (ROUNDS, 7, 1, ROUNDS), (8, 8, 3)  # of seeds, in turn


def found(error):
    """An error as a user sees it."""
    return type(error), str(error)


def other_differs(seed, name, folder, errors=ERRORS, compiled=True):
    """Whether lockstep plays a program of another game otherwise than the loop for one trial, or than plain Python."""
    writer = Writer(seed, errors, compiled, name)
    game = other_game_of(writer.file(), folder, name, writer.size)
    trials, block, width = range(TRIALS[seed % 3]), CUTS[seed % 4], WIDTHS[seed // 7 % 3]
    here = play_other(game, trials, block, width)
    if isinstance(here.error, Unsupported):
        raise here.error
    with without_jit(not compiled), np.errstate(all="ignore"):
        there = play_other(game, trials, block, 1)
    if here.error is None or there.error is None:
        return here != there
    if not compiled:  # the errors of plain Python have other words
        return False
    if isinstance(here.error, Alone):
        here = play_other(game, trials, block, width, again=True)
    if block == ROUNDS:
        return found(here.error) != found(there.error)
    errors = [play_other(game, [k], block, 1).error for k in trials]  # the first block with an error has it
    return found(here.error) not in map(found, filter(None, errors))


@pytest.mark.parametrize("programs", some([2, 4], 2))
@pytest.mark.parametrize("name", GAMES)
def test_programs_of_other_games_are_played_as_in_plain_python(name, programs, tmp_path):
    wrong, left = count(range(programs), lambda seed: other_differs(seed, name, tmp_path, compiled=False))
    assert wrong == [] and left <= 1


@pytest.mark.slow
@pytest.mark.parametrize("errors", [ERRORS, 0.06])
@pytest.mark.parametrize("name", GAMES)
def test_programs_of_other_games_are_played_as_by_the_loop_for_one_trial(name, errors, tmp_path):
    seeds = range(2000, 2000 + MANY // 20)
    wrong, left = count(seeds, lambda seed: other_differs(seed, name, tmp_path, errors=errors))
    assert wrong == [] and left <= 0.25 * MANY / 20


@pytest.mark.parametrize("bug", some(BUGS, *FAST))
def test_a_bug_in_the_compiler_is_found(bug, tmp_path):
    texts = [file_of(NAMED[bug])] if bug in NAMED else (Writer(seed, ERRORS).file() for seed in range(FEW))
    for text in texts:
        game = game_of(text, tmp_path)
        with planted(bug), suppress(Unsupported):
            if differs(game):
                return
    pytest.fail("no program differs")


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("bug", OF_GAMES)
def test_a_bug_is_found_in_another_game(bug, name, tmp_path):
    with planted(bug):
        assert any(other_differs(seed, name, tmp_path, compiled=False) for seed in range(FEW))
