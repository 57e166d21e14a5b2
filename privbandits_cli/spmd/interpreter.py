"""Reads a step: each statement and expression of its source becomes code for several trials.

Names stand for values (`values`). A call is read in place, so nothing is called when the code runs. Where a condition
is the same in all trials, the code branches on it. Where it differs, each side is played under a mask, in turn, and is
skipped if no trial takes it; a side of few operations is not skipped, as the jump would take longer.

A variable that a branch assigns has a slot in memory, of a kind that holds all that is ever stored there. The kinds are
learned by reading the step until nothing new is found (`program`).
"""

import ast
import builtins
import copy
import functools
import inspect
import math
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from privbandits_cli.numerics import reals
from privbandits_cli.spmd.arithmetic import MATHS, Mask, builder_of
from privbandits_cli.spmd.memory import FEW, WORD, Learned, Memory, is_number, is_numeric
from privbandits_cli.spmd.source import RESULT, Step, Unsupported, assigned, own_turns, tree_of, unsupported
from privbandits_cli.spmd.values import (
    ADDRESS,
    I1,
    I32,
    I64,
    LLVM,
    LONGEST,
    Array,
    Fields,
    Known,
    Lazy,
    Method,
    Number,
    Record,
    Several,
    kind_of,
)

CHEAP = 6  # operations under a mask that take no longer than a jump
UNROLLED = 500  # operations of a loop that is written out
DEEPEST = 40  # calls within calls
ROUNDED = {np.sqrt: "sqrt", math.sqrt: "sqrt", np.floor: "floor", np.ceil: "ceil", abs: "fabs", np.abs: "fabs"}
WHOLE = {math.floor: "floor", math.ceil: "ceil"}
CASTS = {float: "f", np.float64: "f", int: "i", np.int64: "i", bool: "b", np.uint64: "u"}
RESULTS = {float: "f", int: "i", bool: "b"}  # what a function returns, by its annotation
Text = ast.expr | ast.stmt
IN_SLOT = Known("in its slot")  # what a name stands for until it is read


class Frame:
    """A call that is being read."""

    def __init__(self, step: Step, path: tuple[Any, ...]) -> None:
        self.step, self.path = step, path
        self.names: dict[str, Any] = {}
        self.slotted: frozenset[str] = frozenset()  # names that the branches around here assign
        self.block = 0  # the number of the branch or loop
        self.first: dict[str, tuple[int, int]] = {}  # the region and block in which a name was first assigned
        self.in_slot: dict[str, Any] = {}  # the values that are in the slots of names

    @property
    def tree(self) -> ast.FunctionDef:
        """The structured source of its function."""
        return tree_of(self.step.function)


class Interpreter(Memory):
    """Emits the code of steps, with everything that they call."""

    def __init__(
        self, context: Any, builder: Any, width: int, dry: bool, learned: Learned, spacing: int | None = None
    ) -> None:
        super().__init__(context, builder, width, dry, learned, spacing)
        self.frame = Frame(Step(unsupported), ())
        self.turns: tuple[int, ...] = ()
        self.blocks = 0
        self.above: list[Frame] = []  # calls that are being read
        self.inside = spacing is not None  # a function that is played alone; its own calls are read in place
        self.alone: dict[Any, Any] = {}  # functions that are played for one trial after the other

    # ------------------------------------------------------------------------------------------ calls

    def play(
        self, step: Step, arguments: Sequence[Any], named: Mapping[str, Any] = {}, node: ast.AST | None = None
    ) -> Any:
        """Read a step, or a function that is inlined where it is called, and return its result."""
        function, outer, tree = step.function, self.frame, tree_of(step.function)
        place = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
        frame = Frame(step, (*outer.path, (function.__name__, place, self.turns)))
        if any(one.step is step for one in self.above):
            unsupported(f"{function.__name__} calls itself")
        only = tree.args.kwonlyargs
        if tree.args.vararg or tree.args.kwarg or function.__closure__ or (only and None in tree.args.kw_defaults):
            unsupported(f"{function.__name__} takes any number of arguments, keywords without defaults, or outer names")
        own = [one.arg for one in (*tree.args.posonlyargs, *tree.args.args)]
        defaults = function.__defaults__ or ()
        if vars(tree)["falls"]:
            unsupported(f"{function.__name__} returns a value in some cases only")
        given = dict(zip(own[len(own) - len(defaults) :], map(Known, defaults), strict=True))
        given |= {name: Known(value) for name, value in (function.__kwdefaults__ or {}).items()}
        given |= dict(zip(own, arguments, strict=False)) | dict(named)
        if len(arguments) > len(own) or given.keys() != {*own, *(one.arg for one in tree.args.kwonlyargs)}:
            unsupported(f"the arguments of {function.__name__}")
        frame.names, frame.first = dict(given), dict.fromkeys(given, (self.mask.region, 0))
        turns, self.turns, self.frame = self.turns, (), frame
        self.above.append(frame)
        self.block(tree.body)
        self.above.pop()
        self.turns, self.frame = turns, outer
        return self.local(frame, RESULT) or Known(None)

    def called_alone(self, step: Step, arguments: Sequence[Any]) -> Any:
        """A function of numbers, marked `once`, which is played for one trial after the other."""
        result = RESULTS.get(step.function.__annotations__.get("return", type(None)))
        if result is None:
            unsupported(f"{step.function.__name__} is marked `once`, and has no annotation that says what it returns")
        key = step, tuple(map(signature, arguments))
        b, learned = self.builder, learned_alone(key, result, self.spacing)
        numbers = [self.passed(value) for value in arguments if not is_static(value)]
        flag = cgutils.alloca_once_value(b, ir.Constant(I1, 0))
        self.new |= not learned.differ <= self.learned.differ
        self.learned.differ.update(learned.differ)

        def call(given: Sequence[Any]) -> Any:
            if key not in self.alone:
                self.alone[key] = alone(self.context, b.module, key, result, learned, self.spacing)[1]
            return b.call(self.alone[key], [*given, flag])

        found = self.each(result, numbers, call)
        self.fault(Number("b", False, b.load(flag)))
        return found

    def passed(self, value: Any) -> Number:
        """An argument as a number; a record or an array by its address, which differs between trials."""
        if not isinstance(value, Record | Array):
            return self.number(value)
        address, varying = (value.base, []) if isinstance(value, Record) else self.address(value)
        if varying:
            unsupported("a part of an array that differs between trials, where the call is played for each alone")
        place = Number("i", False, self.builder.ptrtoint(address, I64))
        if self.width == 1:
            return place
        apart = ir.Constant(self.vector("i"), [WORD * k for k in range(self.width)])
        return Number("i", True, self.builder.add(self.spread(place).ir, apart))

    def call(self, function: Any, arguments: Sequence[Any], named: Mapping[str, Any], node: ast.Call) -> Any:
        """The result of a call."""
        if isinstance(function, Step | types.FunctionType) and function not in NATIVE:
            step = function if isinstance(function, Step) else plain(function)
            if hasattr(step.function, "compiled_in"):
                unsupported(f"a call of {step.function.__name__}")
            once = vars(step.function).get("once") and not self.inside
            if once and not named:
                return self.called_alone(step, arguments)
            return self.play(step, arguments, named, node)
        if isinstance(function, type) and hasattr(function, "_fields"):
            return Fields(dict(zip(function._fields, arguments, strict=False)) | dict(named))
        if named or not arguments:
            unsupported(f"the arguments of {getattr(function, '__name__', function)}")
        first = arguments[0]
        if function in NATIVE:
            self.takes(NATIVE[function], self, *arguments)
            return NATIVE[function](self, *arguments)
        if len(arguments) > 1 and function not in MATHS:
            unsupported(f"the arguments of {getattr(function, '__name__', function)}")
        if function in ROUNDED:
            return self.rounded(ROUNDED[function], first)
        if function in WHOLE:
            return self.cast(self.rounded(WHOLE[function], first), "i")
        if function in CASTS:
            return self.folded(function, first.py) if isinstance(first, Known) else self.cast(first, CASTS[function])
        if function in MATHS:
            return self.one_by_one(function, arguments)
        unsupported(f"a call of {getattr(function, '__name__', function)}")

    def takes(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Unsupported if a function does not take so many arguments, as `np.minimum(x, y, out)`."""
        try:
            inspect.signature(function).bind(*arguments)
        except TypeError:
            unsupported(f"{len(arguments) - 1} arguments of this function")

    def method(self, owner: Any, name: str, arguments: Sequence[Any]) -> Any:
        """A method of an array."""
        if name not in METHODS or arguments:
            unsupported(f"the method {name}")
        return METHODS[name](self, owner)

    def length(self, value: Any) -> Any:
        """`len(value)`."""
        if isinstance(value, Array) and value.axes:
            n = value.axes[0][0]
            return Known(n) if isinstance(n, int) else n
        if isinstance(value, Lazy):
            return Known(value.length)
        if isinstance(value, Several):
            return Known(len(value.items))
        if isinstance(value, Known) and hasattr(value.py, "__len__"):
            return Known(len(value.py))
        unsupported("the length of this value")

    def entries(self, array: Any) -> list[Any]:
        """The numbers of an array with one axis; Unsupported for anything else."""
        if not isinstance(array, Array | Lazy) or (isinstance(array, Array) and len(array.axes) != 1):
            unsupported("a sum or an extreme of what is no array of one dimension")
        return [self.entry(array, Known(i)) for i in range(array.length)]

    def total(self, array: Any) -> Any:
        """The sum of the entries, from the first to the last."""
        entries = [self.number(entry) for entry in self.entries(array)]
        start = {"f": 0.0, "u": np.uint64(0)}.get(entries[0].kind, 0) if entries else 0.0
        return functools.reduce(lambda found, own: self.binary(ast.Add, found, own), entries, Known(start))

    def extreme(self, sign: type[ast.cmpop], array: Any) -> Any:
        """The least entry (sign `LtE`) or the largest; NaN if one entry is NaN."""
        entries = self.entries(array) or unsupported("an extreme of nothing")
        return functools.reduce(lambda found, own: self.extremum(sign, found, own), entries)

    def first_best(self, sign: type[ast.cmpop], array: Any) -> Any:
        """The place of the first best entry, or of the first NaN."""
        best, *others = self.entries(array) or unsupported("an extreme of nothing")
        place = Known(0)
        for i, own in enumerate(others, 1):
            better = self.compare(sign, own, best)
            if self.number(own).kind == "f":
                better = self.select(self.missing(own), Known(True), better)
                better = self.conjunction(self.negated(self.missing(best)), better)
            best, place = self.select(better, own, best), self.select(better, Known(i), place)
        return place

    # ------------------------------------------------------------------------------------------ names

    def name(self, name: str) -> Any:
        """What a name stands for."""
        if name in self.frame.names:
            return self.local(self.frame, name)
        for names in (self.frame.step.names, self.frame.step.function.__globals__, vars(builtins)):
            if name in names:
                return Known(names[name])
        unsupported(f"the name {name}")

    def local(self, frame: Frame, name: str) -> Any:
        """The value of a variable, None if it has none; one that a branch may have assigned is read from its slot."""
        if frame.names.get(name) is IN_SLOT:
            frame.names[name] = frame.in_slot[name] = self.load_slot((frame.path, name))
        return frame.names.get(name)

    def save(self, name: str) -> None:
        """Store a variable in its slot, unless it is there."""
        frame = self.frame
        value = frame.names[name]
        if value is not IN_SLOT and value is not frame.in_slot.get(name):
            self.store_slot((frame.path, name), value)
            frame.in_slot[name] = value

    def assign(self, name: str, value: Any) -> None:
        """Let a name stand for a value, in the trials of the mask."""
        frame, here = self.frame, (self.mask.region, self.frame.block)
        old, first = self.local(frame, name), frame.first.setdefault(name, here)
        outer = first[0] != here[0] and self.mask.ir is not None  # other trials keep the old value
        if not is_numeric(value):
            if old is not None and old is not value and (outer or first[1] != here[1]):
                if name == RESULT and value == Known(None):
                    return
                unsupported(f"{name} stands for different arrays or objects in different trials")
        elif outer and is_numeric(old):
            value = self.select(Number("b", True, self.mask.ir), value, old)
        frame.names[name] = value
        if name in frame.slotted:
            self.save(name)

    def spill(self, names: frozenset[str]) -> None:
        """Store the variables that a branch may assign."""
        for name in sorted(names):
            if name in self.frame.names:
                self.save(name)
            else:
                self.clear_slot((self.frame.path, name))

    def reload(self, names: frozenset[str]) -> None:
        """Read the variables that a branch may have assigned."""
        frame = self.frame
        for name in names:
            if (frame.path, name) in self.learned.slots:
                frame.names[name] = IN_SLOT
                frame.first.setdefault(name, (self.mask.region, frame.block))

    # ------------------------------------------------------------------------------------------ statements

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Emit statements."""
        for one in statements:
            self.read(one)

    def read(self, node: Text) -> Any:
        """Emit a statement, or an expression and return its value; Unsupported, with its place, if it has no form."""
        try:
            return getattr(self, f"_of_{type(node).__name__}", self._unknown)(node)
        except Unsupported as error:
            if error.place:
                raise
            raise Unsupported(error.reason, f"line {node.lineno} of {self.frame.step.function.__name__}") from None

    def _unknown(self, node: Text) -> Any:
        unsupported(f"`{ast.unparse(node).splitlines()[0][:40]}` ({type(node).__name__})")

    def _of_Pass(self, node: ast.Pass) -> None:
        pass

    def _of_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.read(node.value)

    def _of_Raise(self, node: ast.Raise) -> None:
        self.fault(Known(True))

    def _of_Assign(self, node: ast.Assign) -> None:
        value = self.read(node.value)
        for target in node.targets:
            self.set(target, value)

    def _of_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.set(node.target, self.read(node.value))

    def _of_AugAssign(self, node: ast.AugAssign) -> None:
        named = self.name(node.target.id) if isinstance(node.target, ast.Name) else None
        if isinstance(node.target, ast.Name) and not isinstance(named, Array):
            if isinstance(named, Lazy):
                unsupported("an operation in place on an array that an expression made: write `x = x + ...`")
            self.assign(node.target.id, self.binary(type(node.op), named, self.read(node.value)))
            return
        place = named if isinstance(named, Array) else self.place(node.target)
        before = self.loaded(place)  # the number is read before the other side, which may change it
        value = self.read(node.value)
        found = self.binary(type(node.op), before, value)
        if place.axes:
            if isinstance(value, Array) and value.field == place.field and value.indices != place.indices:
                unsupported("an operation of an array in place with another part of it")  # numba reads what it wrote
            if place.kind != "f" and any(self.number(one).kind != place.kind for one in found.entries):
                unsupported("an operation in place whose result has another kind than the array")
        self.fill(place, found)

    def place(self, node: ast.expr) -> Array:
        """The place in memory of a target."""
        checked = self.frame.step.checked
        if isinstance(node, ast.Attribute):
            record = self.read(node.value)
            found = self.field(record, node.attr, checked) if isinstance(record, Record) else None
        else:
            assert isinstance(node, ast.Subscript)
            array = self.read(node.value)
            found = self.part(array, node.slice) if isinstance(array, Array) else None
        if not isinstance(found, Array):
            unsupported("an assignment to what is no field or array of the state")
        return found

    def set(self, target: ast.expr, value: Any) -> None:
        """Assign a value to a target."""
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
        elif isinstance(target, ast.Tuple):
            items = value.items if isinstance(value, Several) else None
            if isinstance(value, Known) and isinstance(value.py, tuple):
                items = tuple(map(Known, value.py))
            if isinstance(value, Array) and len(value.axes) == 1:
                items = tuple(self.entry(value, Known(i)) for i in range(value.length))
            if items is None or len(items) != len(target.elts):
                unsupported("an assignment of this value to several names")
            for part, item in zip(target.elts, items, strict=True):
                self.set(part, item)
        elif isinstance(target, ast.Attribute | ast.Subscript):
            place = self.place(target)
            if place.axes and isinstance(target, ast.Attribute):  # numba does not compile it either
                unsupported(f"an assignment to the array {target.attr}: write `{target.attr}[:] = ...`")
            self.fill(place, value)
        else:
            unsupported("this target")

    def fill(self, array: Array, value: Any) -> None:
        """Store a number in all entries, or an array entry by entry."""
        if not array.axes:
            self.store(array, value)
            return
        if isinstance(value, Array | Lazy):
            shape = (value.length,) if isinstance(value, Lazy) else tuple(n for n, _ in value.axes)
            if shape != tuple(n for n, _ in array.axes):
                unsupported("an assignment of an array of another shape")
            if isinstance(value, Array) and value.field == array.field and len(shape) > 1:
                unsupported("an assignment of a matrix to itself")
            if math.prod(shape) > LONGEST and isinstance(value, Array) and value.field != array.field:
                self.fill_long(array, value)
                return
            if isinstance(value, Lazy) or value.field == array.field:  # all entries are read before one is written
                values = [self.entry(value, Known(i)) for i in range(array.length)]
            else:
                values = [self.loaded(self.indexed(value, [Known(i)])) for i in range(array.length)]
        elif math.prod(n for n, _ in array.axes) > LONGEST:
            self.fill_long(array, value)
            return
        else:
            values = [value] * array.length
        for i, own in enumerate(values):
            self.fill(self.indexed(array, [Known(i)]), own)

    def fill_long(self, array: Array, value: Any) -> None:
        """`fill` by a loop, for arrays so long that code for each entry would be too much."""
        with cgutils.for_range(self.builder, ir.Constant(I64, array.axes[0][0])) as loop:
            i = Number("i", False, loop.index)
            own = self.loaded(self.indexed(value, [i])) if isinstance(value, Array) else value
            self.fill(self.indexed(array, [i]), own)

    def _of_If(self, node: ast.If) -> None:
        condition = self.truth(self.read(node.test))
        if isinstance(condition, Known):
            self.block(node.body if condition.py else node.orelse)
            return
        names = assigned(node)
        sides = [(condition, node.body), (self.negated(condition), node.orelse)]
        if not condition.varying:
            self.spill(names)
            for taken, side in sides:
                self.branch(taken.ir, self.mask, side, names)
            return
        masks = [self.both(self.mask.ir, taken) for taken, _ in sides]
        if all(map(self.cheap, (node.body, node.orelse))):
            for mask, (_, side) in zip(masks, sides, strict=True):
                before = self.frame.names.keys() - ()
                with self.under(self.region(mask)):
                    self.block(side)
                for name in self.frame.names.keys() - before:
                    if not is_numeric(self.local(self.frame, name)):  # an array of these trials only
                        del self.frame.names[name]
            return
        self.spill(names)
        for mask, (_, side) in zip(masks, sides, strict=True):
            if side:
                self.branch(self.some(mask), self.region(mask), side, names)

    def branch(self, taken: Any, mask: Mask, statements: Sequence[ast.stmt], names: frozenset[str]) -> None:
        """Emit statements that are skipped unless taken."""
        frame = self.frame
        if not statements:
            return
        before = dict(frame.names), dict(frame.first), frame.slotted, frame.block
        frame.slotted |= names
        self.blocks += 1
        frame.block = self.blocks
        with self.builder.if_then(taken), self.under(mask):
            self.block(statements)
        frame.names, frame.first, frame.slotted, frame.block = before
        self.reload(names)

    def _of_For(self, node: ast.For) -> None:
        if not (isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)):
            unsupported("a loop over something else than a range")
        if self.read(node.iter.func) != Known(range) or node.iter.keywords:
            unsupported("a loop over something else than a range")
        bounds = [self.read(one) for one in node.iter.args]
        start, stop, step = (Known(0), bounds[0], Known(1)) if len(bounds) == 1 else (*bounds, Known(1))[:3]
        if not isinstance(step, Known) or step.py == 0:
            unsupported("a range with a step that is not known")
        if isinstance(start, Known) and isinstance(stop, Known):
            turns = range(start.py, stop.py, step.py)
            weight = sum(map(self.weight, node.body))
            few = len(turns) <= 1 or (len(turns) <= FEW and len(turns) * weight <= UNROLLED)
            if few and not vars(node)["until"]:
                self.written_out(node, turns)
                return
        first = self.cast(start, "i")
        if first.varying and step == Known(1) and node.target.id in own_turns(self.frame.tree):
            own = started(node)
            self.frame.names[START.format(node.lineno, node.col_offset)] = first
            node, first = own, self.lowest(first)
        self.counted(node, first, self.cast(stop, "i"), step)

    def written_out(self, node: ast.For, turns: range) -> None:
        """A loop as one turn after the other."""
        before = self.turns
        for i in turns:
            self.turns = (*before, i)
            self.turn_of(node.target, Known(i))
            self.block(node.body)
        self.turns = before

    def turn_of(self, target: Any, i: Any) -> None:
        """Set the variable of a loop."""
        if target.id not in own_turns(self.frame.tree):
            self.assign(target.id, i)
            return
        self.frame.names[target.id] = i  # it is read in the loop only, so no other trial needs its value

    def counted(self, node: ast.For, start: Number, stop: Number, step: Known) -> None:
        """A loop over a range that is not written out."""
        b = self.builder
        room = cgutils.alloca_once(b, start.ir.type)
        b.store(start.ir, room)

        def more() -> Any:
            i = Number("i", start.varying, b.load(room))
            return self.compare(ast.Lt if step.py > 0 else ast.Gt, i, stop)

        def begin() -> None:
            i = Number("i", start.varying, b.load(room))
            self.turn_of(node.target, i)
            b.store(self.binary(ast.Add, i, step).ir, room)

        self.loop(node, more, begin)

    def _of_While(self, node: ast.While) -> None:
        def more() -> Any:
            well = self.negated(Number("b", False, self.some(self.builder.load(self.faulty))))  # else it may never end
            return self.conjunction(well, self.truth(self.read(node.test)))

        self.loop(node, more, lambda: None)

    def loop(self, node: ast.For | ast.While, more: Callable[[], Any], begin: Callable[[], None]) -> None:
        """A loop that goes on while `more` holds in any trial, and whose flag `until` is not set."""
        frame, b, outer = self.frame, self.builder, self.mask
        names, until = assigned(node), vars(node)["until"]
        key = (frame.path, "loop", node.lineno, node.col_offset, self.turns)
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and node.target.id in own_turns(frame.tree):
            names -= {node.target.id}
        self.spill(names)
        test, body, after = (b.append_basic_block(name) for name in ("test", "turn", "after"))
        masked = key in self.learned.masked  # whether trials leave the loop in different turns
        if masked:
            going = self.slot(key, "b", True)
            b.store(self.full("b", 1) if outer.ir is None else outer.ir, going)
        b.branch(test)
        b.position_at_end(test)
        before = frame.slotted, frame.block
        frame.slotted |= names
        self.reload(names)
        known = dict(frame.names), dict(frame.first)
        self.blocks += 1
        frame.block = self.blocks
        if masked:
            self.mask = self.region(b.load(going))
        stays = Known(True) if until is None else self.negated(self.name(until))
        with self.under(self.staying(stays, after, masked) if isinstance(node, ast.While) else self.mask):
            condition = self.conjunction(stays, more())
        if isinstance(condition, Number) and condition.varying and not masked:
            self.learned.masked.add(key)
            self.new = True
            condition = Known(True)
            self.mask = self.region(self.full("b", 1) if outer.ir is None else outer.ir)
        if masked:
            mask = self.both(self.mask.ir, condition)
            mask = b.select(b.load(self.faulty), self.full("b", 0), mask)  # a trial in error might go on for ever
            b.store(mask, going)
            self.mask = self.region(mask)
            b.cbranch(self.some(mask), body, after)
        else:
            b.cbranch(self.number(condition).ir, body, after)
        b.position_at_end(body)
        begin()
        self.block(node.body)
        b.branch(test)
        b.position_at_end(after)
        frame.names, frame.first = known
        (frame.slotted, frame.block), self.mask = before, outer
        self.reload(names)

    def staying(self, stays: Any, after: Any, masked: bool) -> Mask:
        """The mask of trials that have not left a loop: they alone evaluate its test. If all leave, the code does."""
        if isinstance(stays, Known) or (stays.varying and not masked):
            return self.mask
        if stays.varying:
            return self.region(self.both(self.mask.ir, stays))
        on = self.builder.append_basic_block("test.on")
        self.builder.cbranch(stays.ir, on, after)
        self.builder.position_at_end(on)
        return self.mask

    def cheap(self, statements: Sequence[ast.stmt]) -> bool:
        """Whether statements are played under a mask without a test whether any trial takes them."""
        loops = any(isinstance(part, ast.For | ast.While) for one in statements for part in ast.walk(one))
        return not loops and sum(map(self.weight, statements)) <= CHEAP

    def weight(self, node: ast.AST) -> int:
        """The operations in a text, those of called functions included."""
        total, called = parts(node)
        return total + sum(weight_of(callee(part, self.known)) for part in called)

    def known(self, name: str) -> Any:
        """The object that a name stands for; None if it is not known."""
        try:
            found = self.name(name)
        except Unsupported:
            return None
        return found.py if isinstance(found, Known) else None

    # ------------------------------------------------------------------------------------------ expressions

    def _of_Constant(self, node: ast.Constant) -> Any:
        return Known(node.value)

    def _of_Name(self, node: ast.Name) -> Any:
        return self.name(node.id)

    def _of_Tuple(self, node: ast.Tuple) -> Any:
        return Several(tuple(self.read(part) for part in node.elts))

    def _of_Attribute(self, node: ast.Attribute) -> Any:
        return self.attribute(self.read(node.value), node.attr, self.frame.step.checked)

    def indices(self, node: ast.expr) -> list[Any]:
        """The indices of a subscript; slices have known ends."""
        found = []
        for part in node.elts if isinstance(node, ast.Tuple) else [node]:
            if not isinstance(part, ast.Slice):
                found.append(self.read(part))
                continue
            ends = [None if end is None else self.read(end) for end in (part.lower, part.upper, part.step)]
            if any(isinstance(end, Number) and end.varying for end in ends) or isinstance(ends[2], Number):
                unsupported("a slice whose ends differ between trials")
            found.append(slice(*(end.py if isinstance(end, Known) else end for end in ends)))
        return found

    def part(self, array: Array, node: ast.expr) -> Array:
        """A part of an array; in a user's file its indices are checked."""
        array = array._replace(checked=array.checked or self.frame.step.checked)
        return self.indexed(array, self.indices(node))

    def _of_Subscript(self, node: ast.Subscript) -> Any:
        value = self.read(node.value)
        if isinstance(value, Array):
            return self.loaded(self.part(value, node.slice))
        indices = self.indices(node.slice)
        if isinstance(value, Lazy) and len(indices) == 1 and not isinstance(indices[0], slice):
            return self.entry(value, indices[0])
        if isinstance(value, Known) and isinstance(value.py, np.ndarray) and len(indices) == 1:
            return self.constant_entry(value.py, indices[0], self.frame.step.checked)
        if len(indices) == 1 and isinstance(indices[0], Known):
            if isinstance(value, Several):
                return value.items[indices[0].py]
            if isinstance(value, Known):
                return Known(value.py[indices[0].py])
        unsupported("an index of this value")

    def _of_BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.read(node.left), self.read(node.right)
        if isinstance(node.op, ast.Pow) and isinstance(left, Known) and kind_of(left.py) == "f" and not literal(node):
            left = self.number(left)  # numba multiplies; Python, which computes what is literal, does not
        return self.binary(type(node.op), left, right)

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.read(node.operand)
        if isinstance(node.op, ast.Not):
            return self.negated(value)
        if isinstance(node.op, ast.USub):
            return self.minus(value)
        if isinstance(node.op, ast.UAdd):
            return self.minus(self.minus(value))
        return self.binary(ast.BitXor, value, Known(-1))  # `~value`

    def _of_Compare(self, node: ast.Compare) -> Any:
        left, found = self.read(node.left), Known(True)
        for sign, part in zip(node.ops, node.comparators, strict=True):
            holds = self.truth(found)
            if holds == Known(False):
                break
            right = self.read(part) if isinstance(holds, Known) else self.guarded(holds, part)
            one = self.compare(type(sign), left, right)
            found = one if isinstance(holds, Known) else self.conjunction(holds, one)
            left = right
        return found

    def _of_BoolOp(self, node: ast.BoolOp) -> Any:
        both = isinstance(node.op, ast.And)
        found = self.read(node.values[0])
        for part in node.values[1:]:
            holds = self.truth(found)
            if isinstance(holds, Known):
                found = self.read(part) if holds.py == both else found
                continue
            going = holds if both else self.negated(holds)  # trials in which the next part is evaluated
            right = self.guarded(going, part)
            if any(self.number(one).kind != "b" for one in (found, right)):  # the value of `k or 3` is no condition
                found = self.select(going, right, found)
            elif both:
                found = self.conjunction(found, right)
            else:
                found = self.negated(self.conjunction(self.negated(found), self.negated(right)))
        return found

    def _of_IfExp(self, node: ast.IfExp) -> Any:
        condition = self.truth(self.read(node.test))
        if isinstance(condition, Known):
            return self.read(node.body if condition.py else node.orelse)
        one, other = self.guarded(condition, node.body), self.guarded(self.negated(condition), node.orelse)
        return self.select(condition, one, other)

    def guarded(self, condition: Number, node: ast.expr) -> Any:
        """An expression that is evaluated where a condition holds, and is skipped unless it is cheap or taken."""
        mask = self.region(self.both(self.mask.ir, condition))
        if self.weight(node) <= CHEAP:
            with self.under(mask):
                return self.read(node)
        frame, taken = self.frame, self.some(mask.ir) if condition.varying else condition.ir
        key, names = (frame.path, "value", node.lineno, node.col_offset, self.turns), dict(frame.names)
        with self.builder.if_then(taken):
            with self.under(mask if condition.varying else self.mask):
                value = self.read(node)
            if not isinstance(value, Number | Known | Several):
                unsupported("an array from a conditional expression")
            self.store_slot(key, value)
        frame.names = names  # forget names that were read from their slots only in this branch
        return self.load_slot(key)

    def _of_Call(self, node: ast.Call) -> Any:
        arguments = [self.read(part) for part in node.args]
        named = {str(word.arg): self.read(word.value) for word in node.keywords}
        if isinstance(node.func, ast.Attribute):
            owner = self.read(node.func.value)
            if isinstance(owner, Array | Lazy) and not named:
                return self.method(owner, node.func.attr, arguments)
            function = self.attribute(owner, node.func.attr)
            if isinstance(function, Method):
                return self.call(function.step, [*function.first, *arguments], named, node)
            if function.py not in NATIVE and isinstance(function.py, types.FunctionType):  # numba does not know it
                unsupported(f"a call of {ast.unparse(node.func)}: import the function by its name")
        else:
            function = self.read(node.func)
        if not isinstance(function, Known):
            unsupported("a call of a value")
        return self.call(function.py, arguments, named, node)


METHODS: Mapping[str, Callable[[Interpreter, Any], Any]] = {
    "sum": Interpreter.total,
    "min": lambda emitter, array: emitter.extreme(ast.LtE, array),
    "max": lambda emitter, array: emitter.extreme(ast.GtE, array),
    "argmin": lambda emitter, array: emitter.first_best(ast.Lt, array),
    "argmax": lambda emitter, array: emitter.first_best(ast.Gt, array),
}
NATIVE: Mapping[Any, Callable[..., Any]] = {
    len: Interpreter.length,
    min: lambda emitter, *values: emitter.least(ast.Lt, values),
    max: lambda emitter, *values: emitter.least(ast.Gt, values),
    np.minimum: lambda emitter, one, other: emitter.extremum(ast.LtE, one, other),
    np.maximum: lambda emitter, one, other: emitter.extremum(ast.GtE, one, other),
    np.isnan: Interpreter.missing,
    math.isnan: Interpreter.missing,
    np.argmin: METHODS["argmin"],
    np.argmax: METHODS["argmax"],
    sum: Interpreter.total,
    np.sum: Interpreter.total,
    np.min: METHODS["min"],
    np.max: METHODS["max"],
    np.divide: lambda emitter, one, other: emitter.quotient(one, other),
    reals.bits_of: lambda emitter, x: emitter.reinterpreted(emitter.cast(x, "f"), "i"),
    reals.number_of: lambda emitter, bits: emitter.reinterpreted(bits, "f"),
}


START = " start {} {}"  # names the first turn of a loop, by the loop's place


@cache
def started(node: ast.For) -> ast.For:
    """A loop over a range that all trials share; a trial skips the turns before the start of its own range."""
    assert isinstance(node.target, ast.Name)
    own = ast.Name(START.format(node.lineno, node.col_offset), ast.Load())
    begun = ast.Compare(ast.Name(node.target.id, ast.Load()), [ast.GtE()], [own])
    made = copy.copy(node)
    made.body = [ast.fix_missing_locations(ast.copy_location(ast.If(begun, node.body, []), node))]
    return made


@cache
def plain(function: types.FunctionType) -> Step:
    """A function that a step calls."""
    return Step(function)


@cache
def literal(node: ast.expr) -> bool:
    """Whether Python computes an expression when it compiles it."""
    parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    return isinstance(node, ast.Constant | ast.UnaryOp | ast.BinOp) and all(map(literal, parts))


def operations(part: ast.AST) -> int:
    """The operations of one node."""
    if isinstance(part, ast.BinOp):
        return 4 if isinstance(part.op, ast.Div | ast.FloorDiv | ast.Mod | ast.Pow) else 1
    if isinstance(part, ast.Subscript):
        return 3
    if isinstance(part, ast.While | ast.For):
        return 50
    return int(isinstance(part, ast.Compare | ast.Attribute | ast.Call | ast.IfExp))


def weight_of(function: Any, above: tuple[Any, ...] = ()) -> int:
    """The operations of a called function and of those that it calls by name."""
    step = function if isinstance(function, Step) else None
    if isinstance(function, types.FunctionType) and function not in NATIVE and function not in above:
        step = plain(function)
    if function in MATHS or (step and vars(step.function).get("once")):
        return 1000
    if step is None or len(above) > DEEPEST:
        return 0
    names = {**step.function.__globals__, **step.names}
    total, called = parts(tree_of(step.function))
    return total + sum(weight_of(callee(part, names.get), (*above, function)) for part in called)


@cache
def parts(node: ast.AST) -> tuple[int, tuple[ast.expr, ...]]:
    """The operations in a text, and the functions that it calls."""
    walked = tuple(ast.walk(node))
    return sum(map(operations, walked)), tuple(part.func for part in walked if isinstance(part, ast.Call))


def callee(node: ast.expr, known: Callable[[str], Any]) -> Any:
    """The function of a call, if it is known by its name; else None."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return getattr(known(node.value.id), node.attr, None)
    return known(node.id) if isinstance(node, ast.Name) else None


# ------------------------------------------------------------------------------------- functions of one trial


def signature(value: Any) -> Any:
    """What a function for one trial is made for: the kind of a number, or the layout of a record or an array."""
    if isinstance(value, Record):
        return value._replace(base=None)
    if isinstance(value, Array) and isinstance(value.unit, int):
        return value._replace(base=None, start=0, indices=())
    if isinstance(value, Known):
        if isinstance(value.py, tuple) or not isinstance(value.py, Hashable):  # (1, 2) equals (1.0, 2.0)
            unsupported("a tuple or a global array given to a function marked `once`")
        return value if is_static(value) else kind_of(value.py)
    return value.kind if isinstance(value, Number) else unsupported("this argument of a function marked `once`")


def is_static(value: Any) -> bool:
    """Whether an argument is an object that is known when a function is made for it."""
    return isinstance(value, Known) and not is_number(value.py)


@functools.lru_cache(1000)
def learned_alone(key: tuple[Step, tuple[Any, ...]], result: str, spacing: int) -> Learned:
    """What is learned of a function for one trial. It is the same in each program that calls the function."""
    learned = Learned({}, set(), set())
    while alone(None, ir.Module(), key, result, learned, spacing)[0].new:
        pass
    return learned


def alone(
    context: Any, module: Any, key: tuple[Step, tuple[Any, ...]], result: str, learned: Learned, spacing: int
) -> tuple[Interpreter, Any]:
    """A function for one trial; its last argument is the address of a flag, which an error sets."""
    step, kinds = key
    arguments = [LLVM[kind] if isinstance(kind, str) else I64 for kind in kinds if not isinstance(kind, Known)]
    name = module.get_unique_name(f"alone.{step.function.__name__}")
    made = ir.Function(module, ir.FunctionType(LLVM[result], [*arguments, I1.as_pointer()]), name)
    made.linkage = "internal"
    made.attributes.add("noinline")
    b = builder_of(made)
    emitter = Interpreter(context, b, 1, context is None, learned, spacing)
    numbers = iter(made.args)
    given: list[Any] = []
    for kind in kinds:
        if isinstance(kind, str):
            given.append(Number(kind, False, next(numbers)))
        else:
            given.append(kind if isinstance(kind, Known) else kind._replace(base=b.inttoptr(next(numbers), ADDRESS)))
    found = emitter.cast(emitter.play(step, given), result)
    zero = ir.Constant(I32, 0)
    wrong = b.extract_element(b.load(emitter.faulty), zero)
    b.store(b.or_(wrong, b.load(made.args[-1])), made.args[-1])
    b.ret(b.extract_element(found.ir, zero) if found.varying else found.ir)
    return emitter, made
