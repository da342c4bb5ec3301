"""Where products are called."""

import json
from urllib.parse import urlencode

import pytest

from emulator.gateway.hosts import facts
from emulator.gateway.other_products import LocationFront
from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.kernel.ids import CountingIds
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import PopError


def describe(**parameters):
    """Return the members of the answer, or raise what the front raises."""
    front = LocationFront(CountingIds())
    query = urlencode({"Action": "DescribeEndpoints", "Version": "2015-06-12", **parameters})
    context = OperationRequest(Request("POST", f"/?{query}", Headers()), Millis(0))
    context.request_id = "id"
    return json.loads(front.handle(context).body)


@pytest.mark.parametrize(
    ("product", "service"), [("fc", "fc"), ("fnf", "fnf"), ("mns", "mns-open"), ("oss", "oss"), ("STS", "sts")]
)
def test_a_product_is_found_at_a_host_that_leads_here(product, service):
    """The host named is one that the emulator reads the service and the region from."""
    reply = describe(ServiceCode=product, Id="cn-shanghai", Type="openAPI")

    (entry,) = reply["Endpoints"]["Endpoint"]
    told = facts(entry["Endpoint"])
    assert (told.service, told.region) == (service, "cn-shanghai")
    assert (entry["SerivceCode"], entry["Type"], entry["Id"]) == (product.lower(), "openAPI", "cn-shanghai")


def test_there_is_no_endpoint_of_another_type():
    """Only public hosts are told."""
    assert describe(ServiceCode="fnf", Id="cn-hangzhou", Type="innerAPI")["Endpoints"] == {"Endpoint": []}


@pytest.mark.parametrize(
    ("parameters", "code", "message"),
    [
        ({"ServiceCode": "fnf"}, "MissingParameter", "Id is mandatory for this action."),
        ({"Id": "cn-hangzhou"}, "MissingParameter", "ServiceCode is mandatory for this action."),
        ({"ServiceCode": "fnf", "Id": "nowhere"}, "InvalidRegionId", "The specified region does not exist."),
        ({"ServiceCode": "fnf", "Id": "a.b-c"}, "InvalidRegionId", "The specified region does not exist."),
        ({"ServiceCode": "ecs", "Id": "cn-hangzhou"}, "Illegal Parameter", "Please check the parameters"),
    ],
)
def test_the_sdk_recognises_what_does_not_exist(parameters, code, message):
    """The Python core SDK compares code and text to tell a wrong region from a wrong product."""
    with pytest.raises(PopError) as refused:
        describe(**parameters)

    assert (refused.value.code, refused.value.message) == (code, message)
