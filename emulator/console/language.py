"""The language of the console's pages: the one in a cookie, else the browser's preferred one."""

import gettext
from functools import cache
from http.cookies import CookieError, SimpleCookie
from pathlib import Path

LANGUAGES = {"en": "English", "zh": "中文"}
COOKIE = "localyun_console_language"


@cache
def catalogue(language: str) -> gettext.NullTranslations:
    """Return the texts of a language."""
    return gettext.translation("console", Path(__file__).with_name("locale"), [language], fallback=True)


def translated(language: str, text: str) -> str:
    """Return *text* translated; "" as it is, for which a catalogue would return its header."""
    return catalogue(language).gettext(text) if text else ""


def chosen(cookies: str, accepted: str) -> str:
    """Return the language, given the headers ``Cookie`` and ``Accept-Language``."""
    try:
        kept = SimpleCookie(cookies).get(COOKIE)
    except CookieError:
        kept = None
    if kept is not None and kept.value in LANGUAGES:
        return kept.value
    ranked = sorted((_liked(part) for part in accepted.split(",")), key=lambda each: -each[1])
    return next((name for name, weight in ranked if weight > 0 and name in LANGUAGES), "en")


def _liked(part: str) -> tuple[str, float]:
    """Return the language of a part of ``Accept-Language``, without its country, and its weight."""
    name, _, weight = part.partition(";")
    try:
        return name.strip().lower().partition("-")[0], float(weight.strip().removeprefix("q=") or 1)
    except ValueError:
        return "", 0.0
