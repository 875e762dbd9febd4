"""Mutants: one flipped comparison or boolean of a function, as code to run in its place."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType

FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


@dataclass(frozen=True, slots=True)
class Place:
    """One thing to flip."""

    path: Path
    line: int
    column: int
    was: str
    """The expression as written."""
    function: str
    """Qualified name of the outermost function or method that holds it."""
    index: int
    """Of the flip among all of the module."""


def places(path: Path) -> tuple[Place, ...]:
    """Everything inside functions of a module that can be flipped."""
    tree = ast.parse(_source(path))
    return tuple(
        Place(path, node.lineno, node.col_offset, ast.unparse(node)[:70], function, index)
        for index, (node, _, function) in enumerate(_flips(tree))
        if function
    )


def mutated_code(place: Place) -> dict[tuple[str, int], CodeType]:
    """Code of every function of the module, with one flip; by qualified name and first line."""
    tree = ast.parse(_source(place.path))
    node, operator, _ = list(_flips(tree))[place.index]
    _flip(node, operator)
    module = compile(ast.fix_missing_locations(tree), str(place.path), "exec")
    return dict(_functions(module))


@cache
def _source(path: Path) -> str:
    """The text when it was first asked for: an edit meanwhile does not count."""
    return path.read_text("utf-8")


def _flips(tree: ast.AST) -> list[tuple[ast.expr, int, str]]:
    """Each node to flip, which of its operators, and the function around it."""
    return list(_walk(tree, (), inside=False))


def _walk(
    node: ast.AST, names: tuple[str, ...], *, inside: bool
) -> Iterator[tuple[ast.expr, int, str]]:
    if isinstance(node, ast.Compare):
        for operator in range(len(node.ops)):
            yield node, operator, ".".join(names) if inside else ""
    elif _is_boolean(node):
        yield node, 0, ".".join(names) if inside else ""  # type: ignore[misc]  # an expression
    for child in ast.iter_child_nodes(node):
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(child, ast.arguments) or _is_assertion(child):
            continue  # defaults are of the definition; assertions never fail
        if not inside and (is_function or isinstance(child, ast.ClassDef)):
            name = child.name  # type: ignore[attr-defined]  # both kinds have one
            yield from _walk(child, (*names, name), inside=is_function)
        else:
            yield from _walk(child, names, inside=inside)


def _is_boolean(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    return isinstance(node, ast.BoolOp) or (
        isinstance(node, ast.Constant) and isinstance(node.value, bool)
    )


def _is_assertion(node: ast.AST) -> bool:
    return isinstance(node, ast.Assert)


def _flip(node: ast.expr, operator: int) -> None:
    if isinstance(node, ast.Compare):
        node.ops[operator] = FLIPPED[type(node.ops[operator])]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
    elif isinstance(node, ast.UnaryOp):  # `not x` becomes `not not x`
        node.operand = ast.UnaryOp(ast.Not(), node.operand)
    elif isinstance(node, ast.Constant):
        node.value = not node.value


def _functions(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield (constant.co_qualname, constant.co_firstlineno), constant
            yield from _functions(constant)
