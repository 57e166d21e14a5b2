"""Digests of code: the key of a kernel, and of the code that played a trial.

A kernel's digest is made of what is bound in it: the bytecode of its function, its constants, and the digests of all
that it calls (`of_function`). The digest of a module is that of its source, and of the modules of the package that it
imports (`of_modules`). Comments, docstrings and the places of lines change neither. In a user's file the places of
lines count for kernels, because errors name them.
"""

import dis
import hashlib
import re
import types
import uuid
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = "privbandits_cli"
ROOT = Path(__file__).parent.parent
LIBRARIES = ("numpy", "math", "numba", "llvmlite", "builtins", "operator")
STRING = re.compile(rb'^[ \t]*"""(?:[^"\\]|\\.|"(?!""))*"""[ \t]*$', re.MULTILINE)  # one that stands as a statement
COMMENT = re.compile(rb"(?:^[ \t]*#.*|[ \t]+#[^\"'\n]*)$", re.MULTILINE)  # no quote follows, so it is in no string
NAMED = re.compile(rf'"({PACKAGE}(?:\.\w+)+)"'.encode())  # a module that is imported when it is needed
IMPORT = re.compile(
    rf"^[ \t]*(?:from|import) ({PACKAGE}[\w.]*)(?: import (?:\(([^)]*)\)|(.*)))?".encode(), re.MULTILINE
)


def sha(*texts: str | bytes) -> str:
    """The SHA-256 of these texts, in hexadecimal digits."""
    digest = hashlib.sha256()
    for text in texts:
        content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        digest.update(b"%d:" % len(content) + content)
    return digest.hexdigest()


# ------------------------------------------------------------------------------------------------ of functions


def of_function(function: types.FunctionType, *options: Any, places: bool = False, above: tuple[Any, ...] = ()) -> str:
    """The digest of a function with all that it calls; recorded as `function.digest` if it was made with options.

    options: how it is compiled. places: whether the lines of its file count. above: the functions that call it.
    """
    recorded = vars(function).get("digest")
    if recorded is not None and not options:
        return str(recorded)
    if function in above:
        return "itself"
    inside = (*above, function)
    code, defaults = function.__code__, (function.__defaults__, function.__kwdefaults__ or None)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    given = [_text(value, inside) for value in (*options, *defaults, *cells)]
    found = [_text(value, inside) for value in _globals(code, function.__globals__)]
    lines = [function.__module__, _lines(code)] if places else []  # the code holds the name of a user's module
    return sha(_code(code, function.__doc__), *given, *found, *lines)


@cache
def global_names(code: types.CodeType) -> tuple[str, ...]:
    """The names that a function, and functions within it, look up among its globals, in order."""
    own = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    nested = [name for const in code.co_consts if isinstance(const, types.CodeType) for name in global_names(const)]
    return tuple(sorted({*own, *nested}))


def _globals(code: types.CodeType, namespace: dict[str, Any]) -> Iterator[Any]:
    """The globals that a function looks up, each after its name; those of modules of the package, too."""
    for name in global_names(code):
        if name in namespace:
            value = namespace[name]
            yield name
            yield value
            if isinstance(value, types.ModuleType) and _file(value.__name__) is not None:
                yield [(word, vars(value)[word]) for word in code.co_names if word in vars(value)]


def _code(code: types.CodeType, doc: str | None) -> str:
    """The bytecode of a function, with its constants but without its docstring and its lines."""
    constants = code.co_consts[1:] if doc is not None and code.co_consts[:1] == (doc,) else code.co_consts
    inner = [_code(one, None) if isinstance(one, types.CodeType) else _text(one, ()) for one in constants]
    sizes = code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, code.co_nlocals, code.co_flags
    names = code.co_names, code.co_freevars, code.co_cellvars
    return sha(code.co_code, code.co_exceptiontable, repr((*sizes, *names)), *inner)


def _lines(code: types.CodeType) -> str:
    nested = [_lines(const) for const in code.co_consts if isinstance(const, types.CodeType)]
    return sha(code.co_filename, str(code.co_firstlineno), code.co_linetable, *nested)


def _text(value: Any, above: tuple[Any, ...]) -> str:
    """A text that is equal for equal values of a kernel's globals, in every process."""
    if value is None or value is Ellipsis or isinstance(value, bool | int | float | complex | str | bytes):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        return f"{value.dtype.descr} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, np.dtype):
        return f"dtype {value.descr}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__} {[_text(one, above) for one in value]}"
    if isinstance(value, set | frozenset):
        return f"set {sorted(_text(one, above) for one in value)}"
    if isinstance(value, dict):
        return f"dict {[(_text(key, above), _text(one, above)) for key, one in value.items()]}"
    if isinstance(value, types.ModuleType):
        return f"module {value.__name__}"
    if isinstance(function := getattr(value, "py_func", None), types.FunctionType):  # compiled by numba
        return f"compiled {of_function(function, above=above)}"
    if isinstance(stated := getattr(value, "digest", None), str):
        return f"digest {stated}"
    module = str(getattr(value, "__module__", None) or "")
    name = str(getattr(value, "__qualname__", None) or getattr(value, "__name__", ""))
    if isinstance(value, type):
        return f"class {module}.{name} {getattr(value, '_fields', '')}"
    if (name and module.partition(".")[0] in LIBRARIES) or isinstance(value, np.ufunc | types.BuiltinFunctionType):
        return f"{type(value).__name__} {module}.{name}"
    if name and _file(module) is not None:  # an extension of numba: functions that a kernel calls are compiled
        return f"{module}.{name} {of_modules([module])}"
    if isinstance(value, types.FunctionType):
        return of_function(value, above=above)
    return f"unknown {uuid.uuid4()}"  # numba may know it; no other process may use this kernel


# -------------------------------------------------------------------------------------------------- of modules


def essence(source: bytes) -> bytes:
    """A source without comments, without strings that stand as statements, and without blank lines."""
    rest = COMMENT.sub(b"", STRING.sub(b"", source))
    return b"\n".join(line.rstrip() for line in rest.splitlines() if line.strip())


def of_modules(names: Iterable[str]) -> str:
    """The digest of these modules and of all modules of the package that they import."""
    found: dict[str, str] = {}
    left = [*names]
    while left:
        name = left.pop()
        if name not in found:
            found[name], imported = _module(name)
            left += imported
    return sha(*(f"{name} {found[name]}" for name in sorted(found)))


def of_package() -> str:
    """The digest of all modules of the package."""
    return of_modules(".".join(file.relative_to(ROOT.parent).with_suffix("").parts) for file in ROOT.rglob("*.py"))


@cache
def _module(name: str) -> tuple[str, tuple[str, ...]]:
    """The digest of a module's own source, and the modules of the package that it imports."""
    file = _file(name)
    if file is None:
        return "", ()
    source = file.read_bytes()
    return sha(essence(source)), imports(source)


def imports(source: bytes) -> tuple[str, ...]:
    """The modules of the package that a source imports, or names in a text as one to be imported later."""
    found = {named.decode() for named in NAMED.findall(source)}
    for module, *names in IMPORT.findall(source):
        words = re.findall(rb"\w+", COMMENT.sub(b"", b" ".join(names)))
        found |= {module.decode(), *(f"{module.decode()}.{word.decode()}" for word in words)}
    return tuple(sorted(name for name in found if _file(name) is not None))


@cache
def _file(name: str) -> Path | None:
    """The file of a module of the package; None for another name."""
    place = ROOT.parent.joinpath(*name.split("."))
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)
