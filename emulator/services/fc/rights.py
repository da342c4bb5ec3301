"""The rights that calls need: an action, and the resource names policies use; and what roles may do.

The action is the operation's name but where the vendor's table has another; the resource follows the path. A list, and
the making of something whose name is not known yet, is about ``.../*``.

Source: Function Compute 2.0 and 3.0, "Policies and sample policies"; the denial quoted by Serverless Devs names
``services/*`` for CreateService.
"""

import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any, cast

from emulator.kernel.identity import Demand, Tenant, pass_role
from emulator.services.fc.catalog.resolving import Resolver
from emulator.services.fc.model import LATEST, FunctionName, FunctionRef, MessageTarget
from emulator.services.fc.ports import DestinationRefused, RoleGuard
from emulator.services.fc.triggers.model import Trigger
from emulator.services.fc.triggers.store import TriggerStore
from emulator.wire.operation import Operation
from emulator.wire.request import OperationRequest

SERVICE = "fc.aliyuncs.com"
"""How trust policies and ``acs:Service`` name Function Compute."""

_COLLECTIONS = frozenset(
    {
        "services", "functions", "triggers", "versions", "aliases", "layers", "custom-domains", "async-tasks",
        "stateful-async-invocations", "bindings", "vpc-bindings", "instances", "sessions", "snapshots",
    }
)  # fmt: skip
_ACTIONS = {
    "PutAsyncInvokeConfig": "PutFunctionAsyncInvokeConfig",
    "GetAsyncInvokeConfig": "GetFunctionAsyncInvokeConfig",
    "DeleteAsyncInvokeConfig": "DeleteFunctionAsyncInvokeConfig",
    "ListAsyncInvokeConfigs": "ListFunctionAsyncInvokeConfigs",
}
_NAMED_IN_BODY = {
    "CreateFunction": "functionName",
    "CreateTrigger": "triggerName",
    "CreateAlias": "aliasName",
    "CreateCustomDomain": "domainName",
}
_GIVING_ROLES = {
    "CreateService": "role",
    "UpdateService": "role",
    "CreateFunction": "role",
    "UpdateFunction": "role",
    "CreateTrigger": "invocationRole",
    "UpdateTrigger": "invocationRole",
}


def demands(operation: Operation, call: OperationRequest) -> Iterator[Demand]:
    """Yield what a call of *operation* needs; `OperationRequest.path` has the values of its path."""
    name = operation.name
    template = operation.route.partition(" ")[2].strip("/")
    body = _body(call) if name in _NAMED_IN_BODY or name in _GIVING_ROLES else {}
    own_name = body.get(_NAMED_IN_BODY.get(name, ""))
    path = _path(template, call.path, own_name if isinstance(own_name, str) and own_name else "*")
    qualifier = call.query.get("qualifier", "")
    if qualifier and "{" in template and path.rpartition("/")[0].endswith("functions"):
        path = _qualified(path, qualifier)
    tenant = call.tenant
    general = (_arn(tenant, path.rpartition("/")[0] + "/*"),) if own_name and name.startswith("Create") else ()
    yield Demand(f"fc:{_ACTIONS.get(name, name)}", _arn(tenant, path), general)
    role = body.get(_GIVING_ROLES.get(name, ""))
    if isinstance(role, str) and role:
        yield pass_role(tenant.account, role, SERVICE)


def invocation(tenant: Tenant, service: str | None, function: str, qualifier: str | None) -> Demand:
    """Return the right to call a function."""
    qualifier = "" if qualifier in {None, LATEST} else str(qualifier)
    path = f"services/{service}/functions/{function}" if service else f"functions/{function}"
    return Demand("fc:InvokeFunction", _arn(tenant, _qualified(path, qualifier)))


def _path(template: str, segments: Mapping[str, str], name: str) -> str:
    """Return the part of the path template that names a resource, its placeholders filled."""
    parts = template.split("/")
    named: list[str] = []
    for index, part in enumerate(parts):
        if part[0] == "{":
            continue
        if parts[index + 1 :] and parts[index + 1][0] == "{":
            named += [part, segments.get(parts[index + 1].strip("{}"), "*")]
        elif part in _COLLECTIONS or (index == 0 and part.endswith("-configs")):
            return "/".join([*named, part, name])
        else:
            break  # what follows is something of the resource, not one of its own
    return "/".join(named) or "*"


def _qualified(path: str, qualifier: str) -> str:
    """Return the path of a function with the qualifier where its generation has it."""
    if not qualifier or qualifier == LATEST:
        return path
    kind, service, *rest = path.split("/", 2)
    if kind == "functions":
        return f"{path}/{qualifier}"
    return path if "." in service else "/".join([kind, f"{service}.{qualifier}", *rest])


def _arn(tenant: Tenant, path: str) -> str:
    return f"acs:fc:{tenant.region}:{tenant.account}:{path}"


def _body(call: OperationRequest) -> dict[str, Any]:
    if call.document is not None:
        return cast("dict[str, Any]", call.document)
    try:
        body = json.loads(call.http.body or b"{}")
    except (ValueError, RecursionError):
        return {}  # the operation itself tells what is wrong with it
    return body if isinstance(body, dict) else {}


_log = logging.getLogger(__name__)

_CALLERS = {"mns_topic": "mns.aliyuncs.com", "oss": "oss.aliyuncs.com"}
"""By the type of a trigger, the service that calls its function and that the role has to trust."""


class RoleChecks:
    """Asks the *guard*; without one everything may be done."""

    def __init__(self, guard: RoleGuard | None, resolver: Resolver, triggers: TriggerStore) -> None:
        self._guard = guard
        self._resolver = resolver
        self._triggers = triggers

    def check_destination(self, lane: FunctionRef, target: FunctionName | MessageTarget) -> None:
        """Check that the role of the function whose call has ended may tell *target* of it.

        Raises: DestinationRefused; FcError when the function is gone.
        """
        if self._guard is None:
            return
        role = self._resolver.target(lane.tenant, lane.service, lane.function, lane.qualifier, 0.0).role
        reason = self._guard.refusal(lane.tenant, role, SERVICE, target)
        if reason is not None:
            raise DestinationRefused(reason)

    def may_fire(self, tenant: Tenant, trigger: Trigger) -> bool:
        """Whether the role that a trigger's source calls with, if any, may call the function.

        The log says why it may not.
        """
        caller = _CALLERS.get(trigger.kind)
        if self._guard is None or caller is None or not trigger.role:
            return True
        function = FunctionName(trigger.service, trigger.function, trigger.qualifier)
        reason = self._guard.refusal(tenant, trigger.role, caller, function)
        if reason is not None:
            _log.warning("trigger %s of %s may not fire: %s", trigger.name, trigger.function, reason)
        return reason is None

    def topics_may_call(self, tenant: Tenant, name: FunctionName) -> bool:
        """Whether topics may call a function: one of its topic triggers may fire, or it has none."""
        if self._guard is None:
            return True
        own = [
            trigger
            for owner, trigger in self._triggers.of_kind("mns_topic")
            if owner == tenant and (trigger.service, trigger.function) == (name.service, name.function)
        ]
        return not own or any(self.may_fire(tenant, trigger) for trigger in own)
