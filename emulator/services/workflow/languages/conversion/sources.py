"""Converts sources of mappings, and conditions, of the old language to expressions of the new one."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from emulator.kernel.phrases import Phrase, phrase
from emulator.services.workflow.languages.conversion.expressions import Expression, Found, chosen, literal, quoted
from emulator.services.workflow.languages.conversion.members import Made
from emulator.services.workflow.languages.conversion.places import (
    Branches,
    CaughtError,
    Items,
    MapAt,
    Place,
    Unsayable,
    check,
)
from emulator.services.workflow.languages.fdl.mappings import Mapping
from emulator.services.workflow.languages.fdl.paths import Path
from emulator.services.workflow.languages.statemachine.expressions import RESULT_ROOTS, parse
from emulator.services.workflow.languages.terms import And, Array, Comparison, Constant, Minus, Not, Or, Term
from emulator.services.workflow.languages.values import ExpressionError

_OLD_CONTEXT: Final = frozenset({"flow", "execution", "step", "task", "currentTime"})
"""The members of ``$context`` in the old language."""


class Source:
    """Converts sources: *step* is the path of the step's input, *local* its local; *remark* notes what is lost.

    *step_name* is the name of the step, empty for the flow; *flow_name* the name of the machine. *has_token* is whether
    a report is waited for, so that there is a task token.
    """

    def __init__(
        self,
        remark: Callable[[str, Phrase], None],
        flow_name: str,
        step_name: str,
        *,
        step: str,
        local: Place,
        has_token: bool = False,
    ) -> None:
        self._remark = remark
        self._flow_name = flow_name
        self._name = step_name
        self._step = MapAt(step)
        self._local = local
        self._has_token = has_token

    def value(self, source: Any) -> Any:
        """Return the source of a parameter as an expression, or the constant unchanged."""
        return Expression(self.path(source)) if isinstance(source, Path) else source

    def path(self, path: Path) -> str:
        """Return an expression for a path on the step's input, ``null`` when no value can be there."""
        found = self.find(path)
        return "null" if found is None else found.text

    def may_be_missing(self, source: Any) -> bool:
        """Whether the value of a source may be missing when the flow runs."""
        found = self.find(source) if isinstance(source, Path) else Found("")
        return found is None or bool(found.there)

    def find(self, path: Path) -> Found | None:
        """Return the place of a path's value, None when there can be none; an `Unsayable` path is noted and null."""
        try:
            match path.root:
                case "$context":
                    return self._in_context(path.segments)
                case "$local":
                    return self._below(self._local, path)
                case _:
                    return self._below(self._step, path)
        except Unsayable as why:
            self._remark(self._name, Phrase("{path} is null here: {why}", path=path, why=phrase(str(why))))
            return Found("null")

    def made(self, mappings: Iterable[Mapping]) -> Made:
        """Return the object that mappings make."""
        made = Made()
        for mapping in mappings:
            if not isinstance(mapping.source, Path):
                made.put(mapping.keys, mapping.source, "")
                continue
            found = self._mapped(mapping.source)
            if found is not None and not made.put(mapping.keys, Expression(found.text), found.there):
                text = "{target} replaces all of {key} here"
                self._remark(self._name, Phrase(text, target=mapping.target, key=mapping.keys[0]))
        return made

    def template(self, mappings: Iterable[Mapping]) -> Any:
        """Return a constructor for mappings, or an expression when members may be missing."""
        made = self.made(mappings)
        if made.is_sure:
            return made.constructor()
        text = made.text()
        try:
            parse(f"jsonMerge({{}}, {text})", RESULT_ROOTS)  # as it may be merged with a local
        except ExpressionError:
            text = "what its mappings do not find is null here: they are too many for an expression"
            self._remark(self._name, Phrase(text))
            return made.constructor()
        return Expression(text)

    def literal(self, mappings: Iterable[Mapping]) -> str:
        """Return an expression for the object that mappings make, to be merged with the local."""
        made = self.template(mappings)
        return made.text if isinstance(made, Expression) else literal(made)

    def condition(self, tree: Term) -> str:
        """Return a condition on the step's input; an operand that is no comparison is compared with ``true``."""
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

    def _below(self, place: Place, path: Path) -> Found | None:
        if not isinstance(place, Branches | Items) or any(isinstance(each, int) and each < 0 for each in path.segments):
            check(path.segments)
        return place.at(path.segments)

    def _mapped(self, path: Path) -> Found | None:
        """Return the place of a mapping's source, in which ``$`` is the input merged with the local."""
        if path.root != "$" or not isinstance(self._local, MapAt | CaughtError):
            return self.find(path)
        if isinstance(self._local, CaughtError):
            is_error = path.segments[:1] in {("error",), ("cause",)}
            return self._local.at(path.segments) if is_error else self.find(path)
        if not path.segments:
            return Found(f"jsonMerge({self._step.base}, {self._local.base})")
        first, *rest = path.segments
        outer, inner = self.find(path), self._local.at(path.segments)
        if not isinstance(first, str) or outer is None or inner is None or not outer.there:
            return outer
        if not rest:
            merged = f"jsonMerge({self._step.base}, {self._local.base})"
            return Found(f"get({merged}, {quoted(first)})", f"arrayContains(mapKeys({merged}), {quoted(first)})")
        in_local = self._local.has(first)
        there = f"({in_local} && {inner.there}) || (!{in_local} && {outer.there})"
        return Found(chosen(in_local, inner.text, outer.text), there)

    def _in_context(self, segments: Sequence[Any]) -> Found | None:
        match segments:
            case ("flow", "name"):
                return Found(quoted(self._flow_name))
            case ("execution", "name"):
                return Found("$Context.Execution.Name")
            case ("execution", "id"):
                return Found(f"format({quoted(self._flow_name + ':{}')}, $Context.Execution.Name)")
            case ("step", "name") if self._name:
                return Found(quoted(self._name))
            case ("step", "retryCount") if self._name:
                return Found("$Context.Current.RetryCount")
            case ("task", "token") if self._has_token:
                return Found("$Context.Current.TaskToken")
            case ("task", *_) if self._name:
                raise Unsayable(Phrase("there is a token only where a report is waited for"))
            case (first, *_) if first not in _OLD_CONTEXT or (first in {"step", "task"} and not self._name):
                return None
            case _:
                raise Unsayable(Phrase("the context has no such value"))


def compares_constants(tree: Term) -> bool:
    """Whether a condition only compares paths with constants other than null, so that missing values may be null."""
    match tree:
        case Or() | And():
            return all(compares_constants(each) for each in tree.operands)
        case Not():
            return compares_constants(tree.operand)
        case Comparison():
            read, against = tree.left, tree.right
            if isinstance(read, Constant):
                read, against = against, read
            constants = against.items if isinstance(against, Array) else (against,)
            return isinstance(read, Path | Constant) and all(
                isinstance(each, Constant) and each.constant not in {None, "null"} for each in constants
            )
        case _:
            return isinstance(tree, Path | Constant)
