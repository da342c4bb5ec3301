"""Users' values in pages: JSON folded and coloured, or else text, up to a length; short ids."""

import json
import re
from base64 import b64decode
from typing import Any
from zlib import crc32

from markupsafe import Markup, escape

_LONGEST = 20_000
"""Characters shown of a text, and of all texts in a value together."""

_NODES = 1_000
"""Members and elements of a value that are shown."""

_OPEN = 12
"""Objects and lists with more members begin folded, as do those below the second level."""


def body(text: str | bytes) -> Markup:
    """Return a text for a page: a JSON object or list as a tree, else as it is, up to a length."""
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    if shown[:1] in {"{", "["} or shown.lstrip()[:1] in {"{", "["}:
        try:
            return tree(json.loads(shown))
        except (ValueError, RecursionError):
            pass
    rest = "" if len(shown) <= _LONGEST else Markup('<p class="quiet">… {} / {}</p>').format(_LONGEST, len(shown))
    return Markup('<pre class="body" tabindex="0">{}</pre>{}').format(shown[:_LONGEST], rest)


def tree(value: Any) -> Markup:
    """Return a JSON value as nested lists that fold; members beyond the first thousand are only counted."""
    key = crc32(repr(value)[:_LONGEST].encode("utf-8", "replace"))
    written: list[str] = []
    _show(value, _Room(), f"{key:x}", 0, written)
    content = "".join(written)  # joined at the end, because a page may have a hundred thousand members
    return Markup(f'<div class="json" tabindex="0" role="group">{content}</div>')  # noqa: S704 - `_show` escapes


class _Room:
    """The characters and members that may still be shown of a value."""

    def __init__(self) -> None:
        self.nodes = _NODES
        self.characters = _LONGEST


def _show(value: Any, room: _Room, path: str, depth: int, written: list[str]) -> None:
    """Write the markup of a value, in which all text is escaped."""
    room.nodes -= 1
    if isinstance(value, dict):
        pairs = [(f'<span class="key">{escape(_cut(str(name), room))}</span>: ', each) for name, each in value.items()]
        _fold(pairs, "{}", room, path, depth, written)
    elif isinstance(value, list):
        _fold([("", each) for each in value], "[]", room, path, depth, written)
    elif isinstance(value, str):
        text = _cut(json.dumps(value, ensure_ascii=False), room)
        written.append(f'<span class="string">{escape(text)}</span>')
    else:
        kind = "number" if isinstance(value, int | float) and not isinstance(value, bool) else "word"
        written.append(f'<span class="{kind}">{json.dumps(value)}</span>')


def _fold(pairs: list[tuple[str, Any]], marks: str, room: _Room, path: str, depth: int, written: list[str]) -> None:
    if not pairs:
        written.append(marks)
        return
    is_open = " open" if len(pairs) <= _OPEN and depth < 2 else ""
    summary = f"{marks[0]} {len(pairs)} {marks[1]}"
    written.append(f'<details data-keep="{path}"{is_open}><summary>{summary}</summary><ul>')
    for number, (name, value) in enumerate(pairs):
        if room.nodes <= 0 or room.characters <= 0 or depth > 40:
            written.append(f"<li>… {len(pairs) - number}</li>")
            break
        written.append(f"<li>{name}")
        _show(value, room, f"{path}.{number}", depth + 1, written)
        written.append("</li>")
    written.append("</ul></details>")


def _cut(text: str, room: _Room) -> str:
    shown = text if len(text) <= max(room.characters, 100) else f"{text[: max(room.characters, 100)]}…"
    room.characters -= len(shown)
    return shown


def decoded(body: str) -> str:
    """Return the text that *body* encodes in Base64, empty when it is not Base64."""
    try:
        text = b64decode(body.encode("ascii"), validate=True).decode() if len(body) % 4 == 0 and len(body) > 7 else ""
    except ValueError:
        return ""
    return text if text.isprintable() or "\n" in text else ""


def breakable(name: str) -> Markup:
    """Return a name of several words joined by dots, which may be broken behind each dot."""
    return Markup(".<wbr>").join(escape(each) for each in name.split("."))


def quoted(text: str) -> Markup:
    """Return a text with the parts between backticks marked up as code."""
    parts = (Markup("<code>{}</code>").format(each) if at % 2 else each for at, each in enumerate(text.split("`")))
    return Markup("").join(parts)


_ID = re.compile(r"(?<![^/])([0-9A-Fa-f-]{8})[0-9A-Fa-f-]{12,}(?![^/])", re.ASCII)


def short(name: str) -> str:
    """Return the beginning of a long id, by itself or in a path; a name stays as it is."""
    return _ID.sub(r"\1…", name)
