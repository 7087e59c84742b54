"""Every small wrong change that can be made to a module, found in its syntax tree.

A mutant replaces one expression or statement: a comparison is reversed, an arithmetic operator changed, a number
nudged, `min` and `max` swapped, a condition negated, a clip or a second assignment dropped. What computes nothing is
left alone: docstrings, annotations, decorators, messages of errors, assertions (`zip(..., strict=True)` is one), how
objects print, how figures look, and how many rows are worked on at a time.
"""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

COMPARISONS = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
SWAPPED = {"min": "max", "minimum": "maximum", "argmin": "argmax", "nanmin": "nanmax"}
SWAPPED |= {new: old for old, new in SWAPPED.items()}
LARGE = 100  # a whole number from here on is twice as large, because one more would change nothing that can be seen
TOLERANCE = 1e-3  # a number smaller than this is a tolerance: twice as much would change nothing that can be seen
UNSEEN = {"strict", "check_finite", "repr"}  # check what is so anyway, as assertions do, or say how objects print
UNSEEN |= {"bytes_per_row"}  # how many rows are worked on at a time
UNSEEN |= {"alpha", "capsize", "frameon", "labelrotation", "markersize"}  # how a figure looks
BLOCKS = {"row_blocks", "triangle_blocks"}  # all arguments but the first say how much is done at a time
AT_A_TIME = ("BATCH", "BLOCK")  # constants whose names begin so say it too
PRINTED = {"__repr__", "__str__", "_repr_html_", "__format__"}


@dataclass(frozen=True)
class Mutant:
    """One change of one file: `old`, at that offset in the text, becomes `new`."""

    path: Path
    offset: int
    old: str
    new: str

    def source(self, text: str) -> str:
        """The text of the file with the change."""
        assert text[self.offset :].startswith(self.old)
        return text[: self.offset] + self.new + text[self.offset + len(self.old) :]

    def line(self, text: str) -> int:
        """Number of the line that the change begins in."""
        return text.count("\n", 0, self.offset) + 1

    def diff(self, text: str) -> str:
        """The lines that change, before and after."""
        lines = difflib.unified_diff(text.splitlines(), self.source(text).splitlines(), n=0, lineterm="")
        return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


@cache
def mutants(path: Path) -> tuple[Mutant, ...]:
    """Every mutant of a file, in the order of its lines."""
    text = path.read_text(encoding="utf-8")
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines()

    def offset(line: int, column: int) -> int:  # columns of the syntax tree count bytes
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    found = {}
    for node, new in _replacements(ast.parse(text)):
        start, end = offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)
        mutant = Mutant(path, start, text[start:end], new)
        found[start, end, new] = mutant
    return tuple(sorted(found.values(), key=lambda mutant: (mutant.offset, mutant.new)))


def _replacements(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    for node in _computing(tree):
        for changed in _changes(node):
            text = ast.unparse(changed)
            # Brackets keep the meaning of what stands around; a statement needs none.
            yield node, f"({text})" if isinstance(node, ast.expr) else text
        # Comparisons and `not` change in their own right.
        if isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.Compare | ast.UnaryOp):
            yield node.test, f"(not ({ast.unparse(node.test)}))"


def _computing(node: ast.AST) -> Iterator[ast.AST]:
    """Every node below that computes something."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Raise | ast.Assert | ast.JoinedStr):
                continue
            if isinstance(child, ast.FunctionDef) and child.name in PRINTED:
                continue
            if isinstance(child, ast.keyword) and child.arg in UNSEEN:
                continue
            if isinstance(child, ast.Assign) and getattr(child.targets[0], "id", "").startswith(AT_A_TIME):
                continue
            if isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING":
                continue
            yield child
            at_a_time = isinstance(child, ast.Call) and getattr(child.func, "id", "") in BLOCKS
            yield from _computing(child.args[0]) if at_a_time else _computing(child)


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=[operator]):
            yield _with(node, ops=[COMPARISONS[type(operator)]()])
        case ast.BinOp(op=operator) if type(operator) in OPERATORS:
            yield _with(node, op=OPERATORS[type(operator)]())
        case ast.AugAssign(op=operator):
            if type(operator) in OPERATORS:
                yield _with(node, op=OPERATORS[type(operator)]())
        case ast.BoolOp(op=operator):
            yield _with(node, op=ast.Or() if isinstance(operator, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield from map(ast.Constant, _numbers(value))
        case ast.Call(func=ast.Attribute(attr="clip"), args=[first, _, *_]):
            yield first
        case ast.Name(id=name) if name in SWAPPED:
            yield ast.Name(SWAPPED[name])
        case ast.Attribute(attr=name) if name in SWAPPED:
            yield _with(node, attr=SWAPPED[name])
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            if any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(value)):
                yield ast.Pass()  # x = f(x): as if it were not there


def _numbers(value: float) -> list[float]:
    if 0 < abs(value) < TOLERANCE:
        return [1.0]
    if isinstance(value, int):
        if value >= LARGE:
            return [2 * value]
        return [0 if value == 1 else value + 1]  # so that an axis or a column stays one that exists
    return [2 * value, -value] if value else [1.0]


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed
