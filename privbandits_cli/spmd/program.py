"""A step as code in a loop of numba: read until nothing new is learned of its variables, then emitted."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from privbandits_cli.spmd.arithmetic import builder_of
from privbandits_cli.spmd.interpreter import Interpreter
from privbandits_cli.spmd.memory import Learned
from privbandits_cli.spmd.source import Step, Unsupported
from privbandits_cli.spmd.values import ADDRESS, F64, I1, I64

WHOLE, CONDITION = I64, I1  # kinds of inputs, beside ADDRESS


class Program(NamedTuple):
    """A round for several trials.

    inputs: the kinds of the values that the rounds get at run time: ADDRESS (of an array), WHOLE, CONDITION. arguments:
    a function that makes the arguments of the step. It is given these inputs, the round, the number of trials, and the
    first trial of the group. trials: their number if it is fixed, which makes the code shorter; else 0.
    """

    step: Step
    width: int
    inputs: tuple[Any, ...]
    arguments: Callable[..., Sequence[Any]]
    trials: int = 0


class Reading:
    """A program, and what was learned of it."""

    def __init__(self, program: Program) -> None:
        self.program, self.learned = program, Learned({}, set(), set())

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
        emitter = self.emitter(None, builder_of(function), dry=True)
        self.emit(emitter, function.args)
        return emitter.new

    def emitter(self, context: Any, builder: Any, dry: bool = False) -> Interpreter:
        """An interpreter that emits the step, in one place of a function or in several."""
        if not dry and self.reason is not None:  # all that there is to learn is known now
            raise self.reason
        return Interpreter(context, builder, self.program.width, dry, self.learned)

    def emit(self, emitter: Interpreter, inputs: Sequence[Any]) -> None:
        """Emit the step."""
        emitter.play(self.program.step, self.program.arguments(emitter, *inputs))


def rounds_of(reading: Reading, digest: str, place: int) -> Any:
    """`play(words, marks, found, inputs)` for numba: plays rounds of all trials, and returns False if one has an error.

    words: the records, `[group, word, trial]`. `found[trial, i]` becomes the number at word `place` of a trial's record
    after `marks[i]` rounds. inputs: the other inputs of the program.
    """
    program, width = reading.program, ir.Constant(I64, reading.program.width)

    @intrinsic
    def play(typing: Any, words: Any, marks: Any, found: Any, inputs: Any) -> Any:
        def build(context: Any, b: Any, signature: Any, values: Any) -> Any:
            def array(kind: Any, value: Any) -> Any:
                return context.make_array(kind)(context, b, value)

            def address(kind: Any, value: Any) -> Any:
                data = array(kind, value).data
                return b.load(cgutils.alloca_once_value(b, data), typ=ADDRESS)  # without the type of its target

            records, ends, out = map(array, signature.args[:3], values[:3])
            given = [address(words, values[0])]
            for k, (kind, wanted) in enumerate(zip(inputs.types, program.inputs[1:], strict=True)):
                one = b.extract_value(values[3], k)
                one = context.cast(b, one, kind, types.int64) if wanted is WHOLE else one
                given.append(address(kind, one) if wanted is ADDRESS else one)
            emitter = reading.emitter(context, b)
            trials = ir.Constant(I64, program.trials) if program.trials else b.extract_value(out.shape, 0)
            played = cgutils.alloca_once_value(b, ir.Constant(I64, 0))
            with cgutils.for_range(b, b.extract_value(ends.shape, 0)) as mark:
                first, last = b.load(played), b.load(b.gep(ends.data, [mark.index]))
                b.store(last, played)
                with (
                    cgutils.for_range(b, b.sub(last, first)) as outer,
                    cgutils.for_range(b, b.udiv(trials, width)) as group,
                ):
                    reading.emit(emitter, [*given, b.add(outer.index, first), trials, b.mul(group.index, width)])
                with cgutils.for_range(b, trials) as trial:
                    lane = b.udiv(trial.index, width), ir.Constant(I64, place), b.urem(trial.index, width)
                    number = b.load(cgutils.get_item_pointer(context, b, words, records, lane), typ=F64)
                    b.store(number, cgutils.get_item_pointer(context, b, found, out, [trial.index, mark.index]))
            return b.not_(emitter.some(b.load(emitter.faulty)))

        return types.boolean(words, marks, found, inputs), build

    vars(play)["digest"] = digest
    return play
