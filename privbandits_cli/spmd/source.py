"""The source of a step: its syntax tree, with one way out of every block.

`structured` replaces `return`, `break` and `continue` by flags, so that only `if`, `for` and `while` decide
what is played. What follows a statement that always leaves goes into the other branch; what follows one that may leave
is played unless a flag is set:

    if a: return x          if a: RESULT = x
    s = 1                   else: s = 1

The names of flags begin with a space, which no name of a step does.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import FunctionType, MappingProxyType
from typing import Any, NoReturn

from privbandits_cli.numerics.digests import of_function, of_modules, sha
from privbandits_cli.numerics.jit import is_users

BOOL = {"bool": True}  # metadata of a NumPy type: words that hold True and False
RESULT = " result"  # what a function returns
GONE = " gone"  # it has returned
Loop = ast.For | ast.While
Way = ast.Return | ast.Break | ast.Continue  # the statements that leave a block


class Unsupported(Exception):
    """What has no form for several trials: the reason, and its place in the source."""

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(f"{place}: {reason}" if place else reason)
        self.reason, self.place = reason, place


class Step:
    """A function, with values for names that its file leaves open, such as `base_choose`."""

    def __init__(self, function: Callable[..., Any], names: Mapping[str, Any] = MappingProxyType({})) -> None:
        assert isinstance(function, FunctionType)
        self.function, self.names = function, names
        self.checked = is_users(function.__module__)  # indices of a user's file are


def digest_of(step: Step, module: str, *options: Any) -> str:
    """The digest of a step with what fills in its names, and of the module that makes code of it."""
    inner = [f"{name} {digest_of(one, module) if isinstance(one, Step) else one!r}" for name, one in step.names.items()]
    return sha(of_function(step.function, *options, places=step.checked), *inner, of_modules([module]))


def unsupported(reason: str) -> NoReturn:
    """Raise Unsupported; the interpreter adds the place."""
    raise Unsupported(reason)


@cache
def tree_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """The structured syntax tree of a function; Unsupported if it has no source, or is a lambda or a generator."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError):
        raise Unsupported(f"the source of {function.__name__} is not at hand") from None
    if not isinstance(tree, ast.FunctionDef):
        raise Unsupported(f"{function.__name__} is no `def`")
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    values = any(isinstance(part, ast.Return) and part.value is not None for part in ast.walk(tree))
    vars(tree)["falls"] = values and not _always(tree.body, ast.Return | ast.Raise)
    tree.body = [*_set({GONE: False}, tree), *_structured(tree.body, (), 0)]
    return tree


# ------------------------------------------------------------------------------------------------ the ways out


def _structured(statements: Sequence[ast.stmt], loops: tuple[int, ...], depth: int) -> list[ast.stmt]:
    """The statements without ways out; loops: the numbers of those around it, outermost first."""
    done: list[ast.stmt] = []
    for k, one in enumerate(statements):
        rest = statements[k + 1 :]
        if isinstance(one, ast.Assert):
            one = ast.copy_location(ast.If(_negated(one.test), [ast.copy_location(ast.Raise(), one)], []), one)
        if isinstance(one, ast.Raise):  # nothing counts that a trial with an error does afterwards
            return [*done, one]
        if isinstance(one, ast.Return):
            flags = {GONE: True} | {flag: True for loop in loops for flag in (_skip(loop), _leave(loop))}
            value = one.value or ast.copy_location(ast.Constant(None), one)
            return [*done, *_assigned(RESULT, value, one), *_set(flags, one)]
        if isinstance(one, ast.Break | ast.Continue):
            flags = {_skip(loops[-1]): True} | ({_leave(loops[-1]): True} if isinstance(one, ast.Break) else {})
            return [*done, *_set(flags, one)]
        if isinstance(one, ast.If) and may_leave(one):
            first, second, after = list(one.body), list(one.orelse), list(rest)
            if _always(first, Way):
                second, after = [*second, *after], []
            elif _always(second, Way):
                first, after = [*first, *after], []
            made = ast.If(one.test, _structured(first, loops, depth), _structured(second, loops, depth))
            return [*done, ast.copy_location(made, one), *_unless(after, one, loops, depth)]
        if isinstance(one, Loop):
            done += _loop(one, loops, depth)
            if _returns(one):
                return [*done, *_unless(rest, one, loops, depth)]
            continue
        if isinstance(one, ast.If):
            made = ast.If(one.test, _structured(one.body, loops, depth), _structured(one.orelse, loops, depth))
            one = ast.copy_location(made, one)
        done.append(one)
    return done


def _unless(rest: Sequence[ast.stmt], one: ast.stmt, loops: tuple[int, ...], depth: int) -> list[ast.stmt]:
    """The rest of a block, played unless the flag of a way out is set."""
    if not rest:
        return []
    flag = ast.copy_location(ast.Name(_skip(loops[-1]) if loops else GONE, ast.Load()), one)
    return [ast.copy_location(ast.If(_negated(flag), _structured(rest, loops, depth), []), one)]


def _loop(one: Loop, loops: tuple[int, ...], depth: int) -> list[ast.stmt]:
    """A loop whose turns are played while its flag is not set (`until`)."""
    if one.orelse:
        raise Unsupported(f"a loop with an `else` in line {one.lineno}")
    own = (*loops, one.lineno * 1000 + one.col_offset)
    body = _structured(one.body, own, depth + 1)
    inside = any(may_leave(part) for part in one.body)
    if inside:
        body = [*_set({_skip(own[-1]): False}, one), *body]
    made: Loop = (
        ast.While(one.test, body, []) if isinstance(one, ast.While) else ast.For(one.target, one.iter, body, [])
    )
    made = ast.copy_location(made, one)
    vars(made)["until"] = _leave(own[-1]) if inside and _breaks(one) else None
    return [*(_set({_leave(own[-1]): False}, one) if inside else ()), made]


def _skip(loop: int) -> str:
    return f" skip {loop}"  # the rest of this turn


def _leave(loop: int) -> str:
    return f" leave {loop}"  # all further turns


def _set(flags: dict[str, bool], near: ast.AST) -> list[ast.stmt]:
    return [part for flag, value in flags.items() for part in _assigned(flag, ast.Constant(value), near)]


def _assigned(name: str, value: ast.expr, near: Any) -> list[ast.stmt]:
    made = ast.Assign([ast.Name(name, ast.Store())], value)
    return [ast.fix_missing_locations(ast.copy_location(made, near))]


def _negated(test: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


def _ways_out(node: ast.AST, inside: bool = False) -> Iterator[ast.AST]:
    """Each `return`, `break` and `continue` that leaves a statement, not those that only leave a loop in it."""
    if isinstance(node, ast.Return if inside else Way):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _ways_out(child, inside or isinstance(node, Loop))


@cache
def may_leave(node: ast.AST) -> bool:
    """Whether a statement may leave its block."""
    return any(True for _ in _ways_out(node))


def _always(statements: Sequence[ast.stmt], ways: Any) -> bool:
    """Whether statements always end in one of these ways, or never end."""
    return any(
        isinstance(one, ways)
        or (isinstance(one, ast.If) and _always(one.body, ways) and _always(one.orelse, ways))
        or (isinstance(one, ast.While) and isinstance(one.test, ast.Constant) and one.test.value and not _broken(one))
        for one in statements
    )


def _broken(loop: Loop) -> bool:
    return any(isinstance(part, ast.Break) for child in loop.body for part in _ways_out(child))


def _returns(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Return) for part in ast.walk(node))


def _breaks(loop: Loop) -> bool:
    """Whether turns of a loop may be left for good."""
    return any(not isinstance(part, ast.Continue) for child in loop.body for part in _ways_out(child))


# -------------------------------------------------------------------------------------------------- the names


@cache
def assigned(node: ast.AST) -> frozenset[str]:
    """The names that a statement assigns."""
    return frozenset(
        part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    )


@cache
def own_turns(tree: ast.FunctionDef) -> frozenset[str]:
    """The variables of loops that a function reads in these loops only, and assigns nowhere else."""
    loops: set[str] = set()
    others: set[str] = set()

    def visit(part: ast.AST, bound: frozenset[str]) -> None:
        if isinstance(part, ast.For) and isinstance(part.target, ast.Name):
            visit(part.iter, bound)
            loops.add(part.target.id)
            for one in part.body:
                visit(one, bound | {part.target.id})
            return
        if isinstance(part, ast.Name) and (isinstance(part.ctx, ast.Store) or part.id not in bound):
            others.add(part.id)
        for child in ast.iter_child_nodes(part):
            visit(child, bound)

    visit(tree, frozenset())
    return frozenset(loops - others)
