"""How the plain functions of the algorithm files become one compiled loop, kept on disk.

Numba does not cache a loop that receives functions as arguments or through a closure. A loop is therefore written once,
as a plain function (the template) whose globals name the steps. `bind` makes a copy of it with the steps filled in, and
keeps its code on disk under the digest of all that is in it (`numerics.digests`, `numerics.kernels`).
"""

import functools
import inspect
import os
import threading
import types
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from privbandits_cli.numerics.digests import global_names, of_function
from privbandits_cli.numerics.kernels import Kernels, KernelWarning, folder
from privbandits_cli.version import numba_was_tried

Record = Any  # one element of a structured array, or numba's view of it
Records = NDArray[Any]

PROCESS = uuid.uuid4().hex
ONE_AT_A_TIME = threading.Lock()  # `quickly` changes a setting of the process

P = ParamSpec("P")
T = TypeVar("T")

USER_MODULE_PREFIX = "privbandits_cli.plugins.loader."  # the names of users' modules start like this


def is_users(module: str) -> bool:
    """Whether a module of this name was made from a user's file."""
    return module.startswith(USER_MODULE_PREFIX)


class PluginError(Exception):
    """An error in a user's function or class; it is reported at the line of `function`."""

    def __init__(self, message: str, function: Callable[..., Any] | None = None) -> None:
        super().__init__(message)
        self.function = function

    def __reduce__(self) -> Any:  # another process may not know the function
        return type(self), (str(self),)


def record(**fields: Any) -> Records:
    """A structured array `[1]` of one record with these fields, which may be arrays and records.

    ValueError for a name that is an attribute of NumPy's scalars (`base`, `data`, `real`, ...), which hides the field;
    TypeError for a value that is not a number, and for an array of bools.
    """
    hidden = sorted(name for name in fields if hasattr(np.generic, name))
    if hidden:
        raise ValueError(f"NumPy has attributes {hidden} of its own, which hide these fields of a record: rename them")
    values = {name: np.asarray(value) for name, value in fields.items()}
    objects = sorted(name for name, value in values.items() if value.dtype.hasobject or value.dtype.kind in "US")
    if objects:
        raise TypeError(f"the fields {objects} of a record are not numbers: give numbers or arrays of numbers")
    bools = sorted(name for name, value in values.items() if value.dtype == np.bool_ and value.shape)
    if bools:
        raise TypeError(f"the fields {bools} of a record are arrays of bools, which numba does not know: use 0 and 1")
    layout: list[Any] = []
    for name, value in values.items():
        if value.dtype.names is None:
            layout.append((name, value.dtype, value.shape))
        else:
            layout.append((name, np.dtype((np.void, value.dtype))))  # the record itself, not an array of one
    out = np.zeros(1, np.dtype((np.record, np.dtype(layout, align=True))))
    for name, value in values.items():
        out[name] = value
    return out


def compiled_in(module: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Mark a plain function that has a hand-written compiled version, under the same name, in this module."""

    def mark(function: Callable[P, T]) -> Callable[P, T]:
        vars(function)["compiled_in"] = module
        return function

    return mark


def unbound(*_: Any) -> Any:
    """A placeholder that `compile_step` or `bind` fills in, such as for a step of the base in a wrapper's file."""
    raise RuntimeError("a wrapper's step was called before its base was filled in")


_plain = ContextVar("plain", default=False)  # each thread has its own


def jit_off_here() -> bool:
    """Whether kernels are left uncompiled in this context."""
    return _plain.get()


def jit_off() -> bool:
    """Whether loops run as plain Python, here or because numba is switched off."""
    if jit_off_here():
        return True
    from numba import config

    return bool(vars(config)["DISABLE_JIT"])


@contextmanager
def without_jit(wanted: bool = True) -> Iterator[None]:
    """Context in which this thread gets kernels as plain Python: the same numbers, a few hundred times slower."""
    before = _plain.set(_plain.get() or wanted)
    try:
        yield
    finally:
        _plain.reset(before)


def cached_per_mode(make: Callable[P, T]) -> Callable[P, T]:
    """`functools.cache` for functions that make kernels; compiled and plain kernels are cached separately."""
    cached: Any = functools.cache(lambda _, *words, **named: make(*words, **named))

    @functools.wraps(make)
    def found(*words: P.args, **named: P.kwargs) -> T:
        made: T = cached(jit_off_here(), *words, **named)
        return made

    return found


def _rebound(function: Callable[..., Any], names: dict[str, Any]) -> types.FunctionType:
    """A copy of a plain function with these names among its globals; the plain functions that it calls are compiled."""
    assert isinstance(function, types.FunctionType)
    namespace = {**function.__globals__, **names}
    for name in () if jit_off_here() else global_names(function.__code__):
        called = namespace.get(name)
        if called is function:
            raise PluginError(f"`{name}` calls itself, which a compiled step cannot do", function)
        if isinstance(called, types.FunctionType):
            twin = getattr(called, "compiled_in", None)
            if twin is None:
                namespace[name] = _called(called)
            elif not jit_off():
                namespace[name] = getattr(import_module(twin), called.__name__)
    code, defaults, named = function.__code__, function.__defaults__, function.__kwdefaults__ or {}
    only = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
    if only and not jit_off_here():  # numba does not support keyword-only arguments: make them ordinary ones
        if code.co_flags & inspect.CO_VARARGS or (len(named) < len(only) and (named or defaults)):
            raise PluginError(
                f"compiled, `{function.__name__}` cannot take {', '.join(only)} by keyword only: drop the `*`", function
            )
        code = code.replace(co_argcount=code.co_argcount + len(only), co_kwonlyargcount=0)
        defaults, named = (defaults or ()) + tuple(named[name] for name in only if name in named), {}
    copy = types.FunctionType(code, namespace, function.__name__, defaults, function.__closure__)
    copy.__kwdefaults__ = named
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__name__
    return copy


def compile_step(function: Callable[..., Any], **names: Any) -> Callable[..., Any]:
    """Compile one step of a loop with these globals. Only what Python calls is kept on disk: loops and lone steps."""
    return _part(function, names, inlined=not vars(function).get("once"))


def compile_once(function: Callable[..., Any], **names: Any) -> Callable[..., Any]:
    """`compile_step` for a function that a loop calls in many places: its code is not copied into each of them."""
    return _part(function, names, inlined=False)


def once(function: Callable[P, T]) -> Callable[P, T]:
    """Mark a function whose code is not copied into the loops that call it (`compile_once`).

    In lockstep it is played for one trial after the other (`spmd.interpreter`).
    """
    vars(function)["once"] = True
    return function


@contextmanager
def quickly() -> Iterator[None]:
    """Context in which kernels are compiled at LLVM's first level, which takes a half to a tenth of the time.

    The third level copies a long loop for each branch whose condition does not change in it.
    """
    from numba import config

    settings = vars(config)
    before = settings["OPT"]
    settings["OPT"] = type(before)(min(1, before))
    try:
        yield
    finally:
        settings["OPT"] = before


class Quick:
    """A kernel that is compiled `quickly`, when it is first called. It is called with one signature only."""

    def __init__(self, kernel: Callable[..., Any]) -> None:
        self.kernel, self.compiled = kernel, False

    def __call__(self, *arguments: Any) -> Any:
        if self.compiled:
            return self.kernel(*arguments)
        with ONE_AT_A_TIME, quickly():
            found = self.kernel(*arguments)
        self.compiled = True
        return found


class Part:
    """A step that loops call: its code is part of theirs. If Python calls it, it is compiled on its own, and kept."""

    def __init__(self, function: types.FunctionType, **options: Any) -> None:
        self.py_func, self.options = function, options
        self.inner = _njit(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)

    @property
    def _numba_type_(self) -> Any:
        """The type by which numba knows the step in a loop."""
        return self.inner._numba_type_

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.alone(*arguments, **named)

    @functools.cached_property
    def alone(self) -> Callable[..., Any]:
        """The function on its own."""
        made: Callable[..., Any] = _whole(self.py_func, **self.options)
        return made


def _part(function: Callable[..., Any], names: dict[str, Any], inlined: bool) -> Callable[..., Any]:
    if jit_off():
        return _rebound(function, names)
    users, copy = is_users(function.__module__), _rebound(function, names)
    vars(copy)["digest"] = of_function(copy, inlined, places=users)
    return Part(copy, forceinline=inlined, boundscheck=users)  # a user's index out of bounds must raise


def _njit(function: types.FunctionType, **options: Any) -> Any:
    """Compile a function, under a name that no other process gives to one of its own.

    Each process numbers functions and records anew. Of two functions of one name, loops would call the one that was
    loaded first. numba's own cache needs a name that stays.
    """
    from numba import njit

    own = f"{PROCESS}_{os.getpid()}" if numba_was_tried() else vars(function)["digest"][:16]
    function.__qualname__ = f"{function.__name__}__{own}"
    return njit(nogil=True, **options)(function)


def _whole(function: types.FunctionType, **options: Any) -> Any:
    """Compile a function that Python calls, or load it if it was compiled before."""
    kernels = _kernels(function, vars(function)["digest"])
    if kernels is None:
        warnings.warn("compiled kernels cannot be kept: set NUMBA_CACHE_DIR to a folder", KernelWarning, stacklevel=3)
    tried = numba_was_tried()
    made = _njit(function, no_cfunc_wrapper=True, cache=kernels is not None and not tried, **options)
    if kernels is not None and tried:
        made._cache = kernels
    return made


def borrow(array: NDArray[Any]) -> NDArray[Any]:
    """The same array. In a loop compiled with `borrower()` its views are not counted: none may outlive it.

    Numba counts references to each row that a loop takes, with atomic operations that take longer than reading ten
    numbers.
    """
    return array


@cached_per_mode
def borrower() -> Any:
    """`borrow` for compiled code: references to an array without an owner are not counted."""
    if jit_off():
        return borrow
    from numba.extending import intrinsic

    def ownerless(typing: Any, array: Any) -> tuple[Any, Callable[..., Any]]:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(array)(context, builder, arguments[0])
            view.meminfo = view.meminfo.type(None)
            return view._getvalue()

        return array(array), build

    return intrinsic(ownerless)


_called = functools.cache(compile_step)  # the compiled form of a function that steps call, the same for all steps


def bind(template: Callable[..., Any], **names: Any) -> Callable[..., Any]:
    """Compile a loop with its steps filled in, or load it if it was compiled before."""
    function = _rebound(template, names)
    if jit_off():
        return function
    vars(function)["digest"] = of_function(function, "whole", places=is_users(template.__module__))
    made: Callable[..., Any] = _whole(function)
    return made


@cached_per_mode
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The compiled form of a loop that has no placeholders."""
    return bind(function)


def is_kept(kernel: Callable[..., Any]) -> bool:
    """Whether a bound loop was compiled before, by this process or another one, and is on disk."""
    kernels = getattr(kernel, "_cache", None)
    return isinstance(kernels, Kernels) and kernels.exist()


def _kernels(function: Callable[..., Any], digest: str) -> Kernels | None:
    """The place on disk of a function of this digest, if there is a folder for it."""
    place = folder()
    return Kernels(place, f"{function.__name__}__{digest[:16]}") if place else None
