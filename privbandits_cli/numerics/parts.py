"""Functions that are only part of a loop: numba stops at LLVM's language, and the loop becomes machine code as a whole.

By itself, numba optimises each function that a loop calls, makes machine code of it, and then does both again within
the loop. Only the last of these is ever executed. Without the others a loop compiles in a third to three quarters of
the time, and is as fast. What is overridden here is numba's own (`CodeLibrary`, `Compiler`, `CPUDispatcher`).
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from llvmlite.binding import Linkage
from numba import _dynfunc, njit  # type: ignore[attr-defined]  # the first is not in its stubs
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher


class Code(JITCodeLibrary):
    """The code of one function in LLVM's language, and that of all functions that it calls."""

    def _optimize_final_module(self) -> None:
        """Inline and simplify, as numba does first; the rest is left to the loop."""
        passes, builder = self._codegen._module_pass_manager(
            cost="cheap", opt=self._codegen._opt_level, loop_vectorize=self._codegen._loopvect, slp_vectorize=False
        )
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        """Make no machine code."""
        self._finalized = True


class MachineCode(JITCodeLibrary):
    """The code of a function with its parts, whose names are seen nowhere else.

    numba numbers functions and records, in each process anew. So parts of loops from several processes can have one
    name, and those of the loop that is loaded first would be called by all.
    """

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        for function in self._final_module.functions:
            if function.linkage == Linkage.linkonce_odr and not function.is_declaration:
                function.linkage = "internal"


class PartCompiler(Compiler):
    """Compiles a part."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """The result of compiling `function`."""
        state = self.state
        state.flags.no_compile = True
        state.library = Code(state.targetctx.codegen(), function.__qualname__)
        made = super().compile_extra(function)
        # numba knows a function by an object of this kind; its address 0 stands for the interface that a part lacks
        module, name = made.fndesc.lookup_module(), made.fndesc.qualname
        interface = _dynfunc.make_function(module, name, name, 0, made.environment, (made.library,))
        state.targetctx.insert_user_function(interface, made.fndesc, [made.library])
        return made._replace(entry_point=interface)


class WholeCompiler(Compiler):
    """Compiles a function with its parts to machine code."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """The result of compiling `function`."""
        self.state.library = MachineCode(self.state.targetctx.codegen(), function.__qualname__)
        self.state.library.enable_object_caching()
        made = super().compile_extra(function)
        for environment in made._find_referenced_environments():  # of its parts, whose `print` and `raise` read them
            made.library.codegen.set_env(environment.env_name, environment)
        return made


class Part(CPUDispatcher):
    """A function that compiled code calls. If Python calls it, it is compiled once more, on its own."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.options = options
        targeted = options | {"nopython": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions=targeted, pipeline_class=PartCompiler)

    def __call__(self, *arguments: Any) -> Any:
        return self.alone(*arguments)

    @cached_property
    def alone(self) -> Callable[..., Any]:
        """The function on its own."""
        made: Callable[..., Any] = whole(self.py_func, **self.options)
        return made


def whole(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """The function with its parts, compiled for Python; it is never called from C."""
    options |= {"no_cfunc_wrapper": True, "pipeline_class": WholeCompiler}
    made: Callable[..., Any] = njit(**options)(function)
    return made
