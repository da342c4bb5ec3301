"""The stages of the pipeline, each one thing done to a call: it answers, raises, or lets the call go on.

`emulator.gateway.pipeline` gives their order. The first two find out which front a call is for; the others have it.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from emulator.auth.authenticator import Authenticator, scheme_of
from emulator.auth.permissions.conditions import Facts, facts_of
from emulator.gateway.errors import ForbiddenHost, ForbiddenOrigin, NoSuchService, Unguarded
from emulator.gateway.hosts import HostPolicy, browser_trace, host_of, is_loopback
from emulator.gateway.router import choose
from emulator.kernel.errors import AuthFailure
from emulator.kernel.identity import AccountId, Demand, Principal, Region
from emulator.kernel.tracing import begin
from emulator.wire.request import Answer, Front, GuardedFront, OperationRequest

Stage = Callable[[Front, OperationRequest], Answer | None]
Choice = Callable[[OperationRequest], Front]


def refuse_strangers(
    policy: HostPolicy, open_to_web: Callable[[OperationRequest], bool]
) -> Callable[[OperationRequest], None]:
    """Make the check that refuses foreign Host names and requests of web pages, on every path.

    The one exemption is what *open_to_web* lets through, which is asked for a web page's request only.
    """

    def check(call: OperationRequest) -> None:
        call.host = host_of(call.http)
        if not policy.allows(call.host):
            raise ForbiddenHost(host=call.host)
        if (trace := browser_trace(call.http)) is not None and not open_to_web(call):
            raise ForbiddenOrigin(header=trace)

    return check


def choose_front(fronts: Mapping[str, Front], policy: HostPolicy, region: Region) -> Choice:
    """Make the function that finds the front of a call, and fills in what routing finds out on the way.

    The region is the one the host name tells. A loopback address tells none: then it is this installation's region,
    whatever region the client was configured with, so that clients of different services meet in one tenant.
    """

    def find(call: OperationRequest) -> Front:
        host = call.host
        call.scheme = scheme_of(call.http)
        route = choose(call, loopback=is_loopback(host), owner=policy.front_of(host))
        front = fronts.get(route.front)
        if front is None:
            raise NoSuchService(method=call.http.method, path=call.http.path)
        call.region = Region(route.host.region) if route.host.region else region
        call.host_account = AccountId(route.host.account) if route.host.account else None
        return front

    return find


def name_request(front: Front, call: OperationRequest) -> None:
    """Give the call its request id, in the form of its dialect."""
    call.request_id = front.new_request_id(call)
    begin(call.request_id)


def limit_body(front: Front, call: OperationRequest) -> None:
    """Refuse a body over the front's limit; the head alone did not always tell which front it is."""
    if len(call.http.body) > front.max_body:
        raise front.too_large(front.max_body)


def authenticate(authenticator: Authenticator, own_account: AccountId) -> Stage:
    """Make the stage that finds out who calls; unsigned requests pass only where the front allows it."""

    def stage(front: Front, call: OperationRequest) -> None:
        if front.allows_anonymous(call):
            account = call.host_account or own_account
            call.principal = Principal(account, "", f"acs:ram::{account}:anonymous")
            return
        try:
            call.principal = authenticator.authenticate(
                call.http, call.now, host_account=call.host_account, scheme=call.scheme
            )
        except AuthFailure as failure:
            raise front.auth_error(failure, call) from failure

    return stage


class Authorizer(Protocol):
    """Knows what callers may do."""

    def allows(self, principal: Principal, demand: Demand, facts: Facts) -> bool:
        """Whether a caller may do what *demand* says; *facts* is what conditions can be about."""
        ...


def authorize(authorizer: Authorizer) -> Stage:
    """Make the stage that refuses callers without the rights the request needs; it comes after authentication.

    Who needed no signature needs no right either, and the account itself has all of them.
    """

    def stage(front: Front, call: OperationRequest) -> None:
        principal = call.principal
        if principal is None or not principal.access_key_id or principal.arn.endswith(":root"):
            return
        if not isinstance(front, GuardedFront):
            raise Unguarded(service=front.name)
        facts = facts_of(call)
        for demand in front.demands(call):
            if not authorizer.allows(principal, demand, facts):
                raise front.denied(demand, call)

    return stage


def dispatch(front: Front, call: OperationRequest) -> Answer:
    """Let the front run the operation."""
    return front.handle(call)
