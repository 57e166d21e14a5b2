"""Kernels: kept across processes, compiled equals plain Python, and what numba compiles for them."""

import json
import os
import re
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba import config

from privbandits_cli.numerics import jit
from privbandits_cli.numerics.jit import Quick, bind, borrow, borrower, compile_once, compile_step, record, unbound
from tests.conftest import ROOT, some

PROGRAM = """
import json
from numba.core import event
from privbandits_cli.games.bandit import play
from tests.conftest import foe, make, match

class Seen(event.Listener):
    modules = set()
    def on_start(self, found):
        self.modules.add(found.data["module"])
    def on_end(self, found):
        pass

event.register("numba:run_pass", Seen())
regrets = []
for adversary in {adversaries}:
    algorithms = [make(n) for n in {algorithms}]
    regrets.append(play(match(foe(adversary), algorithms, 300), range(3)).tolist())
print(json.dumps([regrets, sorted(filter(None, Seen.modules))]))
"""
FIGURE_1 = ["deterministic", "stochastic", "fully_oblivious", "oblivious", "switching_costs"]
# The adversaries and algorithms of a program, and how many kernels it needs, of which so many play blocks
PROGRAMS = {
    "exp3": (["deterministic"], ["exp3"], 3, 2),
    "figure 1": (FIGURE_1, ["exp3", "dp_exp3_lap", "exp3_tau"], 9, 7),
}


def process(program, cache, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    regrets, modules = json.loads(done.stdout)
    return regrets, modules, {path.name: path.stat().st_ino for path in cache.rglob("*") if path.is_file()}


@pytest.fixture(scope="module", params=some(PROGRAMS, "exp3"))
def program(request):
    return request.param


@pytest.fixture(scope="module")
def runs(program, tmp_path_factory):
    """Two processes one after the other with one cache."""
    cache = tmp_path_factory.mktemp("cache")
    return process(code_of(program), cache), process(code_of(program), cache)


def code_of(program):
    adversaries, algorithms, *_ = PROGRAMS[program]
    return PROGRAM.replace("{adversaries}", str(adversaries)).replace("{algorithms}", str(algorithms))


def test_a_second_process_compiles_nothing(runs):
    (_, compiled, first), (_, nothing, second) = runs
    assert first and first == second
    assert compiled and not nothing


def test_few_kernels_are_needed_and_none_of_numbas_text(program, runs):
    """Assigning to a slice, `.max()` and the like raise errors with a text, for which numba compiles for seconds."""
    _, modules, files = runs[0]
    kernels = [name.partition("__")[0] for name in files]
    assert (len(kernels), kernels.count("play_block")) == PROGRAMS[program][2:]
    assert "privbandits_cli.games.lockstep" in modules
    assert not [module for module in modules if module.startswith("numba.cpython.unicode")]


@pytest.mark.slow
def test_compiled_equals_plain_python_bit_for_bit(runs, program, tmp_path):
    assert runs[0][0] == runs[1][0] == process(code_of(program), tmp_path, NUMBA_DISABLE_JIT="1")[0]


def test_records_nest_and_refuse_names_that_numpy_hides():
    outer = record(a=1, inner=record(x=np.arange(3.0), n=2))
    assert outer.shape == (1,) and outer[0].inner.x.tolist() == [0, 1, 2] and outer[0].inner.n == 2
    outer[0].inner.x[1] = 9
    assert outer[0].inner.x[1] == 9
    with pytest.raises(ValueError, match="base"):
        record(base=1.0)


def test_an_unbound_step_raises():
    with pytest.raises(RuntimeError, match="before its base"):
        unbound(None)


def first_numbers(rows, out):
    rows = borrow(rows)
    for i in range(len(rows)):
        out[i] = head(rows[i])


def head(row):
    if row[0] < 0:
        raise ValueError("a way out of the loop, which keeps numba from seeing that its counts cancel")
    return row[0]


def test_rows_of_a_borrowed_array_are_read_and_not_counted(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))  # a cached kernel has no code to inspect
    counted, borrowed = bind(first_numbers), bind(first_numbers, borrow=borrower())
    rows, found = np.arange(12.0).reshape(4, 3), np.zeros((2, 4))
    counts = []
    for loop, out in zip((counted, borrowed), found, strict=True):
        loop(rows, out)
        assert sys.getrefcount(rows) == 2
        (code,) = loop.inspect_llvm().values()
        counts.append(code.count("call void @NRT_incref"))
    assert found.tolist() == [[0, 3, 6, 9]] * 2
    assert counts[1] < counts[0]


half = unbound


def noisy_half(x):
    if x == 0.0:
        print("half of", x)
    if x < 0.0:
        raise ValueError("below zero", x)
    return 0.5 * x


def halves(xs):
    total = 0.0
    for i in range(len(xs)):
        total += half(xs[i])
    return total


def test_a_loop_makes_machine_code_of_its_parts(capfd):
    """A part prints and raises like any function, both when the loop is compiled and when it is loaded from disk."""
    for _ in range(2):
        part = compile_step(noisy_half)
        loop = bind(halves, half=part)
        assert loop(np.array([1.0, 0.0, 2.0])) == 1.5
        with pytest.raises(ValueError, match="below zero") as raised:
            loop(np.array([-3.0]))
        assert raised.value.args == ("below zero", -3.0)
    assert capfd.readouterr().out == 2 * "half of 0.0\n"


def test_python_may_call_a_part(monkeypatch, tmp_path):
    """The part is then compiled on its own, and kept. Loops that contain it are not affected."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    part = compile_step(noisy_half)
    assert part(3.0) == 1.5
    assert compile_step(halves, half=part)(np.array([1.0, 3.0])) == 2.0
    with pytest.raises(ValueError, match="below zero"):
        part(-1.0)
    assert sorted(path.name.partition("__")[0] for path in tmp_path.rglob("*.nbc")) == ["halves", "noisy_half"]
    again = compile_step(noisy_half)
    assert again(3.0) == 1.5 and again.alone.stats.cache_hits and not again.alone.stats.cache_misses


def test_no_other_process_has_functions_of_these_names(monkeypatch, tmp_path):
    """A loop from another process may have numbered its functions and records in the same way."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))  # a loop from disk has lost these names
    loop = bind(halves, half=compile_once(noisy_half))
    loop(np.ones(2))
    (compiled,) = loop.overloads.values()
    own = [one.name for one in compiled.library.get_defined_functions() if re.search("noisy_half|halves", one.name)]
    assert len(own) > 1 and all(jit.PROCESS in name for name in own)


def test_a_quick_kernel_is_compiled_at_the_first_level():
    """After that, the level is as before."""
    quick = Quick(lambda: int(vars(config)["OPT"]))
    before = quick.kernel()
    assert before > 1
    assert (quick(), quick()) == (1, before)
