"""The notation of the command line: a field is an option, whose name has hyphens where the field's has capitals."""

import re
from argparse import BooleanOptionalAction
from collections.abc import Iterator
from typing import Any, NamedTuple

from emulator.wire.schema.kinds import Field, Flag, OneOf, Shape, Whole

FORM = "option"


class CommandOption(NamedTuple):
    """An option: the name of its value among the arguments, its flags, and what argparse is told besides."""

    name: str
    flags: tuple[str, ...]
    settings: dict[str, Any]


def option_of(field: Field) -> str:
    """Return the name of the option that sets *field*: ``delay_seconds`` for ``DelaySeconds``."""
    return _words(field.name_in(FORM))


def options(shape: Shape, form: str, *, chinese: bool = False) -> Iterator[CommandOption]:
    """Yield an option for each field that *form* sets, with its help in English or Chinese."""
    for each in shape.of_form(form):
        name = option_of(each)
        flags = tuple("--" + _words(other).replace("_", "-") for other in each.names.get(FORM, (each.name,)))
        help_text = each.help[chinese] or each.name
        yield CommandOption(name, flags, {"help": help_text, **_settings(each, flags[0])})


def _settings(field: Field, flag: str) -> dict[str, Any]:
    match field.bare_kind:
        case Flag():
            return {"action": BooleanOptionalAction}
        case Whole():
            return {"type": int, "metavar": "N"}
        case OneOf(choices=choices):
            return {"choices": tuple(choices)}
        case _:
            return {"metavar": flag[2:].upper()}


def _words(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
