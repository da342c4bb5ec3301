"""The notation of the documentation: a shape as a table, in English or Chinese."""

from collections.abc import Set
from typing import Any

from emulator.wire.schema.kinds import (
    ABSENT,
    Also,
    Field,
    Flag,
    Items,
    Json,
    JsonText,
    MapOf,
    Number,
    OneOf,
    Shape,
    Tagged,
    Text,
    Time,
    Whole,
    bare,
)
from emulator.wire.schema.notation import Notation

_HEADS = (("attribute", "value", "default", "what it is"), ("属性", "取值", "默认值", "说明"))
_UNITS = {"seconds": "秒", "bytes": "字节", "days": "天", "MB": "MB"}


class Words(Notation[str]):
    """The allowed values of a kind in words, for a table cell."""

    def __init__(self, *, chinese: bool) -> None:
        super().__init__("documentation")
        self._chinese = chinese

    def _said(self, english: str, chinese: str) -> str:
        return chinese if self._chinese else english

    def text(self, kind: Text) -> str:
        """The word text, with the greatest length."""
        if kind.longest is None:
            return self._said("text", "字符串")
        return self._said(f"text of up to {kind.longest} characters", f"字符串，最长 {kind.longest} 个字符")

    def whole(self, kind: Whole) -> str:
        """The range and the unit."""
        unit = _UNITS.get(kind.unit, kind.unit) if self._chinese else kind.unit
        after = f" {unit}" if unit else ""
        if kind.low is None or kind.high is None:
            return self._said("whole number", "整数") + after
        return self._said(f"{kind.low:,} to {kind.high:,}", f"{kind.low:,} 到 {kind.high:,}") + after

    def number(self, kind: Number) -> str:
        """The range."""
        if kind.low is None:
            return self._said("number", "数字")
        return self._said(f"{kind.low:,.10g} to {kind.high:,.10g}", f"{kind.low:,.10g} 到 {kind.high:,.10g}")

    def flag(self, kind: Flag) -> str:
        """The two words for true and false."""
        return " / ".join(f"`{word}`" for word in kind.words or ("true", "false"))

    def one_of(self, kind: OneOf) -> str:
        """The choices."""
        choices = sorted(kind.choices) if isinstance(kind.choices, Set) else kind.choices
        return " / ".join(f"`{word}`" for word in choices)

    def time(self, kind: Time) -> str:
        """The word time."""
        return self._said("time", "时间")

    def items(self, kind: Items) -> str:
        """The word list, with the members of its items."""
        inner = bare(kind.kind)
        if not isinstance(inner, Shape):
            return self._said("list", "列表")
        return self._said("list of ", "列表：") + self.reader(inner)

    def map_of(self, kind: MapOf) -> str:
        """The word map."""
        return self._said("map", "对象")

    def json(self, kind: Json) -> str:
        """The words "text or map", or map alone."""
        return self._said("map", "对象") if kind.only == "object" else self._said("text or map", "字符串或对象")

    def json_text(self, kind: JsonText) -> str:
        """JSON, as text or written out, in these words."""
        return self._said("JSON, as text or written out", "JSON，字符串或直接写出")

    def also(self, kind: Also) -> str:
        """The usual form, or the other one."""
        usual = self.reader(kind.kind)
        return usual if kind.other is None else usual + self._said(" or ", "或") + self.reader(kind.other)

    def tagged(self, kind: Tagged) -> str:
        """The name of the member that tells the shapes apart."""
        return f"`{kind.tag}`"

    def shape(self, kind: Shape) -> str:
        """The names of the members."""
        return ("、" if self._chinese else ", ").join(f"`{each.name}`" for each in kind)


_WORDS = (Words(chinese=False), Words(chinese=True))


def markdown_table(shape: Shape, form: str, *, chinese: bool = False) -> str:
    """Return the table of the fields that *form* can set, or that have help."""
    fields = [each for each in shape if each.is_in(form) and (each.attribute or each.help[0])]
    rows = [_HEADS[chinese], ("---",) * 4, *(_row(shape, each, chinese=chinese) for each in fields)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows).replace("| --- ", "|---").replace("--- |", "---|")


def _row(shape: Shape, field: Field, *, chinese: bool) -> tuple[str, str, str, str]:
    given = None if field.default is ABSENT else field.default
    default = shape.default_of(field) if shape.record is not None else given
    words = _WORDS[chinese].reader(field.kind)
    needed = ("required", "必填")[chinese] if field.required else _default(field, default)
    return f"`{field.name}`", words, needed, field.help[chinese]


def _default(field: Field, value: Any) -> str:
    if isinstance(field.kind, Flag):
        words = field.kind.words or {"true": True, "false": False}
        value = next((word for word, meaning in words.items() if meaning is value), None)
    if value is None or value in ("", (), {}):
        return ""
    return f"`{getattr(value, 'value', value)}`"
