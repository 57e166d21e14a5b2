"""Bugs to plant in the compiler: a text in the source of one function, and what stands there instead."""

import inspect
import textwrap
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from privbandits_cli.spmd import source
from privbandits_cli.spmd.arithmetic import Arithmetic
from privbandits_cli.spmd.interpreter import Interpreter
from privbandits_cli.spmd.memory import Memory


class Change(NamedTuple):
    """One change in a function or method."""

    owner: Any  # a class or module
    name: str
    old: str
    new: str


BREAK = "if isinstance(one, ast.Break) else {}"
BUGS = {
    "a variable keeps no old value in other trials": [
        Change(Interpreter, "assign", "elif outer and is_numeric(old):", "elif False:")
    ],
    "the variable of a loop is that of the trial with most turns": [
        Change(Interpreter, "turn_of", "if target.id not in own_turns(self.frame.tree):", "if False:")
    ],
    "a conditional expression is evaluated in all trials": [
        Change(Interpreter, "guarded", "with self.under(mask):", "with self.under(self.mask):")
    ],
    "a branch forgets the mask around it": [
        Change(Interpreter, "_of_If", "self.both(self.mask.ir, taken)", "self.both(None, taken)")
    ],
    "a chained comparison is evaluated whole": [
        Change(Interpreter, "_of_Compare", "self.guarded(holds, part)", "self.read(part)")
    ],
    "a store has no mask": [Change(Memory, "put", "if mask is not None:", "if False:")],
    "a continue leaves the loop": [
        Change(source, "_structured", BREAK, "if True else {}"),
        Change(source, "_breaks", "not isinstance(part, ast.Continue)", "True"),
    ],
    "a break does not end a loop over a range": [
        Change(Interpreter, "loop", "if until is None else", "if until is None or isinstance(node, ast.For) else")
    ],
    "a return in a loop leaves only the turn": [
        Change(source, "_structured", "for flag in (_skip(loop), _leave(loop))", "for flag in (_skip(loop),)")
    ],
    "what follows an early return is played": [
        Change(source, "_unless", "if not rest:\n        return []", "return _structured(rest, loops, depth)")
    ],
    "np.minimum of NaN is the other number": [
        Change(Arithmetic, "extremum", "self.missing(one), Known(True)", "self.missing(one), Known(False)")
    ],
    "min of NaN is the other number": [
        Change(
            Arithmetic,
            "least",
            "self.compare(sign, value, found), value, found",
            "self.compare(sign, found, value), found, value",
        )
    ],
    "NaN does not differ from NaN": [Change(Arithmetic, "compare", "b.fcmp_unordered if", "b.fcmp_ordered if")],
    "a negative quotient is rounded towards 0": [
        Change(Arithmetic, "divided", "b.sub(quotient, b.zext(off, left.ir.type))", "quotient")
    ],
    "a negative remainder has the sign of the dividend": [
        Change(Arithmetic, "divided", "b.add(rest, b.select(off, right.ir, none))", "rest")
    ],
    "an unsigned number is shifted with its sign": [Change(Arithmetic, "binary", '"lshr" if', '"ashr" if')],
    "errors are not noted": [Change(Arithmetic, "fault", "isinstance(condition, Known) and not condition.py", "True")],
    "errors of other trials are noted": [
        Change(Arithmetic, "fault", "self.both(self.mask.ir, condition)", "self.both(None, condition)")
    ],
    "an index out of bounds is not noted": [Change(Memory, "within", "self.fault(beyond)", "pass")],
    "a negative index is out of bounds": [Change(Memory, "within", "self.binary(ast.Add, i, size)", "i")],
    "kinds are not widened": [Change(Memory, "store_slot", "wider(known[0], value.kind)", "known[0]")],
    "a field differs after a store of different numbers only": [
        Change(Memory, "store", "value.varying or varying or some", "value.varying or varying")
    ],
    "the last entry is never found": [Change(Memory, "load", "for k in range(1, n):", "for k in range(1, n - 1):")],
    "argmin passes over NaN": [
        Change(Interpreter, "first_best", "self.select(self.missing(own), Known(True), better)", "better")
    ],
}
OF_GAMES = {  # in other games than bandits, which give no arrays
    "an index of what a game gives is not checked": [
        Change(Interpreter, "part", "array.checked or self.frame.step.checked", "array.checked")
    ]
}


@contextmanager
def planted(name):
    """The compiler with a bug of this name."""
    with pytest.MonkeyPatch.context() as patch:
        for owner, function, old, new in (BUGS | OF_GAMES)[name]:
            made = vars(owner)[function]
            text = textwrap.dedent(inspect.getsource(made))
            assert text.count(old) == 1, f"{function}: {old}"
            names = dict(made.__globals__)
            exec("from __future__ import annotations\n" + text.replace(old, new), names)
            patch.setattr(owner, function, names[function])
        yield
