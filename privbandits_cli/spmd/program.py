"""A step as code in a loop of numba: read until nothing new is learned of its variables, then emitted."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from privbandits_cli.spmd.interpreter import Interpreter
from privbandits_cli.spmd.memory import Learned
from privbandits_cli.spmd.source import Step, Unsupported
from privbandits_cli.spmd.values import I1, I8, I64

ADDRESS, WHOLE, CONDITION = I8.as_pointer(), I64, I1  # what a program is given when it runs


class Program(NamedTuple):
    """A round for several trials.

    inputs: the kinds of what the rounds are given when they run: ADDRESS (of an array), WHOLE, CONDITION. arguments:
    makes the values of the step of these inputs, the round, the number of trials, and the first trial of the group.
    """

    step: Step
    width: int
    inputs: tuple[Any, ...]
    arguments: Callable[..., Sequence[Any]]


class Reading:
    """What was learned of a program."""

    def __init__(self, program: Program) -> None:
        self.program, self.learned = program, Learned({}, set(), set(), {})

    @cached_property
    def reason(self) -> Unsupported | None:
        """Why it has no form for several trials, if it has none."""
        try:
            while self._read():
                pass
        except Unsupported as reason:
            return reason
        return None

    def _read(self) -> bool:
        """Read the step; returns whether something new was learned."""
        function = ir.Function(
            ir.Module(), ir.FunctionType(ir.VoidType(), [*self.program.inputs, WHOLE, WHOLE, WHOLE]), "dry"
        )
        builder = ir.IRBuilder(function.append_basic_block())
        start = function.append_basic_block()
        builder.branch(start)  # variables are made in the first block
        builder.position_at_end(start)
        emitter = self.emitter(None, builder, dry=True)
        self.emit(emitter, function.args)
        return emitter.new

    def emitter(self, context: Any, builder: Any, dry: bool = False) -> Interpreter:
        """What emits the step, in one place or in several of a function."""
        if not dry and self.reason is not None:  # all that there is to learn is known now
            raise self.reason
        return Interpreter(context, builder, self.program.width, dry, self.learned)

    def emit(self, emitter: Interpreter, inputs: Sequence[Any]) -> None:
        """Emit the step."""
        emitter.play(self.program.step, self.program.arguments(emitter, *inputs))


def rounds_of(reading: Reading, digest: str) -> Any:
    """`play(t, end, trials, inputs)` for numba: the rounds t to `end` of all trials; returns whether all is well."""
    program, width = reading.program, ir.Constant(I64, reading.program.width)

    @intrinsic
    def play(typing: Any, t: Any, end: Any, trials: Any, inputs: Any) -> Any:
        def build(context: Any, b: Any, signature: Any, values: Any) -> Any:
            (first, last, trials, given), found = values, []
            for k, (kind, wanted) in enumerate(zip(inputs.types, program.inputs, strict=True)):
                one = b.extract_value(given, k)
                if wanted is ADDRESS:
                    one = b.bitcast(context.make_array(kind)(context, b, one).data, ADDRESS)
                found.append(context.cast(b, one, kind, types.int64) if wanted is WHOLE else one)
            emitter = reading.emitter(context, b)
            with (
                cgutils.for_range(b, b.sub(last, first)) as outer,
                cgutils.for_range(b, b.udiv(trials, width)) as inner,
            ):
                reading.emit(emitter, [*found, b.add(outer.index, first), trials, b.mul(inner.index, width)])
            return b.not_(emitter.some(b.load(emitter.faulty)))

        return types.boolean(types.int64, types.int64, types.int64, inputs), build

    vars(play)["digest"] = digest
    return play
