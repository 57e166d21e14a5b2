"""How the plain functions of the algorithm files become one compiled loop, cached on disk.

Numba does not cache a loop that receives functions as arguments or through a closure, and it does not notice edits in
the file of a function that the loop calls. Globals, however, are not part of its cache key. A loop is therefore written
once, as a plain function (the template) whose globals name the steps. `bind` makes a copy of it with the steps filled
in, and with a qualified name that holds a hash of the steps, the record type and the package's sources. Each cached
name then has a single signature, so two processes that compile at the same time write the same file.
"""

import functools
import hashlib
import inspect
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

Record = Any  # one element of a structured array, or numba's view of it
Records = NDArray[Any]

P = ParamSpec("P")
T = TypeVar("T")

ROOM = "privbandits_cli.plugins.loader."  # the names of users' modules start like this
SOURCES = ("numerics", "convex", "games", "adversaries", "algorithms", "mechanisms")


def is_users(module: str) -> bool:
    """Whether a module of this name was made from a user's file."""
    return module.startswith(ROOM)


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
    TypeError for a value that is not a number.
    """
    hidden = sorted(name for name in fields if hasattr(np.generic, name))
    if hidden:
        raise ValueError(f"NumPy has attributes {hidden} of its own, which hide these fields of a record: rename them")
    values = {name: np.asarray(value) for name, value in fields.items()}
    objects = sorted(name for name, value in values.items() if value.dtype.hasobject or value.dtype.kind in "US")
    if objects:
        raise TypeError(f"the fields {objects} of a record are not numbers: give numbers or arrays of numbers")
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
    """Placeholder, in a wrapper's file, for a step of its base, which `compile_step` fills in."""
    raise RuntimeError("a wrapper's step was called before its base was filled in")


@functools.cache
def source_hash() -> str:
    """Hash of every source file that a kernel may contain."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for source in SOURCES:
        for file in sorted((root / source).rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()[:12]


_plain = ContextVar("plain", default=False)  # each thread has its own


def plain() -> bool:
    """Whether kernels are left uncompiled in this context."""
    return _plain.get()


def interpreted() -> bool:
    """Whether loops run as plain Python, here or because numba is switched off."""
    if plain():
        return True
    from numba.core import config

    return bool(vars(config)["DISABLE_JIT"])


@contextmanager
def uncompiled(wanted: bool = True) -> Iterator[None]:
    """Context in which this thread gets kernels as plain Python: the same numbers, a few hundred times slower."""
    before = _plain.set(_plain.get() or wanted)
    try:
        yield
    finally:
        _plain.reset(before)


def kept(make: Callable[P, T]) -> Callable[P, T]:
    """`functools.cache` for functions that make kernels; compiled and plain kernels are cached separately."""
    cached: Any = functools.cache(lambda _, *words, **named: make(*words, **named))

    @functools.wraps(make)
    def found(*words: P.args, **named: P.kwargs) -> T:
        made: T = cached(plain(), *words, **named)
        return made

    return found


def _rebound(function: Callable[..., Any], names: dict[str, Any], suffix: str = "") -> types.FunctionType:
    """A copy of a plain function with these names among its globals; the plain functions that it calls are compiled."""
    assert isinstance(function, types.FunctionType)
    namespace = {**function.__globals__, **names}
    for name in () if plain() else function.__code__.co_names:
        called = namespace.get(name)
        if called is function:
            raise PluginError(f"`{name}` calls itself, which a compiled step cannot do", function)
        if isinstance(called, types.FunctionType):
            twin = getattr(called, "compiled_in", None)
            if twin is None:
                namespace[name] = _called(called)
            elif not interpreted():
                namespace[name] = getattr(import_module(twin), called.__name__)
    code, defaults, named = function.__code__, function.__defaults__, function.__kwdefaults__ or {}
    only = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
    if only and not plain():  # numba does not support keyword-only arguments: make them ordinary ones
        if code.co_flags & inspect.CO_VARARGS or (len(named) < len(only) and (named or defaults)):
            raise PluginError(
                f"compiled, `{function.__name__}` cannot take {', '.join(only)} by keyword only: drop the `*`", function
            )
        code = code.replace(co_argcount=code.co_argcount + len(only), co_kwonlyargcount=0)
        defaults, named = (defaults or ()) + tuple(named[name] for name in only if name in named), {}
    copy = types.FunctionType(code, namespace, function.__name__ + suffix, defaults, function.__closure__)
    copy.__kwdefaults__ = named
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__name__ + suffix
    return copy


def compile_step(function: Callable[..., Any], **names: Any) -> Callable[..., Any]:
    """Compile one step of a loop with these globals. It is not cached: the loop that contains it is."""
    return _part(function, names, inlined=not vars(function).get("once"))


def compile_once(function: Callable[..., Any], **names: Any) -> Callable[..., Any]:
    """`compile_step` for a function that a loop calls in many places: its code is not copied into each of them."""
    return _part(function, names, inlined=False)


def once(function: Callable[P, T]) -> Callable[P, T]:
    """Mark a function whose code is not copied into the loops that call it (`compile_once`)."""
    vars(function)["once"] = True
    return function


@contextmanager
def quickly() -> Iterator[None]:
    """Context in which kernels are compiled at LLVM's first level, which takes a half to a tenth of the time.

    The third level copies a long loop for each branch whose condition does not change in it.
    """
    from numba.core import config

    settings = vars(config)
    before = settings["OPT"]
    settings["OPT"] = type(before)(min(1, before))
    try:
        yield
    finally:
        settings["OPT"] = before


def _part(function: Callable[..., Any], names: dict[str, Any], inlined: bool) -> Callable[..., Any]:
    if interpreted():
        return _rebound(function, names)
    from privbandits_cli.numerics.parts import Part

    checked = is_users(function.__module__)  # a user's index out of bounds must raise
    return Part(_rebound(function, names), nogil=True, forceinline=inlined, boundscheck=checked)


def borrow(array: NDArray[Any]) -> NDArray[Any]:
    """The same array. In a loop compiled with `borrower()` its views are not counted: none may outlive it.

    Numba counts references to each row that a loop takes, with atomic operations that take longer than reading ten
    numbers.
    """
    return array


@kept
def borrower() -> Any:
    """`borrow` for compiled code: references to an array without an owner are not counted."""
    if interpreted():
        return borrow
    from numba.extending import intrinsic

    def ownerless(typing: Any, array: Any) -> tuple[Any, Callable[..., Any]]:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(array)(context, builder, arguments[0])
            view.meminfo = view.meminfo.type(None)
            return view._getvalue()

        return array(array), build

    return intrinsic(ownerless)


@functools.cache
def _called(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that steps call, the same for all of them."""
    return compile_step(function)


def keeps() -> bool:
    """Whether numba has a folder in which it keeps compiled loops."""
    import numba

    try:
        numba.njit(cache=True)(keeps)  # looks for the folder, and compiles nothing
    except RuntimeError:
        return False
    return True


def bind(template: Callable[..., Any], *key: str, **names: Any) -> Callable[..., Any]:
    """Compile a loop with its steps filled in; it is cached on disk under the key and the hash of the sources."""
    if plain():
        return _rebound(template, names)
    from privbandits_cli.numerics.parts import whole

    digest = hashlib.sha256("\0".join((*key, source_hash())).encode()).hexdigest()[:16]
    function = _rebound(template, names, f"__{digest}")
    try:
        return whole(function, nogil=True, cache=True)
    except RuntimeError as error:  # numba found no folder to write to
        warnings.warn(f"compiled kernels cannot be cached ({error}); set NUMBA_CACHE_DIR", stacklevel=2)
        return whole(function, nogil=True)
