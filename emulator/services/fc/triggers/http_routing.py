"""Which HTTP trigger a request is for: by its path, by a host name of the trigger's own, or by a custom domain.

What a host name or a function leads to is looked up once and kept until a trigger or domain changes.

A rewrite rule of a domain is a user's regular expression, and one can take years on a text of fifty characters while it
holds the interpreter. The engine looks at signals now and then, so an alarm ends the search. Alarms exist on POSIX and
reach the main thread only, which is where a running emulator has its loop; elsewhere a search is not limited.

Source: the custom domain pages of the API reference and of the user guide; precedence of paths and the order of the
rewrite rules are assumed.
"""

import logging
import re
import signal
import threading
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Final
from urllib.parse import unquote

from emulator.http.message import Request
from emulator.kernel import system
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import FUNCTION_SUFFIX, Tenant
from emulator.services.fc.catalog.domain_fields import wildcard
from emulator.services.fc.catalog.resolving import Resolver
from emulator.services.fc.errors import FcError
from emulator.services.fc.model import LATEST, Struct
from emulator.services.fc.triggers.http_access import Cors, TokenRules, read_rules
from emulator.services.fc.triggers.model import AuthKind, Domain, Trigger
from emulator.services.fc.triggers.store import Domains, TriggerStore
from emulator.storage.database import Database

_log = logging.getLogger(__name__)

LONGEST_SEARCH_S: Final = 0.05
"""How long one search may hold up other requests, in seconds; an ordinary one takes microseconds."""


class SearchTooLong(Exception):
    """A pattern has taken too long to search a text."""


def search(pattern: re.Pattern[str], text: str, longest_s: float = LONGEST_SEARCH_S) -> re.Match[str] | None:
    """Return the first match of *pattern* in *text*, or None.

    Raises: SearchTooLong after *longest_s* seconds.
    """
    if not system.ALARMS or threading.current_thread() is not threading.main_thread():
        return pattern.search(text)
    searching = True

    def give_up(number: int, frame: FrameType | None) -> None:
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
                match = search(compiled(rule["match"]), whole)
            except SearchTooLong:
                _log.warning("the rewrite rule %r takes too long and is skipped", rule["match"][:200])
                continue
            if match is not None:
                return _expanded(rule["replacement"], match)
    return whole


def _expanded(replacement: str, match: re.Match[str]) -> str:
    def group(reference: re.Match[str]) -> str:
        number = int(reference[1])
        return (match[number] or "") if number <= (match.re.groups or 0) else ""

    text = re.sub(r"\$(\d{1,2})", group, replacement)
    return text if text.startswith("/") else f"/{text}"


PROXIES = ("/2016-08-15/proxy/", "/2021-04-06/proxy/", "/2023-03-30/proxy/")
TRIGGER_SUFFIXES = (".fcapp.run", ".fc.devsapp.net", FUNCTION_SUFFIX)
_LOCAL_SUFFIX = ".localhost"


@frozen
class HttpTarget:
    """The trigger a request is for. ``target`` is path and query for the function, undecoded, at least ``/``.

    ``request_uri`` is path and query with the trigger's own part, which is ``base_path``, empty on hosts of its own.
    ``domain`` is the custom domain the request came by, None for the default addresses.
    """

    tenant: Tenant
    trigger: Trigger
    target: str
    request_uri: str
    base_path: str = ""
    domain: Domain | None = None

    @property
    def auth(self) -> frozenset[AuthKind]:
        """The kinds of authentication that a request needs: for the trigger, and for the domain it came by."""
        kinds = {self.trigger.auth}
        if self.domain is not None:
            kinds.add((self.domain.config.get("authConfig") or {}).get("authType") or "anonymous")
        return frozenset(kinds)

    @property
    def cors(self) -> Cors:
        """The CORS configuration of the domain, else of the trigger; empty when neither has one."""
        of_domain = self.domain.config.get("corsConfig") if self.domain is not None else None
        rules = of_domain or self.trigger.config.get("corsConfig")
        return rules if isinstance(rules, dict) else {}

    @property
    def token_rules(self) -> list[TokenRules]:
        """Which tokens a request has to bring.

        Raises: InvalidArgument for a configuration that an earlier release has let through.
        """
        rules = []
        auth = (self.domain.config.get("authConfig") or {}) if self.domain is not None else {}
        if auth.get("authType") == "jwt":
            rules.append(read_rules(auth.get("authInfo"), "authConfig.authInfo"))
        if self.trigger.auth == "jwt":
            rules.append(read_rules(self.trigger.config.get("authConfig"), "triggerConfig.authConfig"))
        return rules


_KEPT: Final = 1_000
"""How many host names are cached with their targets; clients may send any name."""


def function_names(trigger: Trigger) -> tuple[str, ...]:
    """Return the names before ``.fc.localhost`` for the function of an HTTP trigger, the most specific first.

    A function's name belongs to the trigger of its newest code; those of versions and aliases have their label.
    """
    if trigger.qualifier != LATEST:
        return ()
    function = trigger.function.lower()
    return (f"{function}.{trigger.service.lower()}", function) if trigger.service else (function,)


class HttpRouting:
    """Finds triggers for requests."""

    def __init__(self, database: Database, triggers: TriggerStore, domains: Domains, resolver: Resolver) -> None:
        self._trigger_store = triggers
        self._domain_table = domains
        self._resolver = resolver
        self._triggers: dict[tuple[Tenant, str, str, str], Trigger] = {}
        self._hosts: dict[str, Domain | list[tuple[Tenant, Trigger]]] = {}
        triggers.watch(self._forget)
        domains.watch(self._forget)
        database.on_rollback(self._forget)

    def concerns(self, request: Request, host: str) -> bool:
        """Whether a request is for an HTTP trigger, even a missing one, rather than for the API."""
        if request.path.startswith(PROXIES):
            return True
        return bool(host) and (host.endswith(TRIGGER_SUFFIXES) or bool(self._at(host)))

    def is_third_generation(self, request: Request, host: str) -> bool:
        """Whether the trigger a request is for belongs to a function without a service."""
        if request.path.startswith(PROXIES):
            return request.path.startswith(PROXIES[-1])
        found = self._at(host)
        if isinstance(found, Domain):
            return found.api == "2023-03-30"
        return any(not trigger.service for _, trigger in found)

    def find(self, request: Request, host: str, tenant: Tenant) -> HttpTarget:
        """Return the trigger a request is for; *tenant* is the one that its path is looked up in.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, TriggerNotFound, DomainNameNotFound.
        """
        named = self._at(host)
        if isinstance(named, Domain):
            return self._by_domain(named, request)
        if request.path.startswith(PROXIES):
            return self._by_path(request, tenant)
        found = [each for each in named if each[0] == tenant] or named
        if len(found) == 1:
            ((owner, trigger),) = found
            return HttpTarget(tenant=owner, trigger=trigger, target=request.target, request_uri=request.target)
        if not found:
            raise FcError("TriggerNotFound", f"no http trigger has the address '{host[:200]}'")
        others = ", ".join(f"{trigger.label}{FUNCTION_SUFFIX}" for _, trigger in found[:5])
        raise FcError("TriggerNotFound", f"several http triggers have the address '{host[:200]}'; try {others}")

    def _by_path(self, request: Request, tenant: Tenant) -> HttpTarget:
        prefix = next(proxy for proxy in PROXIES if request.path.startswith(proxy))
        place, _, rest = request.path[len(prefix) :].partition("/")
        query = "" if request.query is None else f"?{request.query}"
        if prefix == PROXIES[-1]:
            function, _, qualifier = unquote(place).partition(".")
            trigger = self._trigger(tenant, "", function, qualifier or LATEST)
            target = f"/{rest}{query}"  # this prefix is the emulator's own: the function sees what it would on its host
            return HttpTarget(tenant=tenant, trigger=trigger, target=target, request_uri=target)
        named, _, rest = rest.partition("/")
        service, _, qualifier = unquote(place).partition(".")
        trigger = self._trigger(tenant, service, unquote(named), qualifier or LATEST)
        return HttpTarget(
            tenant=tenant,
            trigger=trigger,
            target=f"/{rest}{query}",
            request_uri=request.target,
            base_path=f"{prefix}{place}/{named}",
        )

    def _at(self, host: str) -> Domain | list[tuple[Tenant, Trigger]]:
        """Return the custom domain that a host name is, or the triggers that it leads to."""
        found = self._hosts.get(host)
        if found is None:
            if len(self._hosts) >= _KEPT:
                self._hosts.clear()
            found = self._hosts[host] = self._domain_table.get(host) or self._by_name(host)
        return found

    def _by_name(self, host: str) -> list[tuple[Tenant, Trigger]]:
        """Return the triggers that a host name of their own leads to, by the label of one or the name of a function."""
        if host.endswith(FUNCTION_SUFFIX):
            function, _, service = host.removesuffix(FUNCTION_SUFFIX).partition(".")
            if named := self._trigger_store.http_triggers(function, service, LATEST):
                return named
        if host.endswith(_LOCAL_SUFFIX) or host.endswith(TRIGGER_SUFFIXES):
            return self._trigger_store.labelled(host.partition(".")[0])
        return []

    def _by_domain(self, domain: Domain, request: Request) -> HttpTarget:
        route = best_route(domain.routes, request.method, request.path)
        if route is None:
            raise FcError(
                "DomainNameNotFound", f"domain name '{domain.name}' has no route for the path '{request.path[:200]}'"
            )
        service, function, qualifier = (route.get(name) or "" for name in ("serviceName", "functionName", "qualifier"))
        trigger = self._trigger(domain.tenant, service, function, qualifier or LATEST)
        target = rewritten(route.get("rewriteConfig") or {}, request.path, request.query)
        return HttpTarget(tenant=domain.tenant, trigger=trigger, target=target, request_uri=target, domain=domain)

    def _trigger(self, tenant: Tenant, service: str, function: str, qualifier: str) -> Trigger:
        key = (tenant, service, function, qualifier)
        trigger = self._triggers.get(key) or self._trigger_store.http_trigger(*key)
        if trigger is None:
            self._resolver.function(tenant, service, function, qualifier)  # the better answer when that is missing
            raise FcError("TriggerNotFound",
                f"function '{function}' has no http trigger for the version or alias '{qualifier}'"
            )  # fmt: skip
        self._triggers[key] = trigger
        return trigger

    def _forget(self) -> None:
        """Drop the cache, because a trigger or a domain has changed."""
        self._triggers.clear()
        self._hosts.clear()
