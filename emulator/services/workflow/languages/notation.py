"""The notation of definitions of flows: reads fields, and raises errors with the place of the value.

The fields of both languages are rows of the one vocabulary of attributes. Values of common kinds are read here; values
of one language, such as an expression or a list of steps, are an `Also` with a reader of the language.
"""

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final, NamedTuple

from emulator.kernel.digits import read_digits
from emulator.kernel.phrases import Phrase, alternatives
from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.languages.document import (
    A_NAME,
    NAME,
    Finish,
    LocatedNode,
    Reading,
    read_each,
    settle,
)
from emulator.services.workflow.languages.indentation import indentation
from emulator.services.workflow.languages.values import ExpressionError
from emulator.wire.schema.kinds import (
    ABSENT,
    Also,
    Either,
    Flag,
    Items,
    Json,
    Number,
    OneOf,
    Ruled,
    Shape,
    Tagged,
    Text,
    Whole,
)
from emulator.wire.schema.notation import Notation
from emulator.wire.yaml import Node, Scalar, Table

FORM: Final = "definition"

NAME_TEXT: Final = Text(form=NAME.pattern.removesuffix(r"\Z"), expected=A_NAME)

Reader = Callable[[LocatedNode, Reading], Any]
"""Reads the value at a place, as a part of a `Reading`; raises DefinitionError."""


_Row = tuple[str, str, Reader, bool, bool]
"""A field under one of its names: that name, its attribute, its reader, whether it is required, and takes null."""


class _Plan(NamedTuple):
    rows: list[_Row]
    known: frozenset[str]
    either: tuple[Either, ...]
    defaults: dict[str, Any]


class Definitions(Notation[Reader]):
    """The notation of values in a language of flows; unknown fields are refused.

    A text is the scalar as written, so that ``404`` without quotes is the text 404. Null counts as absent, except where
    any JSON value is allowed.
    """

    def __init__(self) -> None:
        super().__init__(FORM)
        self._plans: dict[Shape, _Plan] = {}

    def read(self, shape: Shape, part: LocatedNode, reading: Reading) -> dict[str, Any]:
        """Return attribute -> value for the fields of the map at *part*, and for those that have a default.

        Fields are read in the order of the shape. One without an attribute is checked and not returned.

        Raises: DefinitionError.
        """
        mistakes: list[DefinitionError] = []
        found = self.gather(shape, part, reading, mistakes)
        settle(mistakes)
        return found

    def gather(
        self, shape: Shape, part: LocatedNode, reading: Reading, mistakes: list[DefinitionError]
    ) -> dict[str, Any]:
        """Do as `read`, but leave out fields with mistakes and add these to *mistakes*.

        Raises: DefinitionError when *part* is no map.
        """
        table = part.node
        if not isinstance(table, Table):
            raise part.failure("must be a map")
        plan = self._plans.get(shape) or self._planned(shape)
        values = {key.text: value for key, value in table.entries}
        if not values.keys() <= plan.known:
            mistakes.extend(self.unknown(part, plan.known, reading, shape))
        mistakes.extend(filter(None, (self._choice(shape, group, part, values) for group in plan.either)))
        found = plan.defaults.copy()
        outside = f"{part.field}." if part.field else ""
        for name, attribute, read, required, takes_null in plan.rows:
            node = values.get(name)
            if node is None or (not takes_null and isinstance(node, Scalar) and node.plain and node.is_null):
                if required:
                    mistakes.append(part.failure(_required(name)))
                continue
            try:
                value = read(LocatedNode(node, outside + name), reading)
            except DefinitionError as mistake:
                mistakes.append(mistake)
                continue
            if attribute:
                found[attribute] = value
        return found

    def finished(self, shape: Shape, finish: Finish, part: LocatedNode, reading: Reading) -> dict[str, Any]:
        """Return the result of *finish* for the fields without mistakes; raise all mistakes, also those it finds.

        Raises: DefinitionError.
        """
        mistakes: list[DefinitionError] = []
        values = self.gather(shape, part, reading, mistakes)
        try:
            values = finish(values, part, reading)
        except DefinitionError as mistake:
            mistakes.append(mistake)
        settle(mistakes)
        return values

    def tag(self, kind: Tagged, part: LocatedNode) -> str:
        """Return the name of the shape that the map at *part* has.

        Raises: DefinitionError.
        """
        tag = part.find(kind.tag)
        if tag is None:
            raise part.failure(_required(kind.tag))
        name = tag.text()
        if name not in kind.shapes:
            names = ", ".join(kind.shapes)
            raise tag.failure(Phrase("unknown type of {what}; there are {names}", what=Phrase(kind.title), names=names))
        return name

    def unknown(
        self, part: LocatedNode, known: Collection[str], reading: Reading, shape: Shape | None = None
    ) -> Iterator[DefinitionError]:
        """Yield a mistake for each field of the map at *part* that is not *known*; *shape* is the shape of the map."""
        assert isinstance(part.node, Table)
        for key, _ in part.node.entries:
            if key.text not in known:
                hint = indentation(part.node, key, shape, known) or _meant(key.text, known)
                place = LocatedNode(key, part.path(key.text[:200]))
                yield place.failure(Phrase("unknown field; {hint}", hint=hint))

    def both(self, shape: Shape, names: tuple[str, ...], part: LocatedNode) -> DefinitionError:
        """Return the error for two of the fields *names*, given together, at the place of the second."""
        either = alternatives(names)
        return part.failure(Phrase("a {what} has {either}, not both", what=shape.title, either=either))

    def _choice(
        self, shape: Shape, group: Either, part: LocatedNode, values: dict[str, Node]
    ) -> DefinitionError | None:
        given = [name for name in group.names if _is_given(values.get(name))]
        if len(given) == 1 or not (given or group.needed):
            return None
        if group.refusal:
            return part.failure(group.refusal)
        if not given:
            return part.failure(_required(group.names[0]))
        return self.both(shape, group.names, part.get(given[1]))

    def _planned(self, shape: Shape) -> _Plan:
        either = list(shape.either)
        rows: list[_Row] = []
        for each in shape:
            names = each.names.get(FORM, (each.name,))
            if len(names) > 1:
                either.append(Either(names, needed=False))
            kind = each.kind.kind if isinstance(each.kind, Ruled) else each.kind
            takes_null = isinstance(kind, Json) and not kind.only
            read = self.reader(each.kind)
            rows += [(name, each.attribute, read, each.required, takes_null) for name in names]
        known = frozenset(name for name, *_ in rows)
        checked = [row for row in rows if row[1] or not row[-1]]  # any value is taken, and nobody asks for it
        defaults = {each.attribute: each.default for each in shape.stored if each.default is not ABSENT}
        plan = self._plans[shape] = _Plan(checked, known, tuple(either), defaults)
        return plan

    def text(self, kind: Text) -> Reader:
        """Take a scalar as it is written."""
        form, shortest, longest, expected = re.compile(kind.form), kind.shortest, kind.longest, kind.expected
        if not kind.form and not shortest and longest is None:
            return _text

        def read(part: LocatedNode, _reading: Reading) -> str:
            text = part.text()
            if not form.fullmatch(text) and kind.form:
                raise part.failure(Phrase("{text!r} is not {expected}", text=text[:200], expected=expected))
            if len(text) < shortest or (longest is not None and len(text) > longest):
                raise part.failure(Phrase("must be {what}", what=expected) if expected else "must not be empty")
            return text

        return read

    def one_of(self, kind: OneOf) -> Reader:
        """Read one of the allowed words."""
        choices = tuple(kind.choices)
        listed = ", ".join(choices)
        if kind.label:
            refusal = Phrase("unknown {what}; there are {names}", what=Phrase(kind.label), names=listed)
        else:
            refusal = Phrase("must be {what}", what=alternatives(choices))

        def read(part: LocatedNode, _reading: Reading) -> str:
            text = part.text()
            if text not in choices:
                raise part.failure(refusal)
            return text

        return read

    def flag(self, kind: Flag) -> Reader:
        """Read true or false."""

        def read(part: LocatedNode, _reading: Reading) -> bool:
            value = part.value()
            if not isinstance(value, bool):
                raise part.failure("must be true or false")
            return value

        return read

    def whole(self, kind: Whole) -> Reader:
        """Take a whole number in its range."""
        digits = kind.digits

        def read(part: LocatedNode, _reading: Reading) -> int:
            value = part.value()
            if digits and isinstance(value, str):
                value = read_digits(value)
            if isinstance(value, bool) or not isinstance(value, int) or not kind.allows(value):
                raise part.failure(Phrase("must be a whole number from {low} to {high}", low=kind.low, high=kind.high))
            return value

        return read

    def number(self, kind: Number) -> Reader:
        """Take a number in its range."""
        low, high = kind.low, kind.high
        assert low is not None
        assert high is not None

        def read(part: LocatedNode, _reading: Reading) -> float:
            value = part.value()
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise part.failure(Phrase("must be a number from {low} to {high}", low=low, high=high))
            return value

        return read

    def items(self, kind: Items) -> Reader:
        """Take a list of the right length."""
        item, least, most = self.reader(kind.kind), kind.least, kind.most

        def read(part: LocatedNode, reading: Reading) -> tuple[Any, ...]:
            parts = part.items(least)
            if most is not None and len(parts) > most:
                raise part.failure(Phrase("must have at most {most} items", most=most))
            mistakes: list[DefinitionError] = []
            found = read_each(parts, item, reading, mistakes)
            settle(mistakes)
            return found

        return read

    def json(self, kind: Json) -> Reader:
        """Read any JSON value."""
        return lambda part, _reading: part.value()

    def shape(self, kind: Shape) -> Reader:
        """Take a map with known fields."""
        make = kind.record or dict
        return lambda part, reading: make(**self.read(kind, part, reading))

    def ruled(self, kind: Ruled) -> Reader:
        """Read a value of the inner kind, then check it with the rule, whose ValueError becomes a problem."""
        first, rule = self.reader(kind.kind), kind.rule

        def read(part: LocatedNode, reading: Reading) -> Any:
            value = first(part, reading)
            try:
                return rule(value, part.field)
            except (ValueError, ExpressionError) as error:
                raise part.failure(str(error)) from error

        return read

    def also(self, kind: Also) -> Reader:
        """Read a value with the function that the language gives for it."""
        read: Reader = kind.read
        return read


def _required(name: str) -> Phrase:
    return Phrase("the field {name!r} is required", name=name)


def _meant(name: str, known: Collection[str]) -> Phrase:
    import difflib  # here, because only a refused definition needs it

    near = difflib.get_close_matches(name[:100], known, n=1)
    if near:
        return Phrase("did you mean {name!r}?", name=near[0])
    return Phrase("known here: {names}", names=", ".join(sorted(known)))


def _text(part: LocatedNode, _reading: Reading) -> str:
    node = part.node
    return node.text if isinstance(node, Scalar) and not node.is_null else part.text()


def placed(part: LocatedNode, _reading: Reading) -> LocatedNode:
    """Return the place unread, for a field that can be read only after other fields."""
    return part


def led_to(part: LocatedNode, reading: Reading) -> str:
    """Return the name of a step that another one leads to; that it exists is checked when the whole list is read."""
    reading.jumps.append(part)
    return part.text()


STEP_NAME: Final = Also(Text(), led_to)
"""The name of a step in the same list."""


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.is_null


def _is_given(node: Node | None) -> bool:
    return node is not None and not _is_null(node)
