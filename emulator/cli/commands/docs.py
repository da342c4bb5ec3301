"""``docs`` and ``explain``: the documentation in the terminal, without a network and without an emulator."""

import re
from argparse import Namespace

from emulator.cli import error_codes, pages
from emulator.cli.output import CommandFailed, _, is_chinese, say, say_json, say_pairs, say_table, wants_json
from emulator.config import Settings

_EXCERPT = 160
_HAN = re.compile(r"[\u3400-\u9fff]")


def run(arguments: Namespace, settings: Settings) -> int:
    """List the pages; with a query print the matching sections, with ``--page`` a page."""
    del settings
    chinese = _is_chinese(" ".join(arguments.query))
    if arguments.page:
        text = pages.read(arguments.page, chinese=chinese)
        if wants_json(arguments):
            say_json({"page": arguments.page, "markdown": text})
        else:
            say(text.rstrip())
        return 0
    return _search(arguments, chinese=chinese) if arguments.query else _list(arguments, chinese=chinese)


def _list(arguments: Namespace, *, chinese: bool) -> int:
    titles = {name: pages.title(pages.read(name, chinese=chinese)) for name in pages.names(chinese=chinese)}
    if wants_json(arguments):
        say_json([{"page": name, "title": title} for name, title in titles.items()])
    else:
        say_table(("page", "title"), list(titles.items()))
    return 0


def _search(arguments: Namespace, *, chinese: bool) -> int:
    query = " ".join(arguments.query)
    found = pages.search(query, chinese=chinese, limit=arguments.lines)
    if not found:
        raise CommandFailed(_("no page contains these words; localyun docs lists all pages"))
    if wants_json(arguments):
        say_json([{"page": each.page, "heading": each.heading, "text": each.text} for each in found])
        return 0
    for number, each in enumerate(found):
        if number:
            say()
        say(f"{each.page} · {pages.plain(each.heading)}")
        say(f"  {pages.excerpt(each, query, _EXCERPT)}")
    say()
    say(_("localyun docs --page {page} prints a page", page=found[0].page))
    return 0


def explain(arguments: Namespace, settings: Settings) -> int:
    """Print the meaning of an error code, its usual causes, the remedy, and each service's answer."""
    del settings
    told = error_codes.explain(arguments.code, chinese=_is_chinese())
    if wants_json(arguments):
        say_json(told.shown())
        return 0
    say_pairs(
        {
            told.code: pages.plain(told.meaning),
            _("causes"): pages.plain(told.causes),
            _("what to do"): pages.plain(told.remedy),
        }
    )
    if told.answered:
        say()
        say_table(("service", "status", "text"), [(each.service, each.status, each.text) for each in told.answered])
    return 0


def _is_chinese(query: str = "") -> bool:
    """Whether to use the Chinese pages: if the user's language is Chinese, or the query is."""
    return is_chinese() or bool(_HAN.search(query))
