"""Closed sets, and the places that deal with their kinds one by one without the type checker completing them.

A closed set is a `Literal` of texts, a union of classes or an `Enum` with a name and at least three kinds. A place
deals with its kinds when it tells several of them apart: a ``match``, a dict with kinds as keys, or three tests of one
subject in a function. It is complete when a new kind is an error there: a ``match`` whose ``case _`` is `assert_never`,
or that has none (mypy's ``exhaustive-match``); a dict that has every kind. Any other has an answer for kinds that
nobody has thought of.
"""

import ast
from collections.abc import Iterator, Mapping, Set
from functools import cache
from pathlib import Path
from typing import NamedTuple

_ENUMS = {"Enum", "IntEnum", "StrEnum"}


class Incomplete(NamedTuple):
    """A place that would take a new kind of a closed set without a word."""

    module: str
    line: int
    closed: str
    missing: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.closed}: {', '.join(self.missing)}"


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax of the module at *path*, which is read once."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """Return every node of the module at *path*, which is walked once."""
    return nodes(tree_of(path))


def nodes(tree: ast.AST) -> list[ast.AST]:
    """Return *tree* and what is below it as `ast.walk` does, in a third of the time; without contexts of names."""
    found = [tree]
    for node in found:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                found += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST) and name != "ctx":
                found.append(value)
    return found


def incomplete(known: Mapping[str, Path]) -> list[Incomplete]:
    """Return the places that are not complete, by module."""
    trees = {name: tree_of(path) for name, path in known.items()}
    closed = closed_sets(trees)
    return sorted(each for name, path in known.items() for each in _in_module(name, nodes_of(path), closed))


def closed_sets(trees: Mapping[str, ast.Module]) -> dict[str, Set[str]]:
    """Return the kinds of every closed set as they stand in code, by the set's full name."""
    found: dict[str, Set[str]] = {}
    unions: dict[str, Set[str]] = {}
    for name, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and any(ast.unparse(base) in _ENUMS for base in node.bases):
                targets = (target for each in node.body if isinstance(each, ast.Assign) for target in each.targets)
                found[f"{name}.{node.name}"] = {f"{node.name}.{ast.unparse(target)}" for target in targets}
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                unions[f"{name}.{node.targets[0].id}"] = _members(node.value)
    by_name = {name.rpartition(".")[2]: members for name, members in unions.items() if members}
    for name, members in unions.items():
        found[name] = _expanded(members, by_name, frozenset({name.rpartition(".")[2]}))
    return {name: kinds for name, kinds in found.items() if len(kinds) >= 3}


def _expanded(members: Set[str], by_name: Mapping[str, Set[str]], above: frozenset[str]) -> Set[str]:
    kinds: set[str] = set()
    for each in members:
        inner = by_name.get(each) if each not in above else None
        kinds |= {each} if inner is None else _expanded(inner, by_name, above | {each})
    return kinds


def _members(value: ast.expr) -> Set[str]:
    match value:
        case ast.Subscript(value=ast.Name(id="Literal"), slice=ast.Tuple(elts=texts)):
            return {ast.unparse(each) for each in texts}
        case ast.Subscript(value=ast.Name(id="Literal"), slice=text):
            return {ast.unparse(text)}
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            first, second = _members(left), _members(right)
            return first | second if first and second else set()
        case ast.Name(id=name) if name[0].isupper() and not name.isupper():
            return {name}
        case _:
            return set()


def _in_module(module: str, found: list[ast.AST], closed: Mapping[str, Set[str]]) -> Iterator[Incomplete]:
    for node in found:
        if isinstance(node, ast.Match):
            kinds = {kind for case in node.cases for kind in _of_pattern(case.pattern)}
            last = node.cases[-1]
            is_open = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
            if not is_open or _refuses(last.body):
                continue
        elif isinstance(node, ast.Dict) and len(node.keys) >= 3:
            kinds = {_named(key) for key in node.keys if key is not None}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            below = nodes(node)
            yield from () if _refuse(below) else _in_tests(module, node.lineno, below, closed)
            continue
        else:
            continue
        name = _set_of(kinds, closed)
        if name is not None and (isinstance(node, ast.Match) or kinds != closed[name]):
            yield Incomplete(module, node.lineno, name, tuple(sorted(closed[name] - kinds)))


def _in_tests(module: str, line: int, function: list[ast.AST], closed: Mapping[str, Set[str]]) -> Iterator[Incomplete]:
    tests: dict[str, list[Set[str]]] = {}
    for node in function:
        for part in nodes(node.test) if isinstance(node, ast.If | ast.IfExp) else ():
            match part:
                case ast.Call(func=ast.Name(id="isinstance"), args=[subject, classes]):
                    names = {each.id for each in ast.walk(classes) if isinstance(each, ast.Name)}
                    tests.setdefault(ast.unparse(subject), []).append(names)
                case ast.Compare(left=subject, ops=[ast.Eq() | ast.In() | ast.Is()], comparators=[other]):
                    values = other.elts if isinstance(other, ast.Set | ast.Tuple) else [other]
                    tests.setdefault(ast.unparse(subject), []).append({ast.unparse(each) for each in values})
                case _:
                    pass
    for groups in tests.values():
        kinds = frozenset().union(*groups)
        name = _set_of(kinds, closed) if len(groups) >= 3 and len(kinds) >= 3 else None
        if name is not None:
            yield Incomplete(module, line, name, tuple(sorted(closed[name] - kinds)))


def _of_pattern(pattern: ast.pattern) -> Set[str]:
    match pattern:
        case ast.MatchOr(patterns=patterns):
            return {kind for each in patterns for kind in _of_pattern(each)}
        case ast.MatchClass(cls=named) | ast.MatchValue(value=named):
            return {_named(named)}
        case ast.MatchAs(pattern=ast.pattern() as inner):
            return _of_pattern(inner)
        case _:
            return set()


def _named(node: ast.expr) -> str:
    """Return how a kind is written, without the module that it is taken from."""
    text = ast.unparse(node)
    first, dot, rest = text.partition(".")
    return rest if dot and first.isidentifier() and first.islower() else text


def _refuses(body: list[ast.stmt]) -> bool:
    return any(_refuse(nodes(statement)) for statement in body)


def _refuse(found: list[ast.AST]) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "assert_never" for node in found)


def _set_of(kinds: Set[str], closed: Mapping[str, Set[str]]) -> str | None:
    """Return the smallest closed set that has all of *kinds*; None for fewer than two, which tell nothing apart."""
    holding = [name for name, members in closed.items() if kinds <= members] if len(kinds) >= 2 else []
    return min(holding, key=lambda name: len(closed[name]), default=None)
