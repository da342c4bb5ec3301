"""VPCs, VSwitches and security groups by RPC: Create, Describe, Modify and Delete of each row of `NETWORKS`.

Regions, zones and resource groups are answered as far as files look them up: the region of the call, three zones with
made-up letters, and one resource group for everything.

Source: API reference of VPC (2016-04-28), ECS (2014-05-26) and Resource Management (2020-03-31); terraform-provider-
alicloud. That only containing resources are checked is the emulator's own choice.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from emulator.kernel.digits import read_digits
from emulator.kernel.errors import ErrorRow
from emulator.kernel.frozen import replace
from emulator.kernel.identity import default_resource_group
from emulator.kernel.ids import Ids
from emulator.records.model import NETWORKS, VPC, Kind, Record
from emulator.records.store import RecordStore, Wanted
from emulator.wire.dates import iso_seconds
from emulator.wire.operation import Operation
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import InvalidParameter, MissingParameter, PopError, Reply

ERRORS: Mapping[str, ErrorRow] = {
    "InvalidVpcId.NotFound": ErrorRow(404, "The specified VPC {name} does not exist."),
    "InvalidVSwitchId.NotFound": ErrorRow(404, "The specified vSwitch {name} does not exist."),
    "InvalidSecurityGroupId.NotFound": ErrorRow(404, "The specified SecurityGroupId {name} does not exist."),
    "DependencyViolation.VSwitch": ErrorRow(400, "The VPC still has a vSwitch: {name}."),
    "DependencyViolation.SecurityGroup": ErrorRow(400, "The VPC still has a security group: {name}."),
}
_PAGE = 10
_MOST = 100
_ZONES = "abc"
_TAGGED = {"vpc": VPC, "vswitch": NETWORKS[1], "securitygroup": NETWORKS[2]}


class NetworkError(PopError):
    """An error of VPC or ECS. Source: the codes that terraform-provider-alicloud looks for."""

    table = ERRORS


class Networks:
    """The records as operations use them."""

    def __init__(self, store: RecordStore, ids: Ids) -> None:
        self.store = store
        self.ids = ids


def operations(product: str) -> Iterator[Operation]:
    """Yield the operations of ``vpc``, ``ecs`` or ``resourcemanager``."""
    for kind in NETWORKS:
        if kind.product == product:
            yield Operation(f"Create{kind.name}", _of(kind, create))
            yield Operation(kind.one, _of(kind, describe))
            yield Operation(kind.many, _of(kind, list_all))
            yield from (Operation(f"Modify{kind.name}{what}", _of(kind, modify)) for what in kind.changes)
            yield Operation(f"Delete{kind.name}", _of(kind, delete))
    for name, perform in _OTHERS[product].items():
        yield Operation(name, perform)


def _of(kind: Kind, perform: Callable[[Kind, Networks, OperationRequest], Reply]) -> Callable[..., Reply]:
    return partial(perform, kind)


def create(kind: Kind, networks: Networks, call: OperationRequest) -> Reply:
    """Keep a record and answer its id, inside of something that is there.

    Raises: MissingParameter, InvalidVpcId.NotFound.
    """
    parameters = call.parameters
    for name in kind.required:
        if not parameters.get(name):
            raise MissingParameter(name=name)
    content: dict[str, Any] = {name: parameters.get(name) or usual for name, usual in kind.attributes.items()}
    if kind.parent:
        parent = parameters.get(kind.parent, "")
        content[kind.parent] = parent
        if parent:
            _existing(networks, call, VPC, parent)
    number = kind.prefix + networks.ids.hex(20)
    networks.store.put(
        call.tenant,
        Record(kind=kind.name, name=number, content=content, tags=_tags(parameters), created_at=call.now),
    )
    made_up = kind.made_up(number)
    beside = {name: made_up[name] for name in ("VRouterId", "RouteTableId") if name in made_up}
    return {kind.identity: number, "ResourceGroupId": default_resource_group(call.tenant.account), **beside}


def describe(kind: Kind, networks: Networks, call: OperationRequest) -> Reply:
    """Answer one record. Raises: MissingParameter, Invalid*Id.NotFound."""
    return _shown(networks, call, kind, [_named(kind, networks, call)])[0]


def list_all(kind: Kind, networks: Networks, call: OperationRequest) -> Reply:
    """Answer a page of the records that the ids, the name, the VPC and the tags of the request fit.

    Raises: InvalidParameter.
    """
    part, counted = _page(networks, call, kind, _wanted(kind, call.parameters))
    outer, inner = kind.listed
    return {outer: {inner: _shown(networks, call, kind, part)}, **counted}


def _page(
    networks: Networks, call: OperationRequest, kind: Kind, wanted: Wanted
) -> tuple[list[Record], dict[str, int]]:
    """Return the page that the request asks for, and the numbers beside it."""
    number, size = _positive(call.parameters, "PageNumber", 1), _positive(call.parameters, "PageSize", _PAGE)
    size = min(size, _MOST)
    part, total = networks.store.page(call.tenant, kind.name, wanted, (number - 1) * size, size)
    return part, {"TotalCount": total, "PageNumber": number, "PageSize": size}


def modify(kind: Kind, networks: Networks, call: OperationRequest) -> Reply:
    """Change the attributes that the request names. Raises: MissingParameter, Invalid*Id.NotFound."""
    record = _named(kind, networks, call)
    change = {name: call.parameters[name] for name in kind.attributes if name in call.parameters}
    networks.store.put(call.tenant, replace(record, content={**record.content, **change}))
    return {}


def delete(kind: Kind, networks: Networks, call: OperationRequest) -> Reply:
    """Remove a record that nothing is inside of.

    Raises: MissingParameter, Invalid*Id.NotFound, DependencyViolation.*.
    """
    record = _named(kind, networks, call)
    for each in NETWORKS:
        if each.parent == kind.identity:
            left, _ = networks.store.page(call.tenant, each.name, Wanted(content={each.parent: record.name}), 0, 1)
            if left:
                raise NetworkError(each.blocks, name=left[0].name)
    networks.store.remove(call.tenant, record)
    return {}


def tag(networks: Networks, call: OperationRequest) -> Reply:
    """Set tags of records, in place of those with the same keys.

    Raises: MissingParameter, InvalidParameter, Invalid*Id.NotFound.
    """
    tags = _tags(call.parameters)
    if not tags:
        raise MissingParameter(name="Tag")
    for record in _tagged(networks, call):
        networks.store.put(call.tenant, replace(record, tags={**record.tags, **tags}))
    return {}


def untag(networks: Networks, call: OperationRequest) -> Reply:
    """Remove the tags with the keys that the request names, or all of them.

    Raises: MissingParameter, InvalidParameter, Invalid*Id.NotFound.
    """
    keys = _numbered(call.parameters, "TagKey")
    everything = call.parameters.get("All", "").lower() == "true"
    for record in _tagged(networks, call):
        kept = {key: value for key, value in record.tags.items() if not everything and key not in keys}
        networks.store.put(call.tenant, replace(record, tags=kept))
    return {}


def describe_route_tables(networks: Networks, call: OperationRequest) -> Reply:
    """Answer a page of the system's route tables: of each VPC, or of the one that the request names.

    Raises: InvalidParameter. Source: DescribeRouteTableList.
    """
    vpc = call.parameters.get("VpcId", "")
    part, counted = _page(networks, call, VPC, Wanted([vpc] if vpc else None))
    tables = [
        {
            "RouteTableId": VPC.made_up(each.name)["RouteTableId"], "RouteTableName": "", "RouteTableType": "System",
            "Description": "", "RouterId": VPC.made_up(each.name)["VRouterId"], "RouterType": "VRouter",
            "VpcId": each.name, "Status": "Available", "ResourceGroupId": default_resource_group(call.tenant.account),
            "RoutePropagationEnable": True, "CreationTime": iso_seconds(each.created_at),
        }
        for each in part
    ]  # fmt: skip
    return {"RouterTableList": {"RouterTableListType": tables}, **counted}


def describe_regions(networks: Networks, call: OperationRequest) -> Reply:
    """Answer the region of the call alone."""
    endpoint = f"ecs.{call.region}.aliyuncs.com"
    region = {"RegionId": call.region, "LocalName": call.region, "RegionEndpoint": endpoint, "Status": "available"}
    return {"Regions": {"Region": [region]}}


def describe_zones(networks: Networks, call: OperationRequest) -> Reply:
    """Answer three zones of the region."""
    creation = {"ResourceTypes": ["VSwitch", "Instance", "Disk"]}
    zones = [{"ZoneId": zone, "LocalName": zone, "AvailableResourceCreation": creation} for zone in _zones(call)]
    return {"Zones": {"Zone": zones}}


def describe_available(networks: Networks, call: OperationRequest) -> Reply:
    """Answer that the zones of the region are available."""
    rows = [
        {"RegionId": call.region, "ZoneId": zone, "Status": "Available", "StatusCategory": "WithStock"}
        for zone in _zones(call)
    ]
    return {"AvailableZones": {"AvailableZone": rows}}


def list_resource_groups(networks: Networks, call: OperationRequest) -> Reply:
    """Answer the one resource group that there is."""
    group = {
        "Id": default_resource_group(call.tenant.account), "Name": "default", "Status": "OK",
        "DisplayName": "default resource group",
        "AccountId": call.tenant.account, "CreateDate": iso_seconds(call.now),
    }  # fmt: skip
    groups = [group] if call.parameters.get("Name", "default") == "default" else []
    return {
        "ResourceGroups": {"ResourceGroup": groups}, "TotalCount": len(groups), "PageNumber": 1, "PageSize": _PAGE,
    }  # fmt: skip


_OTHERS: Mapping[str, Mapping[str, Callable[[Networks, OperationRequest], Reply]]] = {
    "vpc": {
        "DescribeRouteTableList": describe_route_tables, "DescribeRegions": describe_regions,
        "DescribeZones": describe_zones, "TagResources": tag, "UnTagResources": untag,
    },
    "ecs": {
        "DescribeRegions": describe_regions, "DescribeZones": describe_zones,
        "DescribeAvailableResource": describe_available, "TagResources": tag, "UntagResources": untag,
    },
    "resourcemanager": {"ListResourceGroups": list_resource_groups},
}  # fmt: skip


def _zones(call: OperationRequest) -> list[str]:
    return [f"{call.region}-{letter}" for letter in _ZONES]


def _named(kind: Kind, networks: Networks, call: OperationRequest) -> Record:
    name = call.parameters.get(kind.identity, "")
    if not name:
        raise MissingParameter(name=kind.identity)
    return _existing(networks, call, kind, name)


def _existing(networks: Networks, call: OperationRequest, kind: Kind, name: str) -> Record:
    record = networks.store.find(call.tenant, kind.name, name)
    if record is None:
        raise NetworkError(kind.missing, name=name)
    return record


def _shown(networks: Networks, call: OperationRequest, kind: Kind, records: list[Record]) -> list[dict[str, Any]]:
    switches: dict[str, list[str]] = {}
    if kind is VPC:
        switch, names = NETWORKS[1], [each.name for each in records]
        switches = networks.store.names_within(call.tenant, switch.name, switch.parent, names)
    return [
        {
            kind.identity: each.name,
            "RegionId": call.region,
            **each.content,
            **kind.made_up(each.name),
            **({"VSwitchIds": {"VSwitchId": switches.get(each.name, [])}} if kind is VPC else {}),
            "CreationTime": iso_seconds(each.created_at),
            "ResourceGroupId": default_resource_group(call.tenant.account),
            "Tags": {"Tag": [_tag(kind, key, value) for key, value in each.tags.items()]},
        }
        for each in records
    ]


def _tag(kind: Kind, key: str, value: str) -> dict[str, str]:
    prefix = "Tag" if kind.product == "ecs" else ""  # the products name these members differently
    return {f"{prefix}Key": key, f"{prefix}Value": value}


def _wanted(kind: Kind, parameters: Mapping[str, str]) -> Wanted:
    ids = parameters.get(kind.identity) or parameters.get(f"{kind.identity}s", "")  # one id, ids with commas, or JSON
    return Wanted(
        names=re.findall(r"[a-z]+-[0-9a-z]+", ids) if ids else None,
        content={name: value for name in (kind.title, kind.parent) if (value := parameters.get(name, ""))},
        tags=_tags(parameters),
    )


def _tagged(networks: Networks, call: OperationRequest) -> Iterable[Record]:
    kind = _TAGGED.get(call.parameters.get("ResourceType", "").lower())
    if kind is None:
        raise InvalidParameter(name="ResourceType")
    names = _numbered(call.parameters, "ResourceId")
    if not names:
        raise MissingParameter(name="ResourceId")
    return [_existing(networks, call, kind, name) for name in names]


def _numbered(parameters: Mapping[str, str], name: str, suffix: str = "") -> list[str]:
    values: list[str] = []
    while value := parameters.get(f"{name}.{len(values) + 1}{suffix}"):
        values.append(value)
    return values


def _tags(parameters: Mapping[str, str]) -> dict[str, str]:
    keys = _numbered(parameters, "Tag", ".Key")
    return {key: parameters.get(f"Tag.{number}.Value", "") for number, key in enumerate(keys, 1)}


def _positive(parameters: Mapping[str, str], name: str, usual: int) -> int:
    text = parameters.get(name, "")
    if not text:
        return usual
    number = read_digits(text, 9)
    if not number:
        raise InvalidParameter(name=name)
    return number
