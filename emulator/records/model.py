"""The kinds of records, one row each: names in the API, attributes with defaults, and made-up members.

Source: API reference of VPC (2016-04-28), ECS (2014-05-26) and Log Service (2020-12-30); which members clients read:
terraform-provider-alicloud. Defaults and made-up values are assumed unless the reference names them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import field, frozen


@frozen
class Record:
    """One resource. ``inside`` is the log project of a log store, else empty; ``content`` the chosen attributes."""

    kind: str
    name: str
    inside: str = ""
    content: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    created_at: Millis


@frozen
class Kind:
    """A kind of resource of VPC or ECS.

    ``identity`` is the member with its id, which begins with ``prefix``. ``attributes`` can be chosen; their values
    here are the defaults. ``parent`` is the member that names the containing resource, if *required* or given. ``one``
    and ``many`` are the operations that return one and all; ``listed`` are the members around a list. ``made_up``
    returns the other members, made from the id. ``missing`` and ``blocks`` are the error codes for a resource that does
    not exist, and for one that still contains others. ``changes`` are the last words of the names of operations that
    modify one.
    """

    name: str
    product: str
    identity: str
    prefix: str
    attributes: Mapping[str, str]
    one: str
    many: str
    listed: tuple[str, str]
    missing: str
    made_up: Callable[[str], Mapping[str, Any]]
    parent: str = ""
    required: tuple[str, ...] = ()
    blocks: str = ""
    changes: tuple[str, ...] = ("Attribute",)

    @property
    def title(self) -> str:
        """The member with the name chosen by its creator."""
        return f"{self.name}Name"


def _of_vpc(number: str) -> Mapping[str, Any]:
    rest = number.partition("-")[2]
    return {
        "Status": "Available", "IsDefault": False, "VRouterId": f"vrt-{rest}", "RouteTableId": f"vtb-{rest}",
        "ClassicLinkEnabled": False, "EnabledIpv6": False, "Ipv6CidrBlock": "", "DnsHostnameStatus": "DISABLED",
        "SecondaryCidrBlocks": {"SecondaryCidrBlock": []}, "UserCidrs": {"UserCidr": []},
        "Ipv6CidrBlocks": {"Ipv6CidrBlock": []}, "RouterTableIds": {"RouterTableIds": [f"vtb-{rest}"]},
    }  # fmt: skip


def _of_switch(number: str) -> Mapping[str, Any]:
    return {"Status": "Available", "IsDefault": False, "Ipv6CidrBlock": "", "AvailableIpAddressCount": 252}


def _of_group(number: str) -> Mapping[str, Any]:
    return {"Permissions": {"Permission": []}, "ServiceManaged": False}


VPC = Kind(
    name="Vpc", product="vpc", identity="VpcId", prefix="vpc-",
    attributes={"VpcName": "", "CidrBlock": "172.16.0.0/12", "Description": ""},
    one="DescribeVpcAttribute", many="DescribeVpcs", listed=("Vpcs", "Vpc"), missing="InvalidVpcId.NotFound",
    made_up=_of_vpc,
)  # fmt: skip
VSWITCH = Kind(
    name="VSwitch", product="vpc", identity="VSwitchId", prefix="vsw-",
    attributes={"VSwitchName": "", "CidrBlock": "", "ZoneId": "", "Description": ""},
    one="DescribeVSwitchAttributes", many="DescribeVSwitches", listed=("VSwitches", "VSwitch"),
    missing="InvalidVSwitchId.NotFound", made_up=_of_switch,
    parent="VpcId", required=("VpcId", "CidrBlock", "ZoneId"), blocks="DependencyViolation.VSwitch",
)  # fmt: skip
SECURITY_GROUP = Kind(
    name="SecurityGroup", product="ecs", identity="SecurityGroupId", prefix="sg-",
    attributes={
        "SecurityGroupName": "", "Description": "", "SecurityGroupType": "normal", "InnerAccessPolicy": "Accept",
    },
    one="DescribeSecurityGroupAttribute", many="DescribeSecurityGroups",
    listed=("SecurityGroups", "SecurityGroup"), missing="InvalidSecurityGroupId.NotFound", made_up=_of_group,
    parent="VpcId", blocks="DependencyViolation.SecurityGroup",
    changes=("Attribute", "Policy"),
)  # fmt: skip
NETWORKS = (VPC, VSWITCH, SECURITY_GROUP)

PROJECT: Mapping[str, Any] = {"description": "", "resourceGroupId": "", "dataRedundancyType": "LRS"}
"""The attributes of a log project, with defaults."""

LOGSTORE: Mapping[str, Any] = {
    "ttl": 30, "shardCount": 2, "autoSplit": False, "maxSplitShard": 0, "enable_tracking": False, "appendMeta": False,
    "telemetryType": "", "mode": "standard", "hot_ttl": 0,
}  # fmt: skip
"""The attributes of a log store, with defaults."""
