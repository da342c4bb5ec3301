"""The operations on policies, their versions and attachments."""

from collections.abc import Mapping
from typing import Any

from emulator.kernel.identity import AccountId, stable_id
from emulator.services.ram import limits, wire
from emulator.services.ram.model import Attachment, Holder, HolderKind, PolicyInfo, PolicyType, role_arn
from emulator.services.ram.policies import Policies
from emulator.services.ram.roles import Roles
from emulator.services.ram.users import Users
from emulator.wire.dates import iso_seconds
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Operation, Parameters, Reply


class PolicyApi:
    """CreatePolicy, AttachPolicyToRole and their neighbours."""

    def __init__(self, policies: Policies, roles: Roles, users: Users) -> None:
        self._policies = policies
        self._roles = roles
        self._users = users
        self.operations: Mapping[str, Operation] = {
            "CreatePolicy": self._create,
            "GetPolicy": self._get,
            "ListPolicies": self._list,
            "UpdatePolicyDescription": self._describe,
            "DeletePolicy": self._delete,
            "CreatePolicyVersion": self._create_version,
            "GetPolicyVersion": self._get_version,
            "ListPolicyVersions": self._list_versions,
            "DeletePolicyVersion": self._delete_version,
            "SetDefaultPolicyVersion": self._set_default,
            "ListEntitiesForPolicy": self._entities,
            "AttachPolicyToUser": self._attach(HolderKind.USER),
            "AttachPolicyToGroup": self._attach(HolderKind.GROUP),
            "AttachPolicyToRole": self._attach(HolderKind.ROLE),
            "DetachPolicyFromUser": self._detach(HolderKind.USER),
            "DetachPolicyFromGroup": self._detach(HolderKind.GROUP),
            "DetachPolicyFromRole": self._detach(HolderKind.ROLE),
            "ListPoliciesForUser": self._list_attached(HolderKind.USER),
            "ListPoliciesForGroup": self._list_attached(HolderKind.GROUP),
            "ListPoliciesForRole": self._list_attached(HolderKind.ROLE),
        }

    # --- policies ------------------------------------------------------------------------------------------------

    def _create(self, context: OperationRequest, parameters: Parameters) -> Reply:
        name = wire.policy_name(parameters)
        document = wire.required(parameters, "PolicyDocument")
        description = wire.text(parameters, "Description", limits.DESCRIPTION_LENGTH)
        policy = self._policies.create(context.tenant.account, name, description, document, context.now)
        return {"Policy": wire.render_policy(policy, 0)}

    def _get(self, context: OperationRequest, parameters: Parameters) -> Reply:
        account = context.tenant.account
        policy = self._policies.get(account, wire.policy_type(parameters), wire.policy_name(parameters))
        version = wire.in_force(policy, self._policies.versions(account, policy.type, policy.name))
        return {
            "Policy": {**self._shown(account, policy), "PolicyDocument": version.document},
            "DefaultPolicyVersion": wire.render_version(policy, version),
        }

    def _list(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """List policies by type and name; the marker is the name of the last one and, so that it is unique, its type.

        A policy of the account never has the name of one of the system.
        """
        account = context.tenant.account
        kind = wire.policy_type(parameters) if parameters.get("PolicyType") else None
        everything = self._policies.all(account, kind)
        counts = self._policies.counts(account)

        def read(after: str, limit: int) -> list[PolicyInfo]:
            names = [policy.name for policy in everything]
            start = names.index(after) + 1 if after in names else 0
            return everything[start : start + limit]

        return wire.page(
            parameters,
            read,
            lambda policy: wire.render_policy(policy, counts.get((policy.type, policy.name), 0)),
            ("Policies", "Policy"),
        )

    def _describe(self, context: OperationRequest, parameters: Parameters) -> Reply:
        account = context.tenant.account
        description = wire.text(parameters, "NewDescription", limits.DESCRIPTION_LENGTH)
        policy = self._policies.describe(account, wire.policy_name(parameters), description, context.now)
        return {"Policy": self._shown(account, policy)}

    def _delete(self, context: OperationRequest, parameters: Parameters) -> Reply:
        with_versions = wire.flag(parameters, "CascadingDelete")
        self._policies.delete(context.tenant.account, wire.policy_name(parameters), with_versions=with_versions)
        return {}

    def _shown(self, account: AccountId, policy: PolicyInfo) -> dict[str, Any]:
        return wire.render_policy(policy, len(self._policies.holders(account, policy.type, policy.name)))

    # --- versions ------------------------------------------------------------------------------------------------

    def _create_version(self, context: OperationRequest, parameters: Parameters) -> Reply:
        account, name = context.tenant.account, wire.policy_name(parameters)
        version = self._policies.add_version(
            account,
            name,
            wire.required(parameters, "PolicyDocument"),
            context.now,
            as_default=wire.flag(parameters, "SetAsDefault"),
            rotation=parameters.get("RotateStrategy", ""),
        )
        policy = self._policies.get(account, PolicyType.CUSTOM, name)
        return {"PolicyVersion": wire.render_version(policy, version)}

    def _get_version(self, context: OperationRequest, parameters: Parameters) -> Reply:
        account, kind, name = context.tenant.account, wire.policy_type(parameters), wire.policy_name(parameters)
        version = self._policies.version(account, kind, name, wire.version_number(parameters))
        return {"PolicyVersion": wire.render_version(self._policies.get(account, kind, name), version)}

    def _list_versions(self, context: OperationRequest, parameters: Parameters) -> Reply:
        account, kind, name = context.tenant.account, wire.policy_type(parameters), wire.policy_name(parameters)
        policy = self._policies.get(account, kind, name)
        versions = self._policies.versions(account, kind, name)
        return {"PolicyVersions": {"PolicyVersion": [wire.render_version(policy, each) for each in versions]}}

    def _delete_version(self, context: OperationRequest, parameters: Parameters) -> Reply:
        name, number = wire.policy_name(parameters), wire.version_number(parameters)
        self._policies.delete_version(context.tenant.account, name, number)
        return {}

    def _set_default(self, context: OperationRequest, parameters: Parameters) -> Reply:
        name, number = wire.policy_name(parameters), wire.version_number(parameters)
        self._policies.set_default(context.tenant.account, name, number, context.now)
        return {}

    # --- attachments ---------------------------------------------------------------------------------------------

    def _attach(self, kind: HolderKind) -> Operation:
        def operation(context: OperationRequest, parameters: Parameters) -> Reply:
            policy_type, policy = wire.policy_type(parameters), wire.policy_name(parameters)
            self._policies.attach(_holder(context, kind, parameters), policy_type, policy, context.now)
            return {}

        return operation

    def _detach(self, kind: HolderKind) -> Operation:
        def operation(context: OperationRequest, parameters: Parameters) -> Reply:
            policy_type, policy = wire.policy_type(parameters), wire.policy_name(parameters)
            self._policies.detach(_holder(context, kind, parameters), policy_type, policy)
            return {}

        return operation

    def _list_attached(self, kind: HolderKind) -> Operation:
        def operation(context: OperationRequest, parameters: Parameters) -> Reply:
            shown = [
                {
                    "PolicyType": policy.type.value,
                    "PolicyName": policy.name,
                    "Description": policy.description,
                    "DefaultVersion": f"v{policy.default_version}",
                    "AttachDate": iso_seconds(attachment.attached_at),
                }
                for attachment, policy in self._policies.attached(_holder(context, kind, parameters))
            ]
            return {"Policies": {"Policy": shown}}

        return operation

    def _entities(self, context: OperationRequest, parameters: Parameters) -> Reply:
        account = context.tenant.account
        attachments = self._policies.holders(account, wire.policy_type(parameters), wire.policy_name(parameters))
        shown: dict[HolderKind, list[dict[str, Any]]] = {kind: [] for kind in HolderKind}
        for each in attachments:
            shown[each.kind].append(self._entity(account, each))
        return {
            "Users": {"User": shown[HolderKind.USER]},
            "Groups": {"Group": shown[HolderKind.GROUP]},
            "Roles": {"Role": shown[HolderKind.ROLE]},
        }

    def _entity(self, account: AccountId, attachment: Attachment) -> dict[str, Any]:
        name, since = attachment.holder, {"AttachDate": iso_seconds(attachment.attached_at)}
        match attachment.kind:
            case HolderKind.USER:
                user = self._users.get(account, name)
                user_id = stable_id("user", account, name)
                return {"UserName": name, "UserId": user_id, "DisplayName": user.display_name, **since}
            case HolderKind.GROUP:
                return {"GroupName": name, "Comments": self._users.group(account, name).comments, **since}
            case HolderKind.ROLE:
                description = self._roles.get(account, name).description
                role_id = stable_id("role", account, name)
                arn = role_arn(account, name)
                return {"RoleName": name, "RoleId": role_id, "Arn": arn, "Description": description, **since}


def _holder(context: OperationRequest, kind: HolderKind, parameters: Parameters) -> Holder:
    return Holder(account=context.tenant.account, kind=kind, name=wire.entity_name(parameters, f"{kind}Name"))
