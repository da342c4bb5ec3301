"""The properties of flows, schedules, messages, buckets, roles and policies, in files and as the API takes them.

Source: Resource Orchestration Service, reference of the resource types ``ALIYUN::FNF``, ``MNS``, ``OSS`` and ``RAM``.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from emulator.deploy.build import (
    ATTACHMENT_TYPE,
    CUSTOM,
    POLICY_TYPE,
    ROLE_TYPE,
    SYSTEM,
    Build,
    attach,
    policy_properties,
)
from emulator.deploy.model import Resource, has_token
from emulator.deploy.notation import FORM, payload, uncapitalised
from emulator.deploy.places import LocatedValue
from emulator.services.mns.topics.model import SUBSCRIPTION
from emulator.services.ram.model import ROLE as ROLE_ROWS
from emulator.services.workflow import model
from emulator.wire.schema.kinds import (
    AS_WRITTEN,
    FLAG,
    JSON_TEXT,
    TEXTS,
    Also,
    Field,
    Flag,
    Items,
    Kind,
    Noted,
    Shape,
    member,
    needed,
    record,
)

_REQUEST_ID = member("requestId", Noted("it names a request; each here has its own"))


def fields_of(table: Shape, *, capital: bool = True) -> tuple[Field, ...]:
    """Return the fields for the attributes of a resource in files, from the service's table.

    Without *capital* an attribute's other names may also begin with a lowercase letter.
    """
    rows = []
    for each in table.of_form("file"):
        others = tuple(name for names in each.names.values() for name in names)
        name, also = uncapitalised(each.name), others if capital else (*others, *map(uncapitalised, others))
        rows.append(each._replace(name=name, kind=_kind(each.kind), names={FORM: (name, *also)}))
    return tuple(rows)


def _kind(kind: Kind) -> Kind:
    """Return the kind of an attribute; names of its members may also begin with a lowercase letter."""
    if not isinstance(kind, Shape):
        return kind
    return Shape("", (each._replace(names={FORM: (uncapitalised(each.name), each.name)}) for each in kind))


ATTRIBUTES = tuple(each._replace(required=False) for each in fields_of(model.FLOW))
"""The attributes of a flow in every kind of file, besides name and definition."""

FLOW = (member("name"), needed("definition", JSON_TEXT), *ATTRIBUTES, _REQUEST_ID)
RUNS = fields_of(model.SCHEDULE.with_kinds(Payload=Also(JSON_TEXT, payload)))
"""The attributes of a schedule in every kind of file."""

SCHEDULE = (needed("flowName"), needed("scheduleName"), *RUNS, _REQUEST_ID)


def flow_properties(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a flow for the API."""
    given = {each.name: values.get(uncapitalised(each.name)) for each in model.FLOW.of_form(FORM)}
    said = {"Description": given["Description"] or "", "Type": given["Type"] or "FDL"}
    return {"Definition": values.get("definition"), **given, **said}


def schedule_properties(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a schedule for the API."""
    return api_properties(model.SCHEDULE, values)


def api_properties(table: Shape, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes for the management API, with defaults for those that are not in the file."""
    properties = {}
    for each in table.of_form("file"):
        default = None if isinstance(each.kind, Flag) and each.kind.words else table.default_of(each)
        default = default.value if isinstance(default, Enum) else default
        properties[each.name_in("rpc")] = values.get(uncapitalised(each.name), default)
    return properties


def file_values(table: Shape, properties: Mapping[str, Any], *, capital: bool) -> dict[str, Any]:
    """Return the values in a file from which `api_properties` makes *properties*: its inverse."""
    values = {}
    for each in table.of_form("file"):
        value = properties.get(each.name_in("rpc"))
        if value in (None, ""):
            continue
        if isinstance(each.kind, Shape) and isinstance(value, Mapping):
            value = {(name if capital else uncapitalised(name)): item for name, item in value.items()}
        values[each.name if capital else uncapitalised(each.name)] = value
    return values


def message_properties(build: Build, table: Shape, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a queue, topic or subscription for the API; a bare name as endpoint is a queue here."""
    if table is SUBSCRIPTION:
        endpoint = str(values.get("endpoint") or "")
        if ":" not in endpoint and not has_token(endpoint):
            endpoint = f"acs:mns:{build.region}:{build.account}:queues/{endpoint}"
        values = {**values, "endpoint": endpoint}
    return api_properties(table, values)


_NO_BUCKET_SETTING = Noted("kept by no setting of buckets here; without effect")
BUCKET = (
    needed("bucketName"),
    member("accessControl"),
    member("storageClass"),
    member("deletionForce", FLAG),
    *(
        member(name, _NO_BUCKET_SETTING)
        for name in (
            "corsConfiguration", "lifecycleConfiguration", "loggingConfiguration", "refererConfiguration",
            "serverSideEncryptionConfiguration", "tags", "websiteConfiguration", "websiteConfigurationV2", "policy",
            "versioningConfiguration", "enableOssHdfsService", "resourceGroupId", "transferAcceleration", "worm",
            "replicationConfiguration", "redundancyType", "blockPublicAccess",
        )
    ),
)  # fmt: skip
_POLICY_DOCUMENT = (needed("policyName"), needed("policyDocument", AS_WRITTEN))
_KEPT_ANYWAY = (member("deletionForce", FLAG), member("ignoreExisting", FLAG))
ROLE = (
    needed("roleName"),
    *fields_of(ROLE_ROWS.with_kinds(AssumeRolePolicyDocument=AS_WRITTEN)),
    member("policies", Items(Shape("", _POLICY_DOCUMENT))),
    member("policyAttachments", record(system=TEXTS, custom=TEXTS)),
    *_KEPT_ANYWAY,
    member("tags", Noted("tags are set through the API")),
)
POLICY = (
    *_POLICY_DOCUMENT,
    member("description"),
    member("roles", TEXTS),
    member("users", Noted("there are no users to attach policies to")),
    member("groups", Noted("there are no groups to attach policies to")),
    *_KEPT_ANYWAY,
)


def bucket_properties(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a bucket that are kept, by their names in templates."""
    return {
        "AccessControl": values.get("accessControl") or "private",
        "StorageClass": values.get("storageClass") or "Standard",
        "DeletionForce": values.get("deletionForce", False),
    }


def add_policies_of_role(build: Build, part: LocatedValue, role: Resource, values: Mapping[str, Any]) -> None:
    """Add the policies defined in a role, and attach those it names; in a template these have types too."""
    policy_type, attachment_type = (POLICY_TYPE, ATTACHMENT_TYPE) if role.type == ROLE_TYPE else ("", "")
    for policy in values.get("policies") or []:
        own = str(policy.get("policyName"))
        logical, properties = f"{part.name}/{own}-policy", policy_properties(policy.get("policyDocument"))
        build.add(part, "ram.policy", (own,), properties, type_name=policy_type, logical=logical)
        attach(build, part, role.identity[0], CUSTOM, own, type_name=attachment_type)
    attached = values.get("policyAttachments") or {}
    for kind in (SYSTEM, CUSTOM):
        for own in attached.get(kind.lower()) or []:
            attach(build, part, role.identity[0], kind, own, type_name=attachment_type)


def add_roles_of_policy(build: Build, part: LocatedValue, policy: Resource, values: Mapping[str, Any]) -> None:
    """Attach a policy to the roles that it names."""
    for role in values.get("roles") or []:
        type_name = ATTACHMENT_TYPE if policy.type == POLICY_TYPE else ""
        attach(build, part, role, CUSTOM, policy.identity[0], type_name=type_name, logical=f"{part.name}/{role}")
