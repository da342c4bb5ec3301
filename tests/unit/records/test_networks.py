"""VPCs, VSwitches and security groups as records: kept, shown, listed, changed, deleted, refused."""

import json
from pathlib import Path
from urllib.parse import urlencode

import pytest

from emulator import records
from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import AccountId, Principal, Region
from emulator.kernel.ids import CountingIds
from emulator.records import store
from emulator.records.front import PRODUCTS, NetworkFront
from emulator.records.store import RecordStore
from emulator.storage.database import Database
from emulator.storage.migration import Schema, migrate
from emulator.wire.request import OperationRequest

ACCOUNT = AccountId("123")


class Cloud:
    """The products behind their fronts: ``cloud("CreateVpc", VpcName="a")`` returns the decoded answer."""

    def __init__(self, database, *, strict=False):
        self.store = RecordStore(database)
        ids = CountingIds()
        self.fronts = {name: NetworkFront(name, self.store, ids, strict=strict) for name in PRODUCTS}

    def __call__(self, action, product="vpc", **parameters):
        version = PRODUCTS[product][0]
        query = urlencode({"Action": action, "Version": version, "Format": "JSON", **parameters})
        call = OperationRequest(Request("POST", f"/?{query}", Headers([("Host", "h")])), Millis(1_700_000_000_000))
        call.region, call.principal, call.request_id = Region("cn-x"), Principal(ACCOUNT, "key", "arn"), "r"
        return json.loads(self.fronts[product].handle(call).body)

    def refusal(self, action, product="vpc", **parameters):
        with pytest.raises(ServiceError) as caught:
            self(action, product, **parameters)
        return caught.value.http_status, caught.value.code


@pytest.fixture
def database():
    opened = Database(None)
    migrate(opened, [Schema("records", Path(records.__file__).parent / "schema")])
    yield opened
    opened.close()


@pytest.fixture
def cloud(database):
    return Cloud(database)


def test_a_network_is_made_shown_and_deleted_from_the_inside_out(cloud):
    """What something is inside of goes last."""
    made = cloud("CreateVpc", VpcName="v", CidrBlock="10.0.0.0/8")
    vpc = made["VpcId"]
    switch = cloud("CreateVSwitch", VpcId=vpc, CidrBlock="10.1.0.0/16", ZoneId="cn-x-a", VSwitchName="s")["VSwitchId"]
    group = cloud("CreateSecurityGroup", "ecs", VpcId=vpc, SecurityGroupName="g")["SecurityGroupId"]

    shown = cloud("DescribeVpcAttribute", VpcId=vpc)
    assert (shown["VpcName"], shown["CidrBlock"], shown["Status"]) == ("v", "10.0.0.0/8", "Available")
    assert shown["VSwitchIds"] == {"VSwitchId": [switch]}
    assert (shown["VRouterId"], shown["RouteTableId"]) == (made["VRouterId"], made["RouteTableId"])
    assert cloud("DescribeVSwitchAttributes", VSwitchId=switch)["VpcId"] == vpc
    assert cloud("DescribeSecurityGroupAttribute", "ecs", SecurityGroupId=group)["InnerAccessPolicy"] == "Accept"
    (table,) = cloud("DescribeRouteTableList", VpcId=vpc)["RouterTableList"]["RouterTableListType"]
    assert (table["RouteTableId"], table["RouteTableType"]) == (made["RouteTableId"], "System")

    assert cloud.refusal("DeleteVpc", VpcId=vpc) == (400, "DependencyViolation.VSwitch")
    cloud("DeleteVSwitch", VSwitchId=switch)
    assert cloud.refusal("DeleteVpc", VpcId=vpc) == (400, "DependencyViolation.SecurityGroup")
    cloud("DeleteSecurityGroup", "ecs", SecurityGroupId=group)
    cloud("DeleteVpc", VpcId=vpc)
    assert cloud.refusal("DescribeVpcAttribute", VpcId=vpc) == (404, "InvalidVpcId.NotFound")
    assert cloud.store.count(ACCOUNT) == 0


def test_lists_have_pages_and_take_ids_names_networks_and_tags(cloud):
    """An id may stand alone, in a comma list or in JSON."""
    vpcs = [
        cloud("CreateVpc", VpcName=name, **{"Tag.1.Key": "team", "Tag.1.Value": name})["VpcId"] for name in ("a", "b")
    ]
    for number, vpc in enumerate(vpcs):
        cloud("CreateSecurityGroup", "ecs", VpcId=vpc, SecurityGroupName=f"g{number}")

    def names(**filters):
        return [each["VpcName"] for each in cloud("DescribeVpcs", **filters)["Vpcs"]["Vpc"]]

    def groups(**filters):
        answer = cloud("DescribeSecurityGroups", "ecs", **filters)
        return [each["SecurityGroupName"] for each in answer["SecurityGroups"]["SecurityGroup"]]

    assert sorted(names()) == ["a", "b"]
    assert names(VpcId=",".join(vpcs)) == names()
    assert names(VpcId=vpcs[1]) == names(VpcName="b") == names(**{"Tag.1.Key": "team", "Tag.1.Value": "b"}) == ["b"]
    assert len(names(**{"Tag.1.Key": "team"})) == 2
    assert names(VpcId="vpc-none") == names(VpcId="?") == []
    assert len(names(PageSize="1")) == len(names(PageSize="1", PageNumber="2")) == 1
    assert names(PageSize="1", PageNumber="3") == []
    assert cloud("DescribeVpcs", PageSize="1")["TotalCount"] == 2
    assert groups(VpcId=vpcs[0]) == ["g0"]
    ids = json.dumps([cloud("DescribeSecurityGroups", "ecs")["SecurityGroups"]["SecurityGroup"][1]["SecurityGroupId"]])
    assert groups(SecurityGroupIds=ids) == [groups()[1]]


def test_attributes_and_tags_change(cloud):
    """What the request does not name stays."""
    group = cloud("CreateSecurityGroup", "ecs", SecurityGroupName="g", Description="d")["SecurityGroupId"]
    tagged = {"ResourceType": "securitygroup", "ResourceId.1": group}

    cloud("ModifySecurityGroupAttribute", "ecs", SecurityGroupId=group, Description="e")
    cloud("ModifySecurityGroupPolicy", "ecs", SecurityGroupId=group, InnerAccessPolicy="Drop")
    cloud("TagResources", "ecs", **tagged, **{"Tag.1.Key": "k", "Tag.1.Value": "v", "Tag.2.Key": "l"})
    shown = cloud("DescribeSecurityGroupAttribute", "ecs", SecurityGroupId=group)
    cloud("UntagResources", "ecs", **tagged, **{"TagKey.1": "k"})
    left = cloud("DescribeSecurityGroupAttribute", "ecs", SecurityGroupId=group)["Tags"]["Tag"]
    cloud("UntagResources", "ecs", **tagged, All="true")

    assert (shown["SecurityGroupName"], shown["Description"], shown["InnerAccessPolicy"]) == ("g", "e", "Drop")
    assert shown["Tags"]["Tag"] == [{"TagKey": "k", "TagValue": "v"}, {"TagKey": "l", "TagValue": ""}]
    assert [each["TagKey"] for each in left] == ["l"]
    assert cloud("DescribeSecurityGroupAttribute", "ecs", SecurityGroupId=group)["Tags"]["Tag"] == []


def test_what_files_look_up_is_the_region_and_one_group(cloud):
    """The region is the one that the request names."""
    regions = cloud("DescribeRegions", "ecs", RegionId="cn-beijing")["Regions"]["Region"]
    zones = cloud("DescribeZones", "ecs")["Zones"]["Zone"]
    free = cloud("DescribeAvailableResource", "ecs")["AvailableZones"]["AvailableZone"]
    groups = cloud("ListResourceGroups", "resourcemanager")["ResourceGroups"]["ResourceGroup"]

    assert [each["RegionId"] for each in regions] == ["cn-beijing"]
    assert [each["ZoneId"] for each in zones] == [each["ZoneId"] for each in free] == ["cn-x-a", "cn-x-b", "cn-x-c"]
    assert [each["Name"] for each in groups] == ["default"]
    assert cloud("ListResourceGroups", "resourcemanager", Name="x")["TotalCount"] == 0


@pytest.mark.parametrize(
    ("action", "product", "parameters", "status", "code"),
    [
        ("CreateVSwitch", "vpc", {"CidrBlock": "10.0.0.0/8", "ZoneId": "z"}, 400, "MissingParameter"),
        ("CreateVSwitch", "vpc", {"VpcId": "v", "CidrBlock": "c", "ZoneId": "z"}, 404, "InvalidVpcId.NotFound"),
        ("DescribeVpcAttribute", "vpc", {}, 400, "MissingParameter"),
        ("DeleteVSwitch", "vpc", {"VSwitchId": "x"}, 404, "InvalidVSwitchId.NotFound"),
        ("DeleteSecurityGroup", "ecs", {"SecurityGroupId": "x"}, 404, "InvalidSecurityGroupId.NotFound"),
        ("DescribeVpcs", "vpc", {"PageNumber": "0"}, 400, "InvalidParameter"),
        ("DescribeVpcs", "vpc", {"PageSize": "all"}, 400, "InvalidParameter"),
        ("TagResources", "vpc", {"ResourceType": "VPC", "ResourceId.1": "x"}, 400, "MissingParameter"),
        ("TagResources", "vpc", {"ResourceType": "EIP", "Tag.1.Key": "k"}, 400, "InvalidParameter"),
        ("TagResources", "vpc", {"ResourceType": "VPC", "Tag.1.Key": "k"}, 400, "MissingParameter"),
        ("RunInstances", "ecs", {}, 404, "InvalidAction.NotFound"),
    ],
)
def test_refusals(cloud, action, product, parameters, status, code):
    """In the gateway's form, by code."""
    assert cloud.refusal(action, product, **parameters) == (status, code)


@pytest.mark.parametrize("product", PRODUCTS)
def test_strict_refuses_every_operation_by_name(database, product):
    """Nothing is kept."""
    cloud = Cloud(database, strict=True)

    with pytest.raises(ServiceError, match="--strict"):
        cloud("CreateVpc", product)
    assert cloud.store.count(ACCOUNT) == 0


def test_a_list_reads_as_many_records_as_its_page_has(cloud, monkeypatch):
    """Ids, names, tags and the VPC are conditions of the query; what is inside of a page is read at once."""
    vpcs = [cloud("CreateVpc", VpcName=f"n{number % 2}", CidrBlock="10.0.0.0/8")["VpcId"] for number in range(14)]
    for vpc in vpcs[:3] * 2:
        cloud("CreateVSwitch", VpcId=vpc, CidrBlock="10.0.0.0/24", ZoneId="cn-hangzhou-a")
    cloud(
        "TagResources", ResourceType="VPC", **{"ResourceId.1": vpcs[4], "Tag.1.Key": '\u56e2 "x"', "Tag.1.Value": "a"}
    )
    read = []
    record = store._record
    monkeypatch.setattr(store, "_record", lambda row: (read.append(row), record(row))[1])
    asked = []
    cloud.store._database._connection.set_trace_callback(asked.append)

    page = cloud("DescribeVpcs", PageNumber="2")
    first = cloud("DescribeVpcs", VpcName="n0", PageSize="3")
    tagged = cloud("DescribeVpcs", **{"Tag.1.Key": '\u56e2 "x"'})
    other = cloud("DescribeVpcs", **{"Tag.1.Key": '\u56e2 "x"', "Tag.1.Value": "b"})
    tables = cloud("DescribeRouteTableList", PageSize="5")
    switches = cloud("DescribeVSwitches", VpcId=vpcs[1])
    cloud.store._database._connection.set_trace_callback(None)

    assert (page["TotalCount"], len(page["Vpcs"]["Vpc"])) == (14, 4)
    assert first["TotalCount"] == 7
    shown = {each["VpcId"]: each["VSwitchIds"]["VSwitchId"] for each in first["Vpcs"]["Vpc"]}
    assert [len(shown[vpc]) for vpc in shown] == [2 * (vpc in vpcs[:3]) for vpc in shown]
    assert [each["VpcId"] for each in tagged["Vpcs"]["Vpc"]] == [vpcs[4]]
    assert other["Vpcs"]["Vpc"] == []
    assert (tables["TotalCount"], len(tables["RouterTableList"]["RouterTableListType"])) == (14, 5)
    assert switches["TotalCount"] == 2
    assert len(read) == 4 + 3 + 1 + 0 + 5 + 2
    assert len(asked) <= 6 * 3
