"""Sources of mappings and conditions as expressions of the new language."""

import json
from collections.abc import Callable, Iterable
from typing import Any, Final

from emulator.services.workflow.languages.fdl.mappings import Mapping
from emulator.services.workflow.languages.fdl.paths import Path
from emulator.services.workflow.languages.statemachine.expressions import SUFFIX
from emulator.services.workflow.languages.terms import And, Array, Comparison, Constant, Minus, Not, Or, Term

_CONTEXT: Final = {
    "execution.name": "$Context.Execution.Name",
    "step.name": "$Context.Current.Name",
    "step.retryCount": "$Context.Current.RetryCount",
    "task.token": "$Context.Current.TaskToken",
}


class Expression:
    """An expression in place of a value."""

    def __init__(self, text: str) -> None:
        self.text = text


class Source:
    """Where the sources of mappings are: the *step*'s input and its *local*; *remark* notes what has no source.

    *local* is a list for the branches of a parallel, empty when there is nothing.
    """

    def __init__(self, remark: Callable[[str, str], None], name: str, *, step: str, local: str | list[str]) -> None:
        self._remark = remark
        self._name = name
        self._step = step
        self._local = local

    def value(self, source: Any) -> Any:
        """Return the source of a mapping: an expression, or the constant it is."""
        return Expression(self.path(source)) if isinstance(source, Path) else source

    def template(self, mappings: Iterable[Mapping]) -> dict[str, Any]:
        """Return a constructor for mappings."""
        made: dict[str, Any] = {}
        for mapping in mappings:
            inner = made
            *outer, last = mapping.keys
            for key in outer:
                inner = inner.setdefault(key, {})
            value = self.value(mapping.source)
            inner.pop(last, None)
            inner.pop(last + SUFFIX, None)
            inner |= {last + SUFFIX: value.text} if isinstance(value, Expression) else {last: value}
        return made

    def literal(self, mappings: Iterable[Mapping]) -> str:
        """Return an object literal for mappings, to be merged with the local."""
        return _literal(self.template(mappings))

    def path(self, path: Path) -> str:
        """Return an expression for a path, null for one that has none."""
        if path.root == "$context":
            known = _CONTEXT.get(".".join(str(each) for each in path.segments))
            return known or self._without(path, "the context has no such value")
        if path.collects or any(isinstance(each, int) and each < 0 for each in path.segments):
            return self._without(path, "a path has no wildcard and counts from the beginning")
        if path.root != "$local":
            return self._step + _members(path.segments)
        if isinstance(self._local, list):
            return self._of_branches(path)
        if self._local == "$Context.Current.Error":
            member = {"error": ".Code", "cause": ".Detail"}.get(".".join(str(each) for each in path.segments))
            return f"{self._local}{member}" if member else self._without(path, "the error has Code and Detail")
        return self._local + _members(path.segments) if self._local else "null"

    def condition(self, tree: Term) -> str:
        """Return a condition on the step's input; what is no comparison must be true, and no more than that."""
        match tree:
            case Or():
                return " || ".join(self.condition(each) for each in tree.operands)
            case And():
                inner = (self.condition(each) for each in tree.operands)
                return " && ".join(
                    f"({text})" if isinstance(each, Or) else text
                    for each, text in zip(tree.operands, inner, strict=True)
                )
            case Not():
                return f"!({self.condition(tree.operand)})"
            case Comparison(sign="in"):
                return f"arrayContains({self._term(tree.right)}, {self._term(tree.left)})"
            case Comparison():
                return f"{self._term(tree.left)} {tree.sign} {self._term(tree.right)}"
            case Constant():
                return "true" if tree.constant is True else "false"
            case _:
                return f"{self._term(tree)} == true"

    def _term(self, tree: Term) -> str:
        match tree:
            case Constant():
                return json.dumps(tree.constant, ensure_ascii=False)
            case Path():
                return self.path(tree)
            case Array():
                return f"[{', '.join(self._term(item) for item in tree.items)}]"
            case Minus():
                return f"-{self._term(tree.operand)}"
            case _:
                return f"({self.condition(tree)})"

    def _of_branches(self, path: Path) -> str:
        assert isinstance(self._local, list)
        if not path.segments:
            return f"toArray({', '.join(self._local)})"
        first, *rest = path.segments
        if isinstance(first, int) and first < len(self._local):
            return self._local[first] + _members(rest)
        return "null"

    def _without(self, path: Path, why: str) -> str:
        self._remark(self._name, f"{path} is null here: {why}")
        return "null"


def quoted(text: str) -> str:
    """Return a text as it stands in an expression."""
    return json.dumps(text, ensure_ascii=False)


def member(key: str) -> str:
    """Return the end of a path that has a key."""
    return f".{key}" if key.isidentifier() and key.isascii() else f"[{quoted(key)}]"


def _members(segments: Iterable[Any]) -> str:
    return "".join(f"[{each}]" if isinstance(each, int) else member(str(each)) for each in segments)


def _literal(value: Any) -> str:
    """Return a template as an expression."""
    if isinstance(value, dict):
        parts = []
        for key, item in value.items():
            name = key.removesuffix(SUFFIX)
            parts.append(f"{quoted(name)}: {item if name != key else _literal(item)}")
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list):
        return f"[{', '.join(_literal(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False)
