"""Digests of code see every change of what is computed, and no other."""

import types
from pathlib import Path

import numpy as np
import pytest
from numba import typeof

from privbandits_cli.algorithms import exp3
from privbandits_cli.audit import compiled, twins
from privbandits_cli.audit.tape import new_tape
from privbandits_cli.games import bandit
from privbandits_cli.games.steps import composition
from privbandits_cli.numerics import digests
from privbandits_cli.numerics.digests import essence, imports, of_function, of_modules
from privbandits_cli.numerics.jit import compile_step
from tests.conftest import foe, make, match, playing

FUNCTION = '''
import numpy as np
from privbandits_cli.games import lockstep

LIMIT = 3
TABLE = np.arange(4.0)


def helper(x):
    """Twice."""
    return 2.0 * x


def step(state, scale=0.5):
    """A step."""
    total = 0.0
    for i in range(LIMIT):
        total += scale * helper(state[i]) + TABLE[i] - lockstep.LANES
    return total
'''


def digest(source, places=False, **names):
    """The digest of the function `step` of a source."""
    module = types.ModuleType("example")
    exec(compile(source, "example.py", "exec"), module.__dict__)
    vars(module).update(names)
    return of_function(module.step, places=places)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A step.", "Another sentence."),
        ("Twice.", "Two times x."),
        ("    total = 0.0", "    # from zero\n\n    total = 0.0  # a comment"),
        ("LIMIT = 3", "OTHER = 7\nLIMIT = 3"),
        ("def helper(x):", "def unused():\n    return 1\n\n\ndef helper(x):"),
    ],
)
def test_what_is_not_computed_does_not_count(old, new):
    changed = FUNCTION.replace(old, new)
    assert changed != FUNCTION and digest(changed) == digest(FUNCTION)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("total = 0.0", "total = -0.0"),
        ("total = 0.0", "total = 0"),
        ("LIMIT = 3", "LIMIT = 2"),
        ("LIMIT = 3", "LIMIT = 3.0"),
        ("np.arange(4.0)", "np.arange(4.0)[::-1]"),
        ("np.arange(4.0)", "np.arange(4.0).astype(np.float32)"),
        ("2.0 * x", "x * 2.0"),
        ("2.0 * x", "2.5 * x"),
        ("scale=0.5", "scale=0.25"),
        ("helper(state[i])", "helper(state[0])"),
        ("lockstep.LANES", "lockstep.TOTAL[0]"),
        ("def helper(x):", "def helper(x, y=1):"),
    ],
)
def test_what_is_computed_counts(old, new):
    changed = FUNCTION.replace(old, new)
    assert changed != FUNCTION and digest(changed) != digest(FUNCTION)


def test_a_constant_of_a_module_of_the_package_counts(monkeypatch):
    before = digest(FUNCTION)
    monkeypatch.setattr("privbandits_cli.games.lockstep.LANES", 5)
    assert digest(FUNCTION) != before


def test_lines_count_where_errors_name_them():
    moved = FUNCTION.replace("    total = 0.0", "\n    total = 0.0")
    assert digest(moved) == digest(FUNCTION) and digest(moved, places=True) != digest(FUNCTION, places=True)


def test_a_users_module_counts_because_its_kernels_name_it():
    one, other = (types.FunctionType(times.__code__, {"__name__": name, "scaled": scale}) for name in ("one", "other"))
    assert of_function(one) == of_function(other) and of_function(one, places=True) != of_function(other, places=True)


def test_a_value_that_numba_alone_knows_is_equal_to_none_of_another_process():
    unknown = object()
    changed = FUNCTION.replace("TABLE[i]", "TABLE")
    assert digest(changed, TABLE=unknown) != digest(changed, TABLE=unknown)


def scale(x):
    return FACTOR * x


FACTOR: float = 1.0


def times(x):
    return scaled(x)


scaled = scale


def test_a_step_that_is_filled_in_counts_with_its_own_constants():
    half, third = (compile_step(times, scaled=compile_step(scale, FACTOR=factor)) for factor in (0.5, 1 / 3))
    again = compile_step(times, scaled=compile_step(scale, FACTOR=0.5))
    assert of_function(half.py_func) == of_function(again.py_func) != of_function(third.py_func)


def test_the_same_loops_have_the_same_digests_in_every_process(monkeypatch):
    """A digest of an unknown value would let every process compile the loop again."""

    def unknown():
        raise AssertionError("a loop holds a value of a kind that has no digest")

    monkeypatch.setattr(digests.uuid, "uuid4", unknown)
    for name in playing("algorithms"):
        game = match(foe("stochastic"), [make(name)], 300)
        (algorithm,) = game.algorithms
        layout = bandit.Games.first(algorithm, game.setting).dtype
        assert bandit.Games.loop(game, algorithm).play.__qualname__.startswith("play_block__")
        assert bandit.loop(composition(algorithm), layout, False).__qualname__.startswith("play_trial__")


# ------------------------------------------------------------------------------------------------- modules


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of three modules, of which `a` imports `b`."""
    monkeypatch.setattr(digests, "ROOT", tmp_path / digests.PACKAGE)
    for found in (digests._module, digests._file):
        found.cache_clear()
    files = {
        "__init__": "",
        "a": f"from {digests.PACKAGE} import (\n    b,  # of two\n)\n",
        "b": "X = 1\n",
        "c": "Y = 2",
    }
    (tmp_path / digests.PACKAGE).mkdir()
    for name, source in files.items():
        (tmp_path / digests.PACKAGE / f"{name}.py").write_text(source)

    def write(name, source):
        (tmp_path / digests.PACKAGE / f"{name}.py").write_text(source)
        digests._module.cache_clear()
        return of_modules([f"{digests.PACKAGE}.a"])

    yield write
    for found in (digests._module, digests._file):
        found.cache_clear()


def test_a_module_counts_with_what_it_imports(package):
    before = package("b", "X = 1\n")
    assert package("b", '"""A docstring, of\n\ntwo lines."""\n\n# a comment\nX = 1  # the first\n') == before
    assert package("c", "Y = 3\n") == before
    assert package("b", "X = 2\n") != before
    assert package("b", "X = 1\n") == before


def test_only_what_is_no_code_is_left_out():
    source = 'x = "a # b"  # c\ny = 1 # it\'s\n    # d\n\nz = """e\n  f"""\n    """g"""\n'
    kept = ['x = "a # b"', "y = 1 # it's", 'z = """e', '  f"""']
    assert essence(source.encode()).decode().splitlines() == kept


def test_imports_are_found_where_they_stand():
    found = imports(Path(exp3.__file__).read_bytes())
    assert {"privbandits_cli.games.bandit", "privbandits_cli.numerics.jit"} <= set(found)
    assert "privbandits_cli.audit.compiled" in imports(Path(twins.__file__).read_bytes())  # named in a string


def test_the_type_of_a_tape_tells_the_code_of_its_methods():
    """A kernel on disk is found by the names of the types of its arguments; a tape is such an argument."""
    assert of_modules(["privbandits_cli.audit.compiled"]) in str(typeof(new_tape(np.random.default_rng(0))))
    assert "privbandits_cli.audit.tape" in imports(Path(compiled.__file__).read_bytes())
