"""Sources of mappings and conditions as expressions of the new language.

The old language leaves out a member whose source finds nothing; in a constructor of the new one it would be null. So a
member that may be missing stands in an object of its own, chosen by whether its source is there, and is merged with
what surely is: ``jsonMerge({...}, get({"true": {...}, "false": {}}, format("{}", THERE)))``.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, Final, NamedTuple, Protocol

from emulator.services.workflow.languages.fdl.mappings import Mapping
from emulator.services.workflow.languages.fdl.paths import EVERY, Path
from emulator.services.workflow.languages.statemachine.expressions import RESULT_ROOTS, SUFFIX, parse
from emulator.services.workflow.languages.terms import And, Array, Comparison, Constant, Minus, Not, Or, Term
from emulator.services.workflow.languages.values import ExpressionError

MOST_ALTERNATIVES: Final = 3
"""So many values that may be missing get an array, or a last state, for each way in which they may be."""

_ERROR: Final = "$Context.Current.Error"
_OLD_CONTEXT: Final = frozenset({"flow", "execution", "step", "task", "currentTime"})
"""What the old language has below ``$context``."""


class Expression:
    """An expression in place of a value."""

    def __init__(self, text: str) -> None:
        self.text = text


class Found(NamedTuple):
    """Where a value is: an expression for it, and one for whether it is there, empty when it surely is."""

    text: str
    there: str = ""


class Unsayable(Exception):
    """A source that the new language has no expression for; the message says why."""


class Place(Protocol):
    """Something that paths look into."""

    def at(self, segments: Sequence[Any]) -> Found | None:
        """Return what is below, None when there never is anything.

        Raises: Unsayable.
        """
        ...


class MapAt:
    """An object at the path *base*; *sure* are members that it surely has."""

    def __init__(self, base: str, sure: Iterable[str] = ()) -> None:
        self.base = base
        self._sure = frozenset(sure)

    def at(self, segments: Sequence[Any]) -> Found | None:
        """Return the path to what is below."""
        text = self.base + members(segments)
        if not segments or (len(segments) == 1 and segments[0] in self._sure):
            return Found(text)
        if len(segments) == 1 and isinstance(segments[0], str):
            return Found(text, self.has(segments[0]))
        return Found(text, f"{text} == {text}")  # nothing is not even equal to itself

    def has(self, key: str) -> str:
        """Return an expression for whether the object has a member."""
        return f"arrayContains(mapKeys({self.base}), {quoted(key)})"


class Nothing:
    """The local of a step that has none."""

    def at(self, segments: Sequence[Any]) -> Found | None:
        """Return the empty object."""
        return None if segments else Found("{}")


class CaughtError:
    """What ``$local`` is in errorMappings."""

    def at(self, segments: Sequence[Any]) -> Found | None:
        """Return the member that the error has in the new language."""
        if not segments:
            return Found(f'{{"error": {_ERROR}.Code, "cause": {_ERROR}.Detail}}')
        name = {"error": "Code", "cause": "Detail"}.get(str(segments[0]))
        return Found(f"{_ERROR}.{name}") if name and len(segments) == 1 else None


class Branches:
    """The locals of the branches of a parallel."""

    def __init__(self, branches: Sequence[MapAt]) -> None:
        self._branches = branches

    def at(self, segments: Sequence[Any]) -> Found | None:
        """Return what one branch has, or an array of what all have."""
        if not segments:
            return Found(f"toArray({', '.join(branch.base for branch in self._branches)})")
        first, *rest = segments
        if first is EVERY:
            _check(rest)
            found = [each for branch in self._branches if (each := branch.at(rest)) is not None]
            return Found(_array(found))
        return self._branches[first].at(rest) if isinstance(first, int) and first < len(self._branches) else None


class Items:
    """The locals of the iterations of a foreach, each in a member ``Local`` when they are *wrapped*."""

    _BASE: Final = "$Output.Items"

    def __init__(self, *, wrapped: bool) -> None:
        self._wrapped = wrapped

    def at(self, segments: Sequence[Any]) -> Found | None:
        """Return what one iteration has left, or what all have."""
        if not segments or tuple(segments) == (EVERY,):
            return Found(self._BASE)
        first, *rest = segments
        if first is EVERY:
            raise Unsayable("no function takes a member out of each element of an array")
        text = self._BASE + members([first, *(["Local"] if self._wrapped else []), *rest])
        return Found(text, f"{text} == {text}") if isinstance(first, int) else None


class Source:
    """Where the sources of mappings are: the *step*'s input and its *local*; *remark* notes what has no source.

    *step_name* is the name of the step, empty for the flow; *flow_name* the name of the machine. *has_token*: there is
    a task token, because a report is waited for.
    """

    def __init__(
        self,
        remark: Callable[[str, str], None],
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
        """Return the source of a parameter: an expression, or the constant it is."""
        return Expression(self.path(source)) if isinstance(source, Path) else source

    def path(self, path: Path) -> str:
        """Return an expression for a path on the step's input, null for one that has none."""
        found = self.find(path)
        return "null" if found is None else found.text

    def may_be_missing(self, source: Any) -> bool:
        """Whether what a source stands for may be missing when the flow runs."""
        found = self.find(source) if isinstance(source, Path) else Found("")
        return found is None or bool(found.there)

    def find(self, path: Path) -> Found | None:
        """Return where a path leads, None when nothing can be there; what is unsayable is remarked and null."""
        try:
            match path.root:
                case "$context":
                    return self._in_context(path.segments)
                case "$local":
                    return self._below(self._local, path)
                case _:
                    return self._below(self._step, path)
        except Unsayable as why:
            self._remark(self._name, f"{path} is null here: {why}")
            return Found("null")

    def made(self, mappings: Iterable[Mapping]) -> "Made":
        """Return the object that mappings make."""
        made = Made()
        for mapping in mappings:
            if not isinstance(mapping.source, Path):
                made.put(mapping.keys, mapping.source, "")
                continue
            found = self._mapped(mapping.source)
            if found is not None and not made.put(mapping.keys, Expression(found.text), found.there):
                self._remark(self._name, f"{mapping.target} replaces all of {mapping.keys[0]} here")
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
            self._remark(self._name, "what its mappings do not find is null here: they are too many for an expression")
            return made.constructor()
        return Expression(text)

    def literal(self, mappings: Iterable[Mapping]) -> str:
        """Return an expression for the object that mappings make, to be merged with the local."""
        made = self.template(mappings)
        return made.text if isinstance(made, Expression) else literal(made)

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

    def _below(self, place: Place, path: Path) -> Found | None:
        if not isinstance(place, Branches | Items) or any(isinstance(each, int) and each < 0 for each in path.segments):
            _check(path.segments)
        return place.at(path.segments)

    def _mapped(self, path: Path) -> Found | None:
        """Return where the source of a mapping leads: there ``$`` is the input merged with the local."""
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
                raise Unsayable("there is a token only where a report is waited for")
            case (first, *_) if first not in _OLD_CONTEXT or (first in {"step", "task"} and not self._name):
                return None
            case _:
                raise Unsayable("the context has no such value")


class Made:
    """An object on its way: members in the order of their mappings, each a value or an object of its own."""

    def __init__(self) -> None:
        self._members: list[tuple[str, Any, str]] = []

    def put(self, keys: Sequence[str], value: Any, there: str) -> bool:
        """Set a nested member, whose presence is *there* (empty: it surely is); later ones win.

        Returns False when the old language would have kept more of an earlier value.
        """
        first, *rest = keys
        if not rest:
            if not there:
                self._members = [each for each in self._members if each[0] != first]
            self._members.append((first, value, there))
            return True
        last = next((each[1] for each in reversed(self._members) if each[0] == first), None)
        if isinstance(last, Made):
            return last.put(rest, value, there)
        inner = Made()
        self._members.append((first, inner, ""))
        inner.put(rest, value, there)
        return last is None

    @property
    def is_flat(self) -> bool:
        """Whether no member is set twice or has members of its own."""
        keys = {key for key, _, _ in self._members}
        return len(keys) == len(self._members) and not any(isinstance(value, Made) for _, value, _ in self._members)

    @property
    def is_sure(self) -> bool:
        """Whether every member is there, and none is set twice."""
        keys = {key for key, _, _ in self._members}
        inner = all(not isinstance(value, Made) or value.is_sure for _, value, _ in self._members)
        return inner and len(keys) == len(self._members) and not any(there for _, _, there in self._members)

    @property
    def there(self) -> str:
        """An expression for whether any member is there; empty when one surely is."""
        alternatives = [_there(value, there) for _, value, there in self._members]
        return "" if "" in alternatives else " || ".join(alternatives)

    def constructor(self) -> dict[str, Any]:
        """Return a constructor in which what is not there is null."""
        made: dict[str, Any] = {}
        for key, value, _ in self._members:
            made.pop(key, None)
            made.pop(key + SUFFIX, None)
            if isinstance(value, Made):
                value = value.constructor()
            made |= {key + SUFFIX: value.text} if isinstance(value, Expression) else {key: value}
        return made

    def text(self, *, present: bool = False) -> str:
        """Return an expression for the object, without what is not there; *present*: it is known to have a member."""
        parts: list[str] = []
        sure: list[str] = []
        for key, value, there in self._members:
            needed = _there(value, there)
            entry = f"{quoted(key)}: {_text(value, present=bool(needed))}"
            if not needed or (present and len(self._members) == 1):
                sure.append(entry)
                continue
            if sure:
                parts.append(f"{{{', '.join(sure)}}}")
                sure = []
            parts.append(chosen(needed, f"{{{entry}}}", "{}"))
        if sure or not parts:
            parts.append(f"{{{', '.join(sure)}}}")
        return _merged(parts)

    def members(self) -> list[tuple[str, Found]]:
        """Return each member by its key."""
        found: dict[str, list[tuple[str, Any, str]]] = {}
        for each in self._members:
            found.setdefault(each[0], []).append(each)
        members = []
        for key, entries in found.items():
            whole = Made()
            whole._members = entries
            _, value, _ = entries[0]
            text = _text(value, present=True) if len(entries) == 1 else f"get({whole.text()}, {quoted(key)})"
            members.append((key, Found(text, whole.there)))
        return members


def compares_constants(tree: Term) -> bool:
    """Whether a condition compares what it reads with constants other than null, which nothing there is unlike too."""
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


def _there(value: Any, there: str) -> str:
    return value.there if isinstance(value, Made) else there


def _text(value: Any, *, present: bool = False) -> str:
    if isinstance(value, Made):
        return value.text(present=present)
    return value.text if isinstance(value, Expression) else literal(value)


def chosen(test: str, value: str, other: str) -> str:
    """Return an expression that is *value* where *test* holds, else *other*."""
    return f'get({{"true": {value}, "false": {other}}}, format("{{}}", {test}))'


def _merged(parts: Sequence[str]) -> str:
    """Return the objects merged, later ones winning, with few calls inside one another."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"jsonMerge({_merged(parts[:half])}, {_merged(parts[half:])})"


def _array(found: Sequence[Found]) -> str:
    """Return an array of those that are there.

    Raises: Unsayable when too many may be missing.
    """
    unsure = [each for each in found if each.there]
    if not unsure:
        return f"toArray({', '.join(each.text for each in found)})"
    if len(unsure) > MOST_ALTERNATIVES:
        raise Unsayable(f"more than {MOST_ALTERNATIVES} of its elements may be missing")
    arrays = []
    for present in product((True, False), repeat=len(unsure)):
        left = {each for each, is_there in zip(unsure, present, strict=True) if not is_there}
        key = ",".join(str(each).lower() for each in present)
        arrays.append(f"{quoted(key)}: [{', '.join(each.text for each in found if each not in left)}]")
    gaps = ",".join("{}" for _ in unsure)
    return f"get({{{', '.join(arrays)}}}, format({quoted(gaps)}, {', '.join(each.there for each in unsure)}))"


def _check(segments: Iterable[Any]) -> None:
    for each in segments:
        if each is EVERY or (isinstance(each, int) and each < 0):
            raise Unsayable("a path has no wildcard and counts from the beginning")


def quoted(text: str) -> str:
    """Return a text as it stands in an expression."""
    return json.dumps(text, ensure_ascii=False)


def member(key: str) -> str:
    """Return the end of a path that has a key."""
    return f".{key}" if key.isidentifier() and key.isascii() else f"[{quoted(key)}]"


def members(segments: Iterable[Any]) -> str:
    """Return the end of a path that has keys and indexes."""
    return "".join(f"[{each}]" if isinstance(each, int) else member(str(each)) for each in segments)


def literal(value: Any) -> str:
    """Return a template as an expression."""
    if isinstance(value, dict):
        parts = []
        for key, item in value.items():
            name = key.removesuffix(SUFFIX)
            parts.append(f"{quoted(name)}: {item if name != key else literal(item)}")
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list):
        return f"[{', '.join(literal(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False)
