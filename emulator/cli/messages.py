"""What the command says, in the user's language: gettext, with a catalogue per language under ``locale/``.

``_("created {queue}", queue=name)`` looks the text up and fills it in. The language is that of ``LANGUAGE``,
``LC_ALL``, ``LC_MESSAGES`` and ``LANG``, as for other programs. Help texts are looked up when a parser is built, and
headings of tables when they are printed. Names of the API, answers of the services and the server's log stay English.
"""

import gettext
import sys
from functools import cache
from pathlib import Path

DOMAIN = "localyun"
FOLDER = Path(__file__).parent / "locale"

_PROBE = "中"


def _(text: str, /, **fields: object) -> str:
    """Return *text* in the user's language, with *fields* in the places of its ``{names}``."""
    shown = catalogue().gettext(text)
    return shown.format(**fields) if fields else shown


@cache
def catalogue() -> gettext.NullTranslations:
    """Return the texts of the user's language; those of the program itself when there is no translation.

    A terminal whose encoding has no Chinese characters gets English.
    """
    found = gettext.translation(DOMAIN, FOLDER, fallback=True)
    if isinstance(found, gettext.GNUTranslations) and not _can_be_shown():
        return gettext.NullTranslations()
    return found


def is_translated() -> bool:
    """Whether the user's language is another than English; argparse speaks it too from then on."""
    if not isinstance(catalogue(), gettext.GNUTranslations):
        return False
    gettext.bindtextdomain(DOMAIN, FOLDER)
    gettext.textdomain(DOMAIN)
    return True


def _can_be_shown() -> bool:
    try:
        for stream in (sys.stdout, sys.stderr):
            _PROBE.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
