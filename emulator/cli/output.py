"""The output of commands: exit codes and errors, the user's language, tables, JSON, progress on terminals.

``_("created {queue}", queue=name)`` looks the text up in the catalogues under ``locale/`` (gettext) and fills in the
fields. The language is that of ``LANGUAGE``, ``LC_ALL``, ``LC_MESSAGES`` and ``LANG``, as for other programs. Help
texts are looked up when a parser is built, and headings of tables when they are printed. Names of the API, answers of
the services and the server's log stay English.
"""

from __future__ import annotations

import gettext
import os
import sys
from argparse import Namespace
from functools import cache

TYPE_CHECKING = False  # as in ``typing``, whose import would be a tenth of ``--help``
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, TextIO, TypeAlias

DONE = 0
FAILED = 1
WRONG_USAGE = 2
NO_EMULATOR = 3
DIFFERENT = 4


class CommandFailed(Exception):
    """A command failed; the message says what is wrong and what to do."""

    exit_code = FAILED


class NoEmulator(CommandFailed):
    """No emulator answered at the address ``what``; *advice* says how to start one."""

    exit_code = NO_EMULATOR

    def __init__(self, what: str, advice: str = "") -> None:
        super().__init__(sentences(what, advice) if advice else what)
        self.what = what


class OtherEmulator(CommandFailed):
    """The emulator of another folder answered: ``what`` describes it, ``owner`` is its registry entry, if known."""

    exit_code = NO_EMULATOR

    def __init__(self, what: str, advice: str, owner: str = "") -> None:
        super().__init__(sentences(what, advice) if advice else what)
        self.what = what
        self.owner = owner


class WrongUsage(CommandFailed):
    """Arguments that contradict each other or cannot be read."""

    exit_code = WRONG_USAGE


class CallRefused(CommandFailed):
    """The emulator answered a call with an error, whose name is ``code``; ``content`` is the whole answer.

    ``is_own`` is true when the message ``said`` is the emulator's own and not one of an emulated service.
    """

    is_own = False

    def __init__(self, status: int, code: str, message: str, content: dict[str, Any] | None = None) -> None:
        self.content = content or {}
        self.said = message
        self.status = status
        self.code = code
        super().__init__(f"{code}: {message}" if code else f"HTTP {status}: {message}")


DOMAIN = "localyun"
FOLDER = os.path.join(os.path.dirname(__file__), "locale")  # noqa: PTH118, PTH120 - pathlib is a tenth of --help

_PROBE = "中"


def _(text: str, /, **fields: object) -> str:
    """Return *text* in the user's language, with *fields* filled in for its ``{names}``."""
    shown = catalogue().gettext(text)
    return shown.format(**fields) if fields else shown


def words_of(status: str) -> str:
    """Return a status as words: ``TimedOut`` is ``timed out``."""
    return "".join(f" {each.lower()}" if each.isupper() else each for each in status).strip()


def translated_status(status: str) -> str:
    """Return a status in the user's language; in English it is the service's word."""
    words = words_of(status)
    shown = _(words)
    return status if shown == words else shown


def requests_counted(number: int) -> str:
    """Return a number of requests in words."""
    return _("1 request") if number == 1 else _("{number} requests", number=number)


def unreadable(file: object, error: Exception) -> str:
    """Return the message for a *file* that cannot be read, with the system's reason but not its number."""
    return _("{file} cannot be read: {reason}", file=file, reason=reason_of(error))


SYSTEM_REASONS = (
    *("No such file or directory", "Permission denied", "Is a directory", "Not a directory", "File exists"),
    *("No space left on device", "Read-only file system", "File name too long", "Operation not permitted"),
    *("Exec format error", "Address already in use", "Cannot assign requested address"),
)
"""The most frequent error messages of the C library, for translation; others stay as they are."""


def reason_of(error: object) -> str:
    """Return the reason of an error, translated if it is a frequent one of the system."""
    text = getattr(error, "strerror", None) or str(error)
    return _(text) if text else ""  # gettext translates "" to its catalogue's header


@cache
def catalogue() -> gettext.NullTranslations:
    """Return the translations into the user's language; without any, the program's own texts.

    A terminal whose encoding has no Chinese characters gets English.
    """
    if _is_english():
        return gettext.NullTranslations()
    translations = gettext.translation(DOMAIN, FOLDER, fallback=True)
    if isinstance(translations, gettext.GNUTranslations) and not _can_be_shown():
        return gettext.NullTranslations()
    return translations


def _is_english() -> bool:
    """Whether no other language is set, by gettext's variables in order; gettext itself would read ``locale``."""
    names = (os.environ.get(name) for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"))
    wanted = next(filter(None, names), "C")
    return wanted.split(".")[0] in {"C", "POSIX", "en", "en_US", "en_GB"}


def is_chinese() -> bool:
    """Whether the user's language is Chinese, the only translation."""
    return isinstance(catalogue(), gettext.GNUTranslations)


def spoken(text: str) -> str:
    """Return a message of the emulator translated; the console's catalogue has its sentences."""
    if not is_chinese():
        return text
    from emulator.console.language import translated  # these modules import the tables of all errors
    from emulator.console.refusals import placed_sentence

    def say(template: str) -> str:
        own = _(template) if template else template
        return translated("zh", template) if own == template else own

    return placed_sentence(text, say)


def speak_translated() -> None:
    """Have argparse use the user's language, unless that is English."""
    if is_chinese():
        gettext.bindtextdomain(DOMAIN, FOLDER)
        gettext.textdomain(DOMAIN)


def _can_be_shown() -> bool:
    try:
        for stream in (sys.stdout, sys.stderr):
            _PROBE.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


Fields: TypeAlias = "dict[str, Any]"
"""Elements of an answer by name: numbers and booleans as values, properties as a list of dictionaries."""

_IN_SECONDS = frozenset({"CreateTime", "LastModifyTime"})
_IN_MILLISECONDS = frozenset(
    {"EnqueueTime", "FirstDequeueTime", "NextVisibleTime", "PublishTime", "NextTime", "EndTime", "RecordTime"}
)

_CELL_WIDTH = 60


def wants_json(arguments: Namespace) -> bool:
    """Whether ``--json`` was given."""
    return bool(getattr(arguments, "json", False))


def say(text: str = "") -> None:
    """Print a line of the command's result."""
    _print(text, sys.stdout)


def _print(text: str, stream: TextIO) -> None:
    print(_harmless(text) if stream.isatty() else text, file=stream, flush=True)


_COMMANDS = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
"""Control characters that move a terminal's cursor, change the direction of text and the like."""


def _harmless(text: str) -> str:
    """Return *text* with control characters escaped, except colours: names may contain anything."""
    if text.isprintable():
        return text
    import re  # few texts contain such a character

    return re.sub(rf"(\x1b\[[\d;]*m)|{_COMMANDS}", lambda found: found[1] or ascii(found[0])[1:-1], text)


def enumerated(words: Iterable[object]) -> str:
    """Return *words* joined by the separator of the user's language."""
    return _(", ").join(str(word) for word in words)


def sentences(first: str, *others: str) -> str:
    """Return sentences joined as in the user's language."""
    for other in others:
        is_service_s = first[-1:].isascii()  # it ends like an English sentence: a blank follows
        first = f"{first} {other}" if is_service_s else _("{sentence} {next}", sentence=first, next=other)
    return first


def say_words(text: str) -> None:
    """Print sentences of the command's result, folded at the terminal's width."""
    say(_fitted(text, sys.stdout))


def complain(text: str) -> None:
    """Print a line about a problem on the error stream, folded at the terminal's width."""
    _print(_fitted(f"localyun: {text}", sys.stderr), sys.stderr)


def note(text: str) -> None:
    """Print a line for people on the error stream, apart from the result; folded at the terminal's width."""
    _print(_fitted(text, sys.stderr), sys.stderr)


def note_row(begin: str, last: str) -> None:
    """Print a line like `note`, with its end *last* folded; a name that does not fit gets a line of its own."""
    note(folded(begin, last, stream=sys.stderr))


def progress(text: str) -> None:
    """Print the present activity, only on a terminal."""
    if sys.stderr.isatty():
        note(text)


def say_json(value: object) -> None:
    """Print *value* as indented JSON."""
    say(_json(value, indent=2))


def say_json_line(value: object) -> None:
    """Print *value* as one line of JSON."""
    say(_json(value))


def _json(value: object, indent: int | None = None) -> str:
    import json  # not needed for help

    return json.dumps(value, indent=indent, ensure_ascii=False)


def say_beside(label: str, value: object) -> None:
    """Print *label* and a path or an address; the latter on its own line if the terminal is too narrow."""
    say(_beside(label, value, sys.stdout))


def progress_beside(label: str, value: object) -> None:
    """Print the present activity with a path or an address, only on a terminal."""
    progress(_beside(label, value, sys.stderr))


def _beside(label: str, value: object, stream: TextIO) -> str:
    line = f"{label}{'' if label.endswith(_COLON) else ' '}{value}"
    limit = _line_limit(stream)
    return line if limit is None or cells(line) <= limit else f"{label}\n  {value}"


def _fitted(text: str, stream: TextIO) -> str:
    """Return the lines of *text* folded at the terminal's width, each with its own indentation."""
    limit = _line_limit(stream)
    if limit is None:
        return text
    from emulator.drawing.text_width import fold  # only output to a terminal is folded

    lines: list[str] = []
    for line in text.split("\n"):
        words = line.lstrip(" ")
        indent = line[: len(line) - len(words)]
        lines += [indent + each for each in fold(words, limit - len(indent))]
    return "\n".join(lines)


def _line_limit(stream: TextIO) -> int | None:
    """Return the width of the terminal in cells; None in a pipe, where lines are not folded."""
    if not stream.isatty():
        return None
    from emulator.drawing.text_width import terminal_width  # only output to a terminal is measured

    return terminal_width(stream)


_COLON = "\uff1a"
"""The Chinese colon, which is not followed by a blank."""

_LEAST_COLUMN = 20
"""The narrowest column for a cell; if less room is left, the cell is put on the next line."""

_NEXT_LINE = 4
"""The indentation of such a cell, if there is room."""


def padded(text: str, width: int) -> str:
    """Return *text* padded with blanks to *width* cells."""
    return text + " " * (width - cells(text))


def cells(text: str) -> int:
    """Return how many cells of a terminal *text* takes."""
    if text.isascii():
        return len(text)
    from emulator.drawing import text_width  # imports the character database, which English tables do not need

    return text_width.cells(text)


def say_table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows in columns under headings; the last column is folded at the terminal's width."""
    titles = [_(each) if each else "" for each in headings]
    texts = [[("" if cell is None else str(cell)) for cell in row] for row in rows]
    widths = [max(cells(row[column]) for row in [titles, *texts]) for column in range(len(headings))]
    for row in [titles, *texts]:
        *others, last = row
        begin = "".join(padded(cell, width + 2) for cell, width in zip(others, widths, strict=False))
        say(folded(begin, last, widths[-1]))


def say_pairs(pairs: Mapping[str, Any]) -> None:
    """Print a name and its value per line, values in a column, folded at a terminal's edge; a list is a line each."""
    width = max((cells(name) for name in pairs), default=0)
    for name, value in pairs.items():
        for number, line in enumerate(value if isinstance(value, list) else [value]):
            say(folded(padded("" if number else name, width + 2), str(line)))


def folded(begin: str, last: str, widest: int = 0, stream: TextIO | None = None) -> str:
    """Return *begin* and *last*, folded behind *begin*, or below it where too little room is left."""
    limit = _line_limit(stream or sys.stdout)
    if not last or limit is None:
        return (begin + last).rstrip()
    from emulator.drawing.text_width import fold  # only output to a terminal is folded

    start = cells(begin)
    if start + max(widest, cells(last)) <= limit:
        return (begin + last).rstrip()
    lines = fold(last, limit - start)
    if limit - start < _LEAST_COLUMN or max(map(cells, lines)) > limit - start:
        start = max(0, min(_NEXT_LINE, limit - widest))
        begin, lines = begin.rstrip() + "\n" + " " * start, fold(last, limit - start)
    return begin + f"\n{' ' * start}".join(lines)


def short(text: str, limit: int) -> str:
    """Return *text* on one line, cut to *limit* characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def tell(arguments: Namespace, line: str, value: Fields) -> int:
    """Print the line about a completed action, or *value* as JSON."""
    if wants_json(arguments):
        say_json(value)
    else:
        say(line)
    return DONE


def show(arguments: Namespace, rows: Sequence[Fields], *, as_list: bool = True) -> int:
    """Print resources with many fields: one block of names and values each, or JSON."""
    if wants_json(arguments):
        say_json(list(rows) if as_list else rows[0])
        return DONE
    for number, item in enumerate(rows):
        if number:
            say()
        say_pairs({name: readable(name, value) for name, value in item.items()})
    return DONE


def show_table(arguments: Namespace, columns: dict[str, str], entries: Sequence[Fields]) -> int:
    """Print resources as rows; *columns* maps headings to names of fields. JSON has all fields."""
    found = ([readable(name, item.get(name)) for name in columns.values()] for item in entries)
    rows = [[short(each, _CELL_WIDTH) if isinstance(each, str) else each for each in row] for row in found]
    return show_rows(arguments, list(columns), rows, list(entries))


def show_rows(arguments: Namespace, headings: Sequence[str], rows: Sequence[Sequence[object]], value: object) -> int:
    """Print *rows* under *headings*, or *value* as JSON."""
    if wants_json(arguments):
        say_json(value)
    else:
        say_table(headings, rows)
        if not rows:
            note(_("Nothing found."))
    return DONE


def readable(name: str, value: object) -> object:
    """Return a field for people: timestamps as dates, flags as in JSON, properties as ``name=value``."""
    if isinstance(value, bool):
        return _json(value)
    if isinstance(value, int) and name in _IN_SECONDS | _IN_MILLISECONDS:
        from emulator.kernel.clock import Millis  # help and most commands do not need dates
        from emulator.wire.dates import iso_seconds

        return iso_seconds(Millis(value * (1000 if name in _IN_SECONDS else 1))) if value else "-"
    if isinstance(value, dict):
        return _json(value)
    if isinstance(value, list):
        return ", ".join(f"{item['Name']}={item['Value']}" if "Name" in item else _json(item) for item in value)
    return value


_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"))


def duration(span_ms: int) -> str:
    """Return a duration in the admin API's form: ``1h30m``, ``5s``, ``20ms``."""
    if span_ms < 1000:
        return f"{max(0, span_ms)}ms"
    text, left = "", span_ms
    for size, unit in _UNITS:
        if left >= size:
            text, left = f"{text}{left // size}{unit}", left % size
    return text
