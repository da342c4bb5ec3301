"""Roles: temporary keys for functions, which roles can be assumed, and the rights of services acting as a role.

The guards of flows and functions are asked only where rights are enforced; a denial reads like the one the called
service would have answered.
"""

from emulator.auth.policy import Facts, facts_at
from emulator.kernel.clock import Clock
from emulator.kernel.identity import AccountId, Demand, Principal, Tenant
from emulator.services.fc.front import invocation_demand
from emulator.services.fc.model import FunctionName, MessageTarget
from emulator.services.fc.runtime.model import Credentials
from emulator.services.mns import front as message_rights
from emulator.services.mns.errors import MnsError
from emulator.services.mns.errors import access_denied as message_denied
from emulator.services.ram.service import Authorizer
from emulator.services.sts.service import DURATION_S, TemporaryCredentials, TemporaryKeys
from emulator.services.workflow import ports as flow_rights
from emulator.services.workflow.errors import WorkflowError
from emulator.services.workflow.ports import (
    FlowResource,
    FunctionResource,
    HttpResource,
    MapResource,
    ObjectResource,
    QueueResource,
    Refusal,
    TaskTarget,
    TopicResource,
)

DEFAULT_ROLE = "AliyunFcDefaultRole"
"""The role of functions that name none."""


class RoleKeys:
    """Gives functions the temporary keys of their role (the port `CredentialIssuer`)."""

    def __init__(self, temporary: TemporaryKeys, clock: Clock) -> None:
        self._temporary = temporary
        self._clock = clock

    def for_role(self, account: AccountId, role_arn: str, session: str) -> Credentials:
        """Return keys of *role_arn*; a function without a role acts as the default one."""
        role = role_arn.rpartition("/")[2] or DEFAULT_ROLE
        return credentials_of(self._temporary.for_role(account, role, session, self._clock.now()))


def credentials_of(keys: TemporaryCredentials) -> Credentials:
    """Return temporary keys in the form that functions get."""
    return Credentials(keys.access_key_id, keys.access_key_secret, keys.security_token)


class AssumableRoles:
    """Knows who may assume which role (the port `RoleDirectory` of the token service).

    Unless permissions are *enforced*, a role need not exist, and each trusts everyone of its own account. A *foreign*
    role, of another account than the caller's, always has to exist and to name the caller.
    """

    def __init__(self, authorizer: Authorizer, *, enforced: bool) -> None:
        self._authorizer = authorizer
        self._enforced = enforced

    def user_id(self, account: AccountId, name: str) -> str | None:
        """Return the id of a user; None when there is no such user."""
        return self._authorizer.user_id(account, name)

    def max_session_s(self, account: AccountId, role: str, *, foreign: bool) -> int | None:
        """Return how long a session of *role* may last, in seconds; None when there is no such role."""
        known = self._authorizer.max_session_s(account, role)
        return DURATION_S.high if known is None and not (self._enforced or foreign) else known

    def may_assume(self, account: AccountId, role: str, caller: Principal, facts: Facts, *, foreign: bool) -> bool:
        """Whether *role* trusts the caller."""
        if not (self._enforced or foreign):
            return True
        return self._authorizer.may_assume(account, role, caller, facts)


class RoleRights:
    """Checks whether a service has a right when it acts as a role."""

    def __init__(self, authorizer: Authorizer, clock: Clock) -> None:
        self._authorizer = authorizer
        self._clock = clock

    def lacking(self, tenant: Tenant, role_arn: str, service: str, demand: Demand) -> Demand | None:
        """Return the right that *service*, acting as *role_arn*, lacks for *demand*; None when it lacks none."""
        facts = facts_at(self._clock.now())
        return self._authorizer.service_lacks(tenant.account, role_arn, service, demand, facts)


class FlowRights:
    """Judges the calls of flows' tasks by the role of the flow (the port `TaskGuard` of the workflow service)."""

    def __init__(self, rights: RoleRights) -> None:
        self._rights = rights

    def refusal(self, tenant: Tenant, role_arn: str, target: TaskTarget) -> Refusal | None:
        """Return what the called service would answer when the role lacks the right."""
        if isinstance(target, HttpResource | MapResource):
            return None
        lacking = self._rights.lacking(tenant, role_arn, flow_rights.SERVICE, _demand(tenant, target))
        if lacking is None:
            return None
        if isinstance(target, QueueResource | TopicResource):
            denied: MnsError | WorkflowError = message_denied(lacking)
        else:
            denied = WorkflowError("AccessDenied", action=lacking.action, resource=lacking.resource)
        text = denied.message if role_arn else f"{denied.message} (the flow has no role)"
        return Refusal(denied.http_status, denied.code, text)


class FunctionRights:
    """Judges what is done as the role of a function or a trigger (the port `RoleGuard` of Function Compute)."""

    def __init__(self, rights: RoleRights) -> None:
        self._rights = rights

    def refusal(self, tenant: Tenant, role_arn: str, service: str, target: FunctionName | MessageTarget) -> str | None:
        """Return why *service* may not call or send to *target*; a function without a role has the default one."""
        if isinstance(target, FunctionName):
            demand = invocation_demand(tenant, target.service or None, target.function, target.qualifier)
        else:
            operation = "SendMessage" if target.kind == "queue" else "PublishMessage"
            demand = message_rights.demand(tenant, operation, target.name)
        role = role_arn or f"acs:ram::{tenant.account}:role/{DEFAULT_ROLE}"
        lacking = self._rights.lacking(tenant, role, service, demand)
        if lacking is None:
            return None
        return f"the role {role} has not the right {lacking.action} on {lacking.resource}"


def _demand(
    tenant: Tenant, target: FunctionResource | QueueResource | TopicResource | FlowResource | ObjectResource
) -> Demand:
    match target:
        case FunctionResource():
            return invocation_demand(tenant, target.service, target.function, target.qualifier)
        case QueueResource():
            return message_rights.demand(tenant, "SendMessage", target.queue)
        case TopicResource():
            return message_rights.demand(tenant, "PublishMessage", target.topic)
        case FlowResource():
            return flow_rights.about_flow(tenant, "StartExecution", target.flow)
        case ObjectResource():
            return Demand("oss:GetObject", f"acs:oss:{tenant.region}:{tenant.account}:{target.bucket}/{target.name}")
