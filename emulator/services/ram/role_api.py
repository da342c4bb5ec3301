"""The operations on roles."""

from collections.abc import Mapping

from emulator.services.ram import limits, wire
from emulator.services.ram.roles import Roles
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Operation, Parameters, Reply


class RoleApi:
    """CreateRole and its neighbours."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self.operations: Mapping[str, Operation] = {
            "CreateRole": self._create,
            "GetRole": self._get,
            "UpdateRole": self._update,
            "ListRoles": self._list,
            "DeleteRole": self._delete,
        }

    def _create(self, context: OperationRequest, parameters: Parameters) -> Reply:
        name = wire.entity_name(parameters, "RoleName")
        trust = wire.required(parameters, "AssumeRolePolicyDocument")
        description = wire.text(parameters, "Description", limits.DESCRIPTION_LENGTH)
        session_s = wire.session_s(parameters, "MaxSessionDuration") or limits.MAX_SESSION_S.default
        account = context.tenant.account
        return {
            "Role": wire.render_role(
                account, self._roles.create(account, name, description, trust, session_s, context.now)
            )
        }

    def _get(self, context: OperationRequest, parameters: Parameters) -> Reply:
        account = context.tenant.account
        role = self._roles.get(account, wire.entity_name(parameters, "RoleName"))
        return {"Role": wire.render_role(account, role)}

    def _update(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """Change what is given; a description may be emptied, a trust policy may not."""
        account = context.tenant.account
        role = self._roles.update(
            account,
            wire.entity_name(parameters, "RoleName"),
            context.now,
            description=wire.text(parameters, "NewDescription", limits.DESCRIPTION_LENGTH)
            if "NewDescription" in parameters
            else None,
            trust=parameters.get("NewAssumeRolePolicyDocument") or None,
            max_session_s=wire.session_s(parameters, "NewMaxSessionDuration"),
        )
        return {"Role": wire.render_role(account, role)}

    def _list(self, context: OperationRequest, parameters: Parameters) -> Reply:
        account = context.tenant.account
        return wire.page(
            parameters,
            lambda after, limit: self._roles.page(account, after, limit),
            lambda role: wire.render_listed_role(account, role),
            ("Roles", "Role"),
        )

    def _delete(self, context: OperationRequest, parameters: Parameters) -> Reply:
        self._roles.delete(context.tenant.account, wire.entity_name(parameters, "RoleName"))
        return {}
