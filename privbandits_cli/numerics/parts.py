"""Functions that are only part of a loop: numba stops at LLVM's language, and the loop becomes machine code as a whole.

By itself, numba optimises each function that a loop calls and makes machine code of it. It does the same again for the
loop, and only the loop's code runs. If the functions get no code of their own, a loop compiles in a third to three
quarters of the time, and is as fast. The classes override parts of numba itself (`CodeLibrary`, `Compiler` and
`CPUDispatcher`), so they are used with the versions of numba that were tried (`version.TRIED`).
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, cast

from llvmlite.binding import Linkage
from numba import _dynfunc, njit  # type: ignore[attr-defined]  # the first is not in its stubs
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher

from privbandits_cli.numerics.kernels import Kernels


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
    """The code of a function with its parts, which no other code can call.

    Each process numbers functions and records anew, so parts from two processes can share a name. All loops would then
    call the part that was loaded first.
    """

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        for function in self._final_module.functions:
            if function.linkage == Linkage.linkonce_odr and not function.is_declaration:
                function.linkage = "private"  # LLVM's linker also finds what is only `internal`


class PartCompiler(Compiler):
    """Compiles a part."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """The result of compiling `function`."""
        context = self.state.targetctx  # of this compilation alone
        usual = context.get_executable

        def executable(library: Any, description: Any, environment: Any) -> Any:
            """The object by which numba identifies the function. Its address is 0: Python cannot call a part."""
            if not isinstance(library, Code):
                return usual(library, description, environment)
            module, name = description.lookup_module(), description.qualname
            return _dynfunc.make_function(module, name, name, 0, environment, (library,))

        context.get_executable = executable
        self.state.library = Code(context.codegen(), function.__qualname__)
        return super().compile_extra(function)


class WholeCompiler(Compiler):
    """Compiles a function with its parts to machine code."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """The result of compiling `function`."""
        self.state.library = MachineCode(self.state.targetctx.codegen(), function.__qualname__)
        self.state.library.enable_object_caching()
        made = super().compile_extra(function)
        environments = made._find_referenced_environments()  # those of its parts: `print` and `raise` read them
        for environment in environments:
            made.library.codegen.set_env(environment.env_name, environment)
        return made._replace(referenced_envs=environments)  # which keeps them


class Part(CPUDispatcher):
    """A function that a `whole` function calls. If Python calls it, it is first compiled on its own, and kept."""

    def __init__(self, function: Callable[..., Any], kernels: Kernels | None, **options: Any) -> None:
        self.kernels, self.options = kernels, options
        targeted = options | {"nopython": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions=targeted, pipeline_class=PartCompiler)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.alone(*arguments, **named)

    @cached_property
    def alone(self) -> Callable[..., Any]:
        """The function on its own."""
        made: Callable[..., Any] = whole(self.py_func, self.kernels, **self.options)
        return made


def whole(function: Callable[..., Any], kernels: Kernels | None = None, **options: Any) -> Callable[..., Any]:
    """The function with its parts, compiled for Python, and kept on disk; it is never called from C.

    It gets the name of its kernels, which no other function has: of two loops of one name, the one that was loaded
    first would be called.
    """
    options |= {"no_cfunc_wrapper": True, "pipeline_class": WholeCompiler}
    if kernels is not None:
        function.__qualname__ = kernels.name
    made: Any = njit(**options)(function)
    if kernels is not None:
        made._cache = kernels
    return cast(Callable[..., Any], made)
