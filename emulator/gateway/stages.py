"""The stages of the pipeline: each does one thing to the context, or raises, or answers.

A stage returns None to let the request go on, or the answer (now or awaitable). `emulator.gateway.pipeline` gives
their order.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from emulator.auth.authenticator import Authenticator
from emulator.auth.permissions.conditions import Facts, facts_of
from emulator.gateway.errors import ForbiddenHost, ForbiddenOrigin, NoSuchService, Unguarded
from emulator.gateway.hosts import HostPolicy, browser_trace, host_of, is_loopback
from emulator.gateway.router import choose
from emulator.kernel.errors import AuthFailure
from emulator.kernel.identity import AccountId, Demand, Principal, Region
from emulator.kernel.tracing import begin
from emulator.wire.request import Answer, Front, GuardedFront, OperationRequest

Stage = Callable[[OperationRequest], Answer | None]


def refuse_strangers(policy: HostPolicy, open_to_web: Callable[[OperationRequest], bool]) -> Stage:
    """Make the stage that refuses foreign Host names and requests of web pages, on every path.

    The one exemption is what *open_to_web* lets through, which is asked for a web page's request only.
    """

    def stage(context: OperationRequest) -> None:
        context.host = host_of(context.http)
        if not policy.allows(context.host):
            raise ForbiddenHost(host=context.host)
        if (trace := browser_trace(context.http)) is not None and not open_to_web(context):
            raise ForbiddenOrigin(header=trace)

    return stage


def choose_service(fronts: Mapping[str, Front], policy: HostPolicy, region: Region) -> Stage:
    """Make the stage that finds the front, and the region of the tenant the request works in.

    The region is the one the host name tells. A loopback address tells none: then it is this installation's region,
    whatever region the client was configured with, so that clients of different services meet in one tenant.
    """

    def stage(context: OperationRequest) -> None:
        host = context.host
        route = choose(context.http, host, loopback=is_loopback(host), owner=policy.front_of(host))
        front = fronts.get(route.front)
        if front is None:
            raise NoSuchService(method=context.http.method, path=context.http.path)
        context.front = front
        context.region = Region(route.host.region) if route.host.region else region
        context.host_account = AccountId(route.host.account) if route.host.account else None

    return stage


def name_request(context: OperationRequest) -> None:
    """Give the request its id, in the form of its dialect."""
    context.request_id = front_of(context).new_request_id(context)
    begin(context.request_id)


def limit_body(context: OperationRequest) -> None:
    """Refuse a body over the front's limit; the head alone did not always tell which front it is."""
    front = front_of(context)
    if len(context.http.body) > front.max_body:
        raise front.too_large(front.max_body)


def authenticate(authenticator: Authenticator, own_account: AccountId) -> Stage:
    """Make the stage that finds out who calls; unsigned requests pass only where the front allows it."""

    def stage(context: OperationRequest) -> None:
        front = front_of(context)
        if front.allows_anonymous(context):
            account = context.host_account or own_account
            context.principal = Principal(account, "", f"acs:ram::{account}:anonymous")
            return
        try:
            context.principal = authenticator.authenticate(context.http, context.now, host_account=context.host_account)
        except AuthFailure as failure:
            raise front.auth_error(failure, context) from failure

    return stage


class Authorizer(Protocol):
    """Knows what callers may do."""

    def allows(self, principal: Principal, demand: Demand, facts: Facts) -> bool:
        """Tell whether a caller may do what *demand* says; *facts* is what conditions can be about."""
        ...


def authorize(authorizer: Authorizer) -> Stage:
    """Make the stage that refuses callers without the rights the request needs; it comes after authentication.

    Who needed no signature needs no right either, and the account itself has all of them.
    """

    def stage(context: OperationRequest) -> None:
        front, principal = front_of(context), context.principal
        if principal is None or not principal.access_key_id or principal.arn.endswith(":root"):
            return
        if not isinstance(front, GuardedFront):
            raise Unguarded(service=front.name)
        facts = facts_of(context)
        for demand in front.demands(context):
            if not authorizer.allows(principal, demand, facts):
                raise front.denied(demand, context)

    return stage


def dispatch(context: OperationRequest) -> Answer:
    """Let the front run the operation."""
    return front_of(context).handle(context)


def front_of(context: OperationRequest) -> Front:
    """Return the front that `choose_service` set."""
    if context.front is None:
        raise LookupError("no service has been chosen for this request")
    return context.front
