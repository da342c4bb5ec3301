"""The services for pages: their public methods and the admin operations, called on the loop.

One instance serves all pages; its methods are called in the console's thread. The module of a page in
`emulator.console.pages` makes plain values from them, so that templates never touch a service. The functions here are
shared by pages: the view, going back after a post, paging, addresses of resources' pages.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ParamSpec, TypeVar, overload

from flask import current_app, g, redirect, request, url_for
from werkzeug.wrappers import Response

from emulator.console.activity import Activities, activities
from emulator.console.executions import Folds
from emulator.console.forms import no_whole_number
from emulator.console.front import Bridge
from emulator.gateway.journal import LINES, Journal
from emulator.kernel.clock import Clock, Millis
from emulator.kernel.digits import read_digits
from emulator.kernel.frozen import frozen, replace
from emulator.kernel.identity import Region, Tenant
from emulator.lab.service import Bench, Lab
from emulator.oss.service import LazyStorage
from emulator.services.fc.administration import FunctionAdmin
from emulator.services.fc.service import FunctionCompute
from emulator.services.mns.service import MessageService
from emulator.services.workflow.service import Workflow
from emulator.wire.request import Front

P = ParamSpec("P")
T = TypeVar("T")
Row = dict[str, Any]

PAGE = 50
"""Rows on a page of a list."""

FOUND = 100
"""The most results of a search for each kind."""

_HELD = 50
"""How many answers of posts are kept, such as of calls."""

Perform = Callable[[str, str, Row, Tenant, Millis], Awaitable[Any]]
"""Performs an operation of the admin API: method, path below the prefix, arguments, tenant, time."""


@frozen
class View:
    """The services, reached by ``bridge``; ``fronts`` are their APIs by the names of the router.

    ``describe`` returns version, addresses and the like, and ``changes``: the number of the latest change.
    """

    tenant: Tenant
    functions: FunctionCompute
    function_admin: FunctionAdmin
    messages: MessageService
    workflow: Workflow
    objects: LazyStorage
    lab: Lab
    journal: Journal
    time: Clock
    describe: Callable[[], Row]
    list_regions: Callable[[], list[Region]]
    problems: Callable[[], list[str]]
    perform: Perform
    bridge: Bridge
    fronts: Mapping[str, Front]
    folds: Folds

    @property
    def bench(self) -> Bench:
        """Faults, mocks, sinks and recorded calls."""
        return self.lab.bench

    @overload
    def call(self, function: Callable[P, Awaitable[T]], *arguments: P.args, **named: P.kwargs) -> T: ...

    @overload
    def call(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T: ...

    def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call a public method of a service on the loop and return its result."""
        return self.bridge.call(function, *arguments, **named)

    def admin(self, method: str, path: str, **arguments: Any) -> Any:
        """Perform an operation of the admin API and return its answer.

        Raises: ServiceError.
        """
        return self.bridge.call(self.perform, method, path, arguments, self.tenant, self.now())

    def about(self) -> Row:
        """Return version, addresses, account and region of the emulator."""
        return dict(self.call(self.describe))

    def regions(self) -> list[Region]:
        """Return the regions that have resources, the emulator's own first."""
        return list(self.call(self.list_regions))

    def now(self) -> Millis:
        """Return the emulator's time."""
        return self.time.now()

    def moved(self) -> Row:
        """Return the emulator's time, its offset from the machine's, and whether it is frozen."""
        return dict(self.call(self.lab.time.told))

    def clock(self) -> Row:
        """Return the emulator's time and the coming events."""
        shown = dict(self.call(self.lab.time.view))
        for event in shown["next"]:
            event["to_ms"] = shown["now_ms"] + event["in_ms"]
        return shown

    def activities(self) -> Activities:
        """Return the recent activity of queues, topics, functions and flows."""
        return self.call(lambda: activities(self.journal.effects(LINES), self.bench.calls, self.now()))

    def counts(self) -> Row:
        """Return the number of resources of each kind in the account and region of the page."""
        return dict(self.call(self._counts))

    def _counts(self) -> Row:
        return {
            "flows": self.workflow.flows.count(self.tenant),
            "executions": self.workflow.open_in(self.tenant),
            "queues": self.messages.queue_store.count(self.tenant),
            "topics": self.messages.topic_store.count(self.tenant),
            "functions": self.functions.store.tenants().get(self.tenant, 0),
        }


def view() -> View:
    """Return the application's view, in the region chosen by the user."""
    services: View = current_app.extensions["view"]
    region = g.get("region", "")
    if not region:
        return services
    tenant, there = services.tenant._replace(region=region), services.function_admin.of_region(region)
    return replace(services, tenant=tenant, function_admin=there)


def done(endpoint: str, **values: Any) -> Response:
    """Redirect to a page after a change, so that reloading does not repeat it."""
    return redirect(url_for(endpoint, **values), 303)


def hold(result: Row) -> str:
    """Keep the answer of a post for the page it redirects to, and return its key; the latest ones are kept."""
    results: OrderedDict[str, Row] = current_app.extensions["held"]
    key = f"{view().time.system():x}-{len(results)}"
    results[key] = result
    while len(results) > _HELD:
        results.popitem(last=False)
    return key


def held(key: str) -> Row | None:
    """Return what `hold` has kept under *key*, None when it was dropped."""
    results: OrderedDict[str, Row] = current_app.extensions["held"]
    return results.get(key)


def back(path: str) -> Response | None:
    """Redirect to a page of the console; None when *path* is not one."""
    if not path.startswith("/") or "//" in path or "\\" in path:
        return None
    return redirect(f"{request.script_root}{path}", 303)


def marker() -> str:
    """Return the beginning of the list that the address asks for."""
    return request.args.get("from", "")


def paged(rows: list[T]) -> tuple[list[T], int | None]:
    """Return the page of *rows* that the address asks for, and the index of the next page, None on the last one."""
    begin = number("from") or 0
    end = begin + PAGE
    return rows[begin:end], end if len(rows) > end else None


def number(name: str) -> int | None:
    """Return a whole number in the address, None when there is none."""
    return read_digits(request.args.get(name, ""), 9)


def whole(name: str, low: int, high: int) -> int | None:
    """Return a whole number in a form field, None when it is empty.

    Raises: FormRefused when it is not one from *low* to *high*.
    """
    text = field(name)
    if not text:
        return None
    found = read_digits(text, 9)
    if found is None or not low <= found <= high:
        raise no_whole_number(name, low, high, text)
    return found


def field(name: str) -> str:
    """Return the text of a form field without surrounding blanks, "" when it is absent."""
    return request.form.get(name, "").strip()


def nonempty(**fields: Any) -> dict[str, Any]:
    """Return the fields that have a value: an admin operation has defaults for the others."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


def link(kind: str, name: str) -> str:
    """Return the address of the page of the resource *name*, "" when there is none."""
    first, slash, rest = str(name).partition("/")
    if not first:
        return ""
    match kind:
        case "flow" | "schedule":
            return url_for("flows.show", name=first)
        case "execution" if slash:
            return url_for("flows.execution", name=first, execution=rest)
        case "execution":
            return url_for("flows.show", name=first)
        case "queue":
            return url_for("queues.show", name=first)
        case "topic" | "push" | "delivery":
            return _topic(first, rest)
        case "function" | "call" | "trigger" if slash:
            return url_for("functions.show", service=first, name=rest)
        case "function" | "call" | "trigger":
            return url_for("functions.show", name=first)
        case "bucket":
            return url_for("buckets.show", name=first)
        case "message":
            return url_for("lives.show", id=name)
        case "request":
            return url_for("requests.show", id=name)
        case _:
            return ""


def _topic(topic: str, rest: str) -> str:
    """Return the address of a delivery, named `topic/subscription/message`, or else of the topic."""
    subscription, _, message = rest.partition("/")
    if not message:
        return url_for("topics.show", name=topic)
    return url_for("topics.delivery", name=topic, subscription=subscription, message=message)
