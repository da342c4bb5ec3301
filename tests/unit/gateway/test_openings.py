"""Opening products, all of which are open here."""

import json
from urllib.parse import urlencode

import pytest

from emulator.gateway.entrance import choose
from emulator.gateway.openings import OpeningFront
from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.kernel.identity import AccountId, Principal, Region
from emulator.kernel.ids import CountingIds
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import PopError


def call(action, version, **parameters):
    """Return an RPC call of account 123 in cn-hangzhou."""
    query = urlencode({"Action": action, "Version": version, **parameters})
    request = OperationRequest(Request("POST", f"/?{query}", Headers()), Millis(0))
    request.principal = Principal(AccountId("123"), "key", "acs:ram::123:root")
    request.region, request.request_id = Region("cn-hangzhou"), "id"
    return request


ORDERS = [
    ("OpenFcService", "2020-03-10", {}),
    ("OpenOssService", "2019-04-22", {}),
    ("CreateInstance", "2017-12-14", {"ProductCode": "fnf", "SubscriptionType": "PayAsYouGo"}),
    ("CreateInstance", "2017-12-14", {"ProductCode": "mns", "SubscriptionType": "PayAsYouGo"}),
]


@pytest.mark.parametrize(("action", "version", "parameters"), ORDERS)
def test_a_product_that_is_here_has_been_opened_before(action, version, parameters):
    """Terraform's data sources of services take this code for done."""
    order = call(action, version, **parameters)

    front = choose(order, loopback=False).front
    with pytest.raises(PopError) as refused:
        OpeningFront(CountingIds()).handle(order)

    assert (front, refused.value.code, refused.value.http_status) == ("opening", "ORDER.OPEND", 400)


@pytest.mark.parametrize(
    ("action", "parameters", "code", "message"),
    [
        ("CreateInstance", {}, "MissingParameter", "ProductCode is mandatory for this action."),
        (
            "CreateInstance",
            {"ProductCode": "rds"},
            "InvalidAction.NotFound",
            "This emulator does not support orders of rds.",
        ),
        ("Refund", {}, "InvalidAction.NotFound", "The action 'Refund' is not served by this emulator."),
    ],
)
def test_anything_else_is_refused_by_name(action, parameters, code, message):
    """No order is taken that would have no effect."""
    with pytest.raises(PopError) as refused:
        OpeningFront(CountingIds()).handle(call(action, "2017-12-14", **parameters))

    assert (refused.value.code, refused.value.message) == (code, message)


@pytest.mark.parametrize(("wanted", "found"), [("mns", ["mns"]), ("", ["fc", "fnf", "mns", "oss"]), ("vipcloudfw", [])])
def test_what_is_open_can_be_listed(wanted, found):
    """The products that are here are instances in their normal state, others are not there."""
    asked = call("QueryAvailableInstances", "2017-12-14", **({"ProductCode": wanted} if wanted else {}))

    data = json.loads(OpeningFront(CountingIds()).handle(asked).body)["Data"]

    assert [each["ProductCode"] for each in data["InstanceList"]] == found
    assert {(each["Status"], each["OwnerId"]) for each in data["InstanceList"]} <= {("Normal", 123)}
    assert data["TotalCount"] == len(found)
