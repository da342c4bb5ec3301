"""What ``Fn::GetAtt`` and ``Ref`` of a resource give: known beforehand, or a token where the emulator decides.

Source: the return values of the ROS resource types ``ALIYUN::FC::*``, ``ALIYUN::FC3::*``, ``ALIYUN::FNF::*``,
``ALIYUN::MNS::*`` and ``ALIYUN::RAM::*``.
"""

from collections.abc import Mapping
from typing import Any

from emulator.deploy.model import Resource, Tenant, token

DYNAMIC: Mapping[str, tuple[str, ...]] = {
    "fc.service": ("ServiceId",),
    "fc.function": ("FunctionId",),
    "fc.trigger": ("TriggerId", "UrlInternet", "UrlIntranet"),
    "fc.version": ("VersionId",),
    "fc.layer": ("Arn", "Version"),
    "fc.invocation": ("Result", "ResultType"),
    "fc3.function": ("FunctionId",),
    "fc3.trigger": ("TriggerId", "UrlInternet", "UrlIntranet"),
    "fc3.version": ("VersionId",),
    "fc3.layer": ("Arn", "Version"),
    "fc3.invocation": ("Result", "ResultType"),
    "fnf.flow": ("Id", "CreatedTime", "LastModifiedTime"),
    "fnf.schedule": ("ScheduleId",),
    "ram.role": ("RoleId",),
}
"""What the emulator decides; `emulator.deploy.kinds` tells it once the resource is there."""

_NAMES: Mapping[str, tuple[str, ...]] = {
    "fc.service": ("ServiceName",),
    "fc.function": ("ServiceName", "FunctionName"),
    "fc.trigger": ("ServiceName", "FunctionName", "TriggerName"),
    "fc.version": ("ServiceName",),
    "fc.alias": ("ServiceName", "AliasName"),
    "fc.provision": ("ServiceName", "Qualifier", "FunctionName"),
    "fc.async": ("ServiceName", "FunctionName", "Qualifier"),
    "fc.layer": ("LayerName",),
    "fc.domain": ("DomainName",),
    "fc.invocation": ("ServiceName", "FunctionName"),
    "fc3.function": ("FunctionName",),
    "fc3.trigger": ("FunctionName", "TriggerName"),
    "fc3.version": ("FunctionName",),
    "fc3.alias": ("FunctionName", "AliasName"),
    "fc3.provision": ("FunctionName", "Qualifier"),
    "fc3.scaling": ("FunctionName", "Qualifier"),
    "fc3.async": ("FunctionName", "Qualifier"),
    "fc3.concurrency": ("FunctionName",),
    "fc3.layer": ("LayerName",),
    "fc3.domain": ("DomainName",),
    "fc3.invocation": ("FunctionName",),
    "fnf.flow": ("Name",),
    "fnf.schedule": ("FlowName", "ScheduleName"),
    "mns.queue": ("QueueName",),
    "mns.topic": ("TopicName",),
    "mns.subscription": ("TopicName", "SubscriptionName"),
    "ram.role": ("RoleName",),
    "ram.policy": ("PolicyName",),
    "ram.attachment": ("PolicyType", "PolicyName", "RoleName"),
}
"""What the parts of an identity are called."""


def attributes_of(resource: Resource, tenant: Tenant) -> dict[str, Any]:
    """Return the attributes of a resource by name; ``""`` is what ``Ref`` gives."""
    identity, kind = resource.identity, resource.kind
    found: dict[str, Any] = dict(zip(_NAMES.get(kind, ()), identity, strict=False))
    found |= {name: token(resource.logical, name) for name in DYNAMIC.get(kind, ())}
    found[""] = found["VersionId"] if kind in {"fc.version", "fc3.version"} else identity[-1]
    return found | _arns(kind, identity, tenant)


def _arns(kind: str, identity: tuple[str, ...], tenant: Tenant) -> dict[str, Any]:
    place = f"{tenant.region}:{tenant.account}"
    match kind:
        case "fc.service":
            return {"ARN": f"acs:fc:{place}:services/{identity[0]}"}
        case "fc.function":
            arn = f"acs:fc:{place}:services/{identity[0]}/functions/{identity[1]}"
            return {"ARN": arn, "Arn": arn}
        case "fc3.function":
            arn = f"acs:fc:{place}:functions/{identity[0]}"
            return {"ARN": arn, "Arn": arn}
        case "mns.queue" | "mns.topic":
            plural = "queues" if kind == "mns.queue" else "topics"
            return {
                "ARN.WithSlash": f"acs:mns:{place}:/{plural}/{identity[0]}",
                "ARN.WithoutSlash": f"acs:mns:{place}:{plural}/{identity[0]}",
                f"{plural[:-1].title()}Url": f"{tenant.endpoint}/{plural}/{identity[0]}",
            }
        case "mns.subscription":
            return {"SubscriptionUrl": f"{tenant.endpoint}/topics/{identity[0]}/subscriptions/{identity[1]}"}
        case "ram.role":
            return {"Arn": f"acs:ram::{tenant.account}:role/{identity[0]}"}
        case _:
            return {}
