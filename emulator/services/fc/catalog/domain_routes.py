"""Custom domains: which function a path goes to, and how a path is rewritten on the way. Pure.

A rewrite rule is a user's regular expression, and one can take years on a text of fifty characters while it holds the
interpreter. The engine looks at signals now and then, so an alarm ends the search. Alarms exist on POSIX and reach the
main thread only, which is where a running emulator has its loop; elsewhere a search is not limited.

Source: the custom domain pages of the API reference and of the user guide; precedence of paths and the order of the
rewrite rules are assumed.
"""

import logging
import re
import signal
import threading
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Any, Final

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Tenant
from emulator.services.fc.model import LATEST, Struct, etag

LONGEST_SEARCH_S: Final = 0.05
"""How long one search may hold up everybody else; an honest one takes microseconds."""


class SearchTooLong(Exception):
    """A search was given up."""


def search(pattern: re.Pattern[str], text: str, longest_s: float = LONGEST_SEARCH_S) -> re.Match[str] | None:
    """Return the first match of *pattern* in *text*, or None.

    Raises: SearchTooLong after *longest_s* seconds.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return pattern.search(text)
    searching = True

    def give_up(number: int, frame: FrameType | None) -> None:
        del number, frame
        if searching:  # else the alarm and the end of the search have crossed
            raise SearchTooLong

    before = signal.signal(signal.SIGALRM, give_up)
    try:
        signal.setitimer(signal.ITIMER_REAL, longest_s)
        return pattern.search(text)
    finally:
        searching = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


_log = logging.getLogger(__name__)

_GROUP = r"\$(\d{1,2})"


@frozen
class Domain:
    """A custom domain. ``config`` is checked and under the API's own names; ``api`` is the version that made it.

    ``name`` is in lower case, ``config["domainName"]`` as it was written.
    """

    name: str
    tenant: Tenant
    domain_id: str
    api: str
    config: Struct
    created_at: Millis
    modified_at: Millis
    revision: int = 1

    @property
    def etag(self) -> str:
        """The opaque text that changes with every update."""
        return etag(self.domain_id, self.revision)

    @property
    def https(self) -> bool:
        """Whether it is served over HTTPS."""
        return "HTTPS" in str(self.config.get("protocol", "HTTP"))

    @property
    def routes(self) -> Sequence[Struct]:
        """Its routes, in the API's form."""
        routes: Sequence[Struct] = (self.config.get("routeConfig") or {}).get("routes") or ()
        return routes


@frozen
class Place:
    """Where a request to a custom domain goes; ``target`` is path and query after rewriting, undecoded."""

    service: str
    function: str
    qualifier: str
    target: str


def place_of(domain: Domain, method: str, path: str, query: str | None) -> Place | None:
    """Return where a request goes; None when no route matches. *path* and *query* are as sent."""
    route = best_route(domain.routes, method, path)
    if route is None:
        return None
    return Place(
        service=route.get("serviceName") or "",
        function=route.get("functionName") or "",
        qualifier=route.get("qualifier") or LATEST,
        target=rewritten(route.get("rewriteConfig") or {}, path, query),
    )


def best_route(routes: Iterable[Struct], method: str, path: str) -> Struct | None:
    """Return the route for *path*: an exact one before wildcards, of these the one with the longest prefix."""
    best: Struct | None = None
    best_rank = (-1, -1)
    for route in routes:
        methods = route.get("methods") or ()
        if methods and method not in methods:
            continue
        pattern = str(route.get("path") or "/*")
        if pattern == path:
            rank = (1, len(pattern))
        elif pattern.endswith("*") and _begins(path, pattern[:-1]):
            rank = (0, len(pattern))
        else:
            continue
        if rank > best_rank:
            best, best_rank = route, rank
    return best


def _begins(path: str, prefix: str) -> bool:
    """Whether *path* is below *prefix*; ``/api/*`` covers ``/api`` too (assumed)."""
    return path.startswith(prefix) or (prefix.endswith("/") and path == prefix[:-1])


def rewritten(config: Struct, path: str, query: str | None) -> str:
    """Return path and query after the first rule that matches; equal rules come first, then wildcards, then regexes.

    An equal rule compares the path and keeps the query; the others see path and query and replace both. One that takes
    too long to decide counts as not matching.
    """
    whole = path if query is None else f"{path}?{query}"
    for rule in config.get("equalRules") or ():
        if rule["match"] == path:
            return str(rule["replacement"]) + ("" if query is None or "?" in rule["replacement"] else f"?{query}")
    kinds: tuple[tuple[str, Callable[[str], re.Pattern[str]]], ...] = (
        ("wildcardRules", wildcard),
        ("regexRules", re.compile),
    )
    for name, compiled in kinds:
        for rule in config.get(name) or ():
            try:
                found = search(compiled(rule["match"]), whole)
            except SearchTooLong:
                _log.warning("the rewrite rule %r takes too long and is passed over", rule["match"][:200])
                continue
            if found is not None:
                return _expanded(rule["replacement"], found)
    return whole


def wildcard(rule: str) -> re.Pattern[str]:
    """Return what a wildcard rule means: ``*`` is any text, and ``^`` at its front binds it to the beginning."""
    anchored = rule.startswith("^")
    text = rule[1:] if anchored else rule
    return re.compile(("^" if anchored else "") + "(.*)".join(re.escape(part) for part in text.split("*")) + "$")


def _expanded(replacement: str, found: re.Match[str]) -> str:
    def group(reference: re.Match[str]) -> str:
        number = int(reference[1])
        return (found[number] or "") if number <= (found.re.groups or 0) else ""

    text = re.sub(_GROUP, group, replacement)
    return text if text.startswith("/") else f"/{text}"


def shown(config: Struct) -> dict[str, Any]:
    """Return a configuration as answers have it: with null for the private key.

    Source: fc-java-sdk FunctionComputeClientTest.
    """
    certificate = config.get("certConfig")
    return {**config, "certConfig": {**certificate, "privateKey": None}} if certificate else dict(config)
