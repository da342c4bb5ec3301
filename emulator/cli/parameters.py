"""Converting parameters and numbers given on the command line."""

from argparse import ArgumentTypeError
from collections.abc import Sequence

from emulator.cli.output import WrongUsage, _
from emulator.wire.durations import parse_duration


def parameters_of(texts: Sequence[str]) -> dict[str, str]:
    """Return parameters by name.

    Raises: WrongUsage.
    """
    parameters = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise WrongUsage(_("--parameter takes NAME=VALUE, not {text!r}", text=text))
        parameters[name] = value
    return parameters


def moment(text: str) -> str:
    """Return a time in the admin API's form. Raises: ArgumentTypeError.

    Raises: ArgumentTypeError.
    """
    from emulator.wire.dates import parse_iso  # few commands have a time as an argument

    try:
        parse_iso(text)
    except ValueError:
        raise ArgumentTypeError(_("must be a time such as 2027-01-01T00:00:00Z, not {text!r}", text=text)) from None
    return text


_HIGHEST_PORT = 65535


def whole_number(text: str) -> int:
    """Return a whole number.

    Raises: ArgumentTypeError.
    """
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(_("must be a whole number, not {text!r}", text=text)) from None


def at_least_one(text: str) -> int:
    """Return a positive whole number. Raises: ArgumentTypeError.

    Raises: ArgumentTypeError.
    """
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(_("must be a whole number of at least 1, not {text!r}", text=text))
    return int(text)


def none_or_more(text: str) -> int:
    """Return a whole number that is not negative.

    Raises: ArgumentTypeError.
    """
    if not text.isascii() or not text.isdigit():
        raise ArgumentTypeError(_("must be a whole number of at least 0, not {text!r}", text=text))
    return int(text)


def port(text: str) -> int:
    """Return the number of a port, 0 for any.

    Raises: ArgumentTypeError.
    """
    if not text.isascii() or not text.isdigit() or int(text) > _HIGHEST_PORT:
        raise ArgumentTypeError(_("must be a port from 0 to {most}, not {text!r}", most=_HIGHEST_PORT, text=text))
    return int(text)


def duration(text: str) -> str:
    """Return a duration in the admin API's form. Raises: ArgumentTypeError.

    Raises: ArgumentTypeError.
    """
    try:
        parse_duration(text)
    except ValueError:
        raise ArgumentTypeError(_("must be a duration such as 30s or 1h30m, not {text!r}", text=text)) from None
    return text


def probability(text: str) -> float:
    """Return a number from 0 to 1.

    Raises: ArgumentTypeError.
    """
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise ArgumentTypeError(_("must be a number from 0 to 1, not {text!r}", text=text))
    return number


def percentage(text: str) -> float:
    """Return a percentage. Raises: ArgumentTypeError.

    Raises: ArgumentTypeError.
    """
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:
        raise ArgumentTypeError(_("must be a number from 0 to 100, not {text!r}", text=text))
    return number
