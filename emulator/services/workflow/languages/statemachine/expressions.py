"""Expressions: the nodes of their trees beyond those of `languages.terms`, and their parser.

A constructor is a map whose keys ending in ``.$`` have expressions as values, at any depth; all else stays as it is.
Text stands in double, single or back quotes; the first two know the escapes of JSON, and a backslash before anything
else stays.

The parser is written by hand rather than generated: it loads in a few milliseconds without a library, and knows the
place of every mistake.

Source: expressions, inputs and outputs, CloudFlow documentation. Assumed: parentheses, ``!``, ``-``, ``null``,
``["key"]`` and what a path yields that matches nothing.
"""

import json
import math
import re
from collections.abc import Collection
from typing import Any, Final

from emulator.kernel.frozen import field, frozen
from emulator.kernel.phrases import Phrase, alternatives, together
from emulator.services.workflow.languages.statemachine.functions import FUNCTIONS, Function
from emulator.services.workflow.languages.terms import (
    MAX_NUMBER_CHARS,
    WORDS,
    Constant,
    Evaluation,
    OperatorParser,
    Term,
    Token,
)
from emulator.services.workflow.languages.values import MISSING, ExpressionError

SUFFIX: Final = ".$"
"""Ends the keys of constructors whose values are expressions."""


def written(text: str) -> str:
    """Return *text* as a string literal of the language."""
    return json.dumps(text, ensure_ascii=False)


@frozen(kw_only=False)
class Path(Term):
    """``$Input.a[0]["key"]``: a root, then keys and indexes."""

    root: str
    segments: tuple[str | int, ...] = ()

    def value(self, evaluation: Evaluation) -> Any:
        """Return the value at the path, or `MISSING`."""
        value = evaluation.find(self.root)
        for segment in self.segments:
            if isinstance(segment, str):
                value = value.get(segment, MISSING) if isinstance(value, dict) else MISSING
            elif isinstance(value, list) and segment < len(value):
                value = value[segment]
            else:
                return MISSING
        return value

    def __str__(self) -> str:
        def segment(each: str | int) -> str:
            return f"[{each}]" if isinstance(each, int) else f"[{written(each)}]"

        return self.root + "".join(segment(each) for each in self.segments)


@frozen(kw_only=False)
class Call(Term):
    """``name(a, b)``; *function* follows from the name."""

    name: str
    arguments: tuple[Term, ...]
    function: Function = field(compare=False)

    def value(self, evaluation: Evaluation) -> Any:
        """Return the result of the function."""
        return self.function([evaluation.item(each) for each in self.arguments], evaluation)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.arguments))})"


@frozen(kw_only=False)
class Object(Term):
    """``{"a": b}``."""

    members: tuple[tuple[str, Term], ...]

    def value(self, evaluation: Evaluation) -> Any:
        """Return a dictionary."""
        made = {key: evaluation.item(each) for key, each in self.members}
        evaluation.weigh(made)
        return made

    def __str__(self) -> str:
        return "{" + ", ".join(f"{written(key)}: {each}" for key, each in self.members) + "}"


@frozen(kw_only=False)
class Fixed:
    """A JSON value without expressions inside; ``text`` is its JSON when it is the whole of a constructor."""

    value: Any
    text: str | None = None

    def build(self, evaluation: Evaluation) -> Any:
        """Return the value."""
        evaluation.weigh(self.value)
        return self.value


@frozen(kw_only=False)
class Expression:
    """The value of a key that ends in ``.$``; ``text`` is the form in the definition."""

    text: str
    tree: Term

    def build(self, evaluation: Evaluation) -> Any:
        """Return the value, null for `MISSING`."""
        value = evaluation.item(self.tree)
        evaluation.weigh(value)
        return value


@frozen(kw_only=False)
class Members:
    """A map with expressions inside."""

    members: tuple[tuple[str, "Template"], ...]

    def build(self, evaluation: Evaluation) -> Any:
        """Return the map with every expression replaced by its value."""
        return {key: template.build(evaluation) for key, template in self.members}


@frozen(kw_only=False)
class Items:
    """A list with expressions inside."""

    items: tuple["Template", ...]

    def build(self, evaluation: Evaluation) -> Any:
        """Return the list with every expression replaced by its value."""
        return [template.build(evaluation) for template in self.items]


Template = Fixed | Expression | Members | Items


MAX_CHARS: Final = 16 * 1024
"""Length of an expression; assumed."""

MAX_CALLS: Final = 10
"""Calls inside one another."""

MAX_INDEX_CHARS: Final = 9

STATE_ROOTS: Final = ("$Context", "$Input", "$Global")
"""The roots that every expression of a state may read."""

RESULT_ROOTS: Final = (*STATE_ROOTS, "$Output")
"""The roots that the constructors of outputs and of ``$Global`` may read."""

ITEM_ROOTS: Final = (*STATE_ROOTS, "$Item")
"""The roots that the constructor of an iteration's input may read."""

_ROOTS: Final = (*RESULT_ROOTS, "$Item")
_OF_THE_OLD_LANGUAGE: Final = {"$input": "$Input", "$local": "$Output", "$context": "$Context", "$": "$Input"}
_CONTEXT: Final = ("Execution", "Current")
_NO_ENVIRONMENT: Final = Phrase(
    "environment variables cannot be read here: how an expression names them is not documented"
)

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<sign>\|\||&&|==|!=|<=|>=|[<>!()\[\]{},:.-])
      | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)
      | (?P<name>\$?[^\W\d]\w*|\$)
      | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)
      | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
_MEMBER = re.compile(r"\.([\w-]+)")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}


def parse(text: str, roots: Collection[str]) -> Term:
    """Return the tree of the expression *text*, whose paths may start with *roots*.

    Raises: ExpressionError.
    """
    if len(text) > MAX_CHARS:
        raise ExpressionError(Phrase("an expression has at most {most} characters", most=MAX_CHARS), MAX_CHARS)
    return _Parser(text, roots).whole()


class _Parser(OperatorParser):
    def __init__(self, text: str, roots: Collection[str]) -> None:
        self._roots = roots
        self._calls = 0
        super().__init__(text)

    def _read(self, position: int) -> Token:
        match = _TOKEN.match(self._text, position)
        if match is None or match.lastgroup is None:
            character, start = self._first_unread(position)
            if character in "\"'`":
                raise ExpressionError(Phrase("the text has no closing {sign}", sign=character), start)
            if character in "&|=":
                raise ExpressionError(Phrase("did you mean {name}?", name=character * 2), start)
            if character in "+*/%":
                raise ExpressionError("there is no arithmetic; intAdd(a, b) adds whole numbers", start)
            raise ExpressionError(Phrase("unexpected {text!r}", text=character), start)
        kind = match.lastgroup
        return Token(kind, match[kind], match.start(kind), match.end())

    def _primary(self) -> Term:
        token = self.token
        if token.kind == "name":
            return self._path(token) if token.text.startswith("$") else self._word()
        if token.kind == "number":
            return Constant(_number(self._next()))
        if token.kind == "text":
            return Constant(_unquoted(self._next()))
        if self._accept("{"):
            return self._object()
        raise self._unexpected(Phrase("a value"))

    def _object(self) -> Term:
        members: dict[str, Term] = {}
        while not self._accept("}"):
            if members and not self._accept(","):
                raise self._unexpected(alternatives(("','", "'}'")))
            token = self.token
            if token.kind != "text":
                raise self._unexpected(Phrase("a key in quotes"))
            key = _unquoted(self._next())
            if key in members:
                raise ExpressionError(Phrase("the key {name!r} stands twice", name=key[:40]), token.start)
            self._need(":")
            members[key] = self._alternatives()
        return Object(tuple(members.items()))

    def _word(self) -> Term:
        token = self._next()
        if self.token.kind != "sign" or self.token.text != "(":
            if token.text in WORDS:
                return Constant(WORDS[token.text])
            text = "{text!r} is not a value: put text in quotes, begin paths with $"
            raise ExpressionError(Phrase(text, text=token.text[:40]), token.start)
        known = FUNCTIONS.get(token.text)
        if known is None:
            text = "there is no function {name!r}; {hint}"
            raise ExpressionError(Phrase(text, name=token.text[:40], hint=_similar(token.text)), token.start)
        self._calls += 1
        if self._calls > MAX_CALLS:
            raise ExpressionError(
                Phrase("at most {most} calls may stand inside one another", most=MAX_CALLS), token.start
            )
        self._next()
        arguments = self._list(")")
        self._calls -= 1
        if not known.least <= len(arguments) <= known.most:
            takes = {"name": token.text, "least": known.least, "most": known.most, "given": len(arguments)}
            if known.least < known.most:
                said = Phrase("{name}() takes {least} to {most} arguments, not {given}", **takes)
            elif known.least == 1:
                said = Phrase("{name}() takes 1 argument, not {given}", **takes)
            else:
                said = Phrase("{name}() takes {least} arguments, not {given}", **takes)
            raise ExpressionError(said, token.start)
        return Call(token.text, arguments, known.function)

    def _path(self, token: Token) -> Term:
        if token.text not in self._roots:
            raise ExpressionError(self._no_root(token.text), token.start)
        segments: list[str | int] = []
        position = token.end
        while self._text[position : position + 1] in {".", "["}:
            if self._text[position] == ".":
                member = _MEMBER.match(self._text, position)
                if member is None:
                    raise ExpressionError("a name must follow '.'; write other keys as [\"key\"]", position)
                segments.append(member[1])
                position = member.end()
            else:
                segment, position = self._bracket(position)
                segments.append(segment)
        if token.text == "$Context" and segments and segments[0] not in _CONTEXT:
            raise ExpressionError(_no_context(segments[0]), token.start)
        self.token = self._read(position)
        return Path(token.text, tuple(segments))

    def _bracket(self, position: int) -> tuple[str | int, int]:
        inside = self._read(position + 1)
        closing = self._read(inside.end)
        if closing.text != "]" or inside.kind not in {"number", "text"}:
            raise ExpressionError("brackets hold an index or a key in quotes", position)
        if inside.kind == "text":
            return _unquoted(inside), closing.end
        if not inside.text.isdigit() or len(inside.text) > MAX_INDEX_CHARS:
            raise ExpressionError("an index is a whole number from 0 on", inside.start)
        return int(inside.text), closing.end

    def _no_root(self, name: str) -> str:
        if name == "$Environment":
            return _NO_ENVIRONMENT
        if name in _ROOTS:
            return Phrase("{name} has no value here; there are {names}", name=name, names=", ".join(self._roots))
        hint = _OF_THE_OLD_LANGUAGE.get(name)
        said = Phrase("paths start with {names}, not {name!r}", names=", ".join(self._roots), name=name[:40])
        near = Phrase("did you mean {name}?", name=hint)
        return Phrase("{message}; {hint}", message=said, hint=near) if hint in self._roots else said


def _no_context(member: str | int) -> str:
    if member == "Environment":
        return _NO_ENVIRONMENT
    return Phrase("$Context has {names}, not {name!r}", names=together(_CONTEXT), name=member)


def _similar(name: str) -> str:
    import difflib  # here, because only a refused expression needs it

    near = difflib.get_close_matches(name[:40], FUNCTIONS, n=1)
    if near:
        return Phrase("did you mean {name}?", name=near[0])
    return Phrase("there are {names}", names=", ".join(sorted(FUNCTIONS)))


def _number(token: Token) -> int | float:
    if len(token.text) > MAX_NUMBER_CHARS:
        raise ExpressionError("the number is too long", token.start)
    if token.text.isdigit():
        return int(token.text)
    number = float(token.text)
    if not math.isfinite(number):
        raise ExpressionError("the number is too large", token.start)
    return number


def _unquoted(token: Token) -> str:
    inside = token.text[1:-1]
    if token.text[0] == "`" or "\\" not in inside:
        return _sound(inside, token)

    def replaced(escape: re.Match[str]) -> str:
        if escape[1] is not None:
            return chr(int(escape[1], 16))
        return _ESCAPED.get(escape[2], escape[0])

    return _sound(_ESCAPE.sub(replaced, inside), token)


def _sound(text: str, token: Token) -> str:
    """Return *text* with escaped pairs as one character.

    Raises: ExpressionError for half of a pair, which no UTF-8 can hold.
    """
    try:
        return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise ExpressionError("the text has half of a surrogate pair", token.start) from error
