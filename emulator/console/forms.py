"""The notation of the console: a field of a shape is a control of a form, with its range, words, default and help."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from emulator.gateway.errors import GatewayError
from emulator.kernel.digits import read_whole
from emulator.kernel.frozen import frozen, replace
from emulator.wire.schema.kinds import Field, Flag, Number, OneOf, Shape, Text, Whole, bare

Widget = Literal["number", "choice", "text", "json"]


@frozen
class Control:
    """A control: ``name`` is that of the field, with its member's behind a dot where the field is an object."""

    name: str
    help: str
    widget: Widget
    value: str
    default: str
    required: bool
    low: float | None = None
    high: float | None = None
    unit: str = ""
    choices: tuple[str, ...] = ()


class FormRefused(GatewayError):
    """A form has an invalid value; the message is a sentence, translated for the page, with *fields* in it."""

    code = "InvalidArgument"
    http_status = 400

    def __init__(self, sentence: str, **fields: Any) -> None:
        self.sentence = sentence
        super().__init__(sentence.format_map(fields), **fields)


UNITS = ("seconds", "bytes", "MB")
"""Units of numbers, which are translated."""


def controls(
    shape: Shape, form: str, values: Mapping[str, Any] | None = None, *, chinese: bool = False
) -> Iterator[Control]:
    """Yield the controls of the fields that *form* sets; *values* are those of the resource to change."""
    for field in shape.of_form(form):
        if values is not None and field.fixed:
            continue
        name = field.name_in(form)
        present = None if values is None else values.get(name, values.get(field.name))
        if members := _members(field):
            inside = present if isinstance(present, Mapping) else {}
            for each in members:
                yield _control(each, f"{name}.{each.name}", inside.get(each.name), None, field.help[chinese])
        else:
            default = None if values is not None else shape.default_of(field)
            yield _control(field, name, present, default, field.help[chinese])


def _members(field: Field) -> tuple[Field, ...]:
    """Return the fields of an object if all are plain; else none."""
    kind = bare(field.kind)
    if not isinstance(kind, Shape) or field.flat:
        return ()
    return kind.fields if all(isinstance(bare(each.kind), Text | Whole | Flag | OneOf) for each in kind) else ()


def _control(field: Field, name: str, present: Any, default: Any, help_text: str) -> Control:
    kind = field.bare_kind
    control = Control(
        name=name,
        help=help_text,
        widget="json",
        value=_text(present),
        default=_text(default),
        required=field.required,
    )
    match kind:
        case Whole():
            return replace(control, widget="number", low=kind.low, high=kind.high, unit=kind.unit)
        case Number():
            return replace(control, widget="number", low=kind.low, high=kind.high)
        case Flag(words=words):
            said = {_text(each): word for word, each in words.items()}
            control = replace(
                control,
                value=said.get(control.value, control.value),
                default=said.get(control.default, control.default),
            )
            return replace(control, widget="choice", required=False, choices=tuple(words) or ("true", "false"))
        case OneOf():
            return replace(control, widget="choice", choices=tuple(sorted(kind.choices)))
        case Text():
            return replace(control, widget="text")
        case _:
            return control


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | str):
        return str(getattr(value, "value", value))
    try:
        return json.dumps(value, ensure_ascii=False, indent=1) if value else ""
    except TypeError:  # the default is a record
        return ""


def read(shape: Shape, form: str, given: Mapping[str, str], before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the values of a submitted form, by the names in *form*, without empty ones.

    To change a resource, *before* has its present values: a text that was emptied is then returned as "".

    Raises: FormRefused for an invalid number, one out of range, or invalid JSON.
    """
    values: dict[str, Any] = {}
    for field in shape.of_form(form):
        if before is not None and field.fixed:
            continue
        name = field.name_in(form)
        if members := _members(field):
            inside = {each.name: _read(each, f"{name}.{each.name}", given) for each in members}
            inside = {member: value for member, value in inside.items() if value is not None}
            if inside:
                values[name] = inside
        elif (value := _read(field, name, given)) is not None:
            values[name] = value
        elif before is not None and isinstance(before.get(name), str) and before[name]:
            values[name] = ""
    return values


def _read(field: Field, name: str, given: Mapping[str, str]) -> Any:
    text = given.get(name, "").strip()
    if not text:
        return None
    match field.bare_kind:
        case Whole() as kind:
            number = kind.words[text] if text in kind.words else read_whole(text)
            if number is None or not kind.allows(number):
                raise no_whole_number(name, kind.low, kind.high, text)
            return number
        case Number():
            try:
                return float(text)
            except ValueError:
                raise FormRefused("{name} must be a number, not {text}", name=name, text=text[:40]) from None
        case Flag(words=words):
            return text if words else text == "true"
        case Text() | OneOf():
            return text
        case _:
            return _json(name, text)


def _json(name: str, text: str) -> Any:
    if text[0] not in "{[":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormRefused("{name} is not JSON: {error}", name=name, error=error) from None


def no_whole_number(name: str, low: Any, high: Any, text: str) -> FormRefused:
    """Return the refusal of a *text* that is not a whole number from *low* to *high*."""
    given = {"name": name, "low": low, "high": high, "text": text[:40]}
    return FormRefused("{name} must be a whole number from {low} to {high}, not {text}", **given)
