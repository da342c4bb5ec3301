"""The RPC dialect: the gateway's errors, and the front that every service spoken RPC has."""

import asyncio
import json
import sys
from urllib.parse import urlencode

import pytest

from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.kernel.errors import AuthFailure, Reason, ServiceError
from emulator.kernel.identity import AccountId, Principal, Region
from emulator.kernel.ids import CountingIds, RandomIds
from emulator.wire.operation import Actions, operation, operations_of
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import PopError, RpcFront, pop_auth_error


@pytest.mark.parametrize("reason", list(Reason), ids=lambda reason: reason.name)
def test_every_reason_has_a_code(reason):
    """No reason is left without a code, a client status and a text."""
    error = pop_auth_error(AuthFailure(reason, detail="x-acs-date", string_to_sign="s"))

    assert error.code != "InternalServerError"
    assert 400 <= error.http_status < 500
    assert error.message


@pytest.mark.parametrize(
    ("reason", "status", "code", "message"),
    [
        (Reason.UNKNOWN_KEY, 404, "InvalidAccessKeyId.NotFound", "Specified access key is not found."),
        (Reason.INACTIVE_KEY, 400, "InvalidAccessKeyId.Inactive", "Specified access key is disabled."),
        (Reason.SKEWED_DATE, 400, "InvalidTimeStamp.Expired", "Specified time stamp or date value is expired."),
        (Reason.NONCE_USED, 400, "SignatureNonceUsed", "Specified signature nonce was used already."),
        (Reason.MISSING_TOKEN, 400, "MissingSecurityToken", "SecurityToken is mandatory for this action."),
        (Reason.TOKEN_EXPIRED, 400, "InvalidSecurityToken.Expired", "Specified SecurityToken is expired."),
        (Reason.BAD_TOKEN, 400, "InvalidSecurityToken.Malformed", "Specified SecurityToken is malformed."),
        (Reason.MISSING_SIGNATURE, 400, "MissingSignature", "Signature is mandatory for this action."),
    ],
)
def test_documented_codes(reason, status, code, message):
    """Status, code and text are the gateway's own."""
    error = pop_auth_error(AuthFailure(reason))

    assert (error.http_status, error.code, error.message) == (status, code, message)


def test_wrong_signature_shows_the_servers_string_right_after_the_colon():
    """aliyun-python-sdk-core compares what follows the first colon with its own string."""
    error = pop_auth_error(AuthFailure(Reason.SIGNATURE_DIFFERS, string_to_sign="GET&%2F&A%3D1"))

    assert error.message.split(":")[1] == "GET&%2F&A%3D1"


def test_wrong_acs3_signature_shows_the_canonical_request_too():
    """The newer scheme's error carries both texts, braces and all."""
    error = pop_auth_error(AuthFailure(Reason.SIGNATURE_DIFFERS, string_to_sign="A\nb", canonical_request="GET\n{/}"))

    assert error.message.endswith("is:A\nb, server side canonicalrequest is:GET\n{/}")


def test_unsigned_header_is_named():
    """The caller learns which header it forgot to sign."""
    assert "x-acs-date" in pop_auth_error(AuthFailure(Reason.UNSIGNED_HEADER, detail="x-acs-date")).message


@operation("GetThing")
def get_thing(service, call):
    """Answer the parameters, now."""
    return {"Name": call.parameters.get("Name"), "List": {"Item": [1, True, None]}}


@operation("AwaitThing")
async def await_thing(service, call):
    """Answer later."""
    return {"Later": True}


@operation("ParkThing")
def park_thing(service, call):
    """Answer when somebody sets the future."""
    service.append(asyncio.get_running_loop().create_future())
    return service[-1]


class Bench:
    """A front over these three operations, and a list of parked calls as its service."""

    def __init__(self):
        self.parked = []
        self.front = RpcFront(
            "things", "2015-01-01", Actions(operations_of(sys.modules[__name__])), self.parked, CountingIds()
        )

    def call(self, action="GetThing", headers=(), **parameters):
        query = urlencode({"Action": action, **parameters}, errors="surrogateescape")
        call = OperationRequest(Request("POST", f"/?{query}", Headers(headers)), Millis(0))
        call.principal = Principal(AccountId("1"), "key", "arn")
        call.region, call.request_id = Region("r"), "id"
        return call

    def refusal(self, *arguments, **parameters):
        with pytest.raises(PopError) as caught:
            self.front.handle(self.call(*arguments, **parameters))
        return caught.value


def test_an_answer_is_json_with_the_request_id_first():
    """Parameters of the gateway are not the operation's."""
    bench = Bench()

    answer = bench.front.handle(bench.call(Name="n", Format="JSON", Version="2015-01-01"))

    assert answer.body == b'{"RequestId":"id","Name":"n","List":{"Item":[1,true,null]}}'


def test_xml_has_an_element_for_each_entry_of_a_list():
    """And the operation's name as its root; an absent value is an empty element."""
    bench = Bench()

    answer = bench.front.handle(bench.call(Name="a<b", Format="xml"))

    assert answer.headers == [("Content-Type", "text/xml;charset=utf-8")]
    assert answer.body.partition(b"?>")[2] == (
        b"<GetThingResponse><RequestId>id</RequestId><Name>a&lt;b</Name>"
        b"<List><Item>1</Item><Item>true</Item><Item></Item></List></GetThingResponse>"
    )


@pytest.mark.parametrize(
    ("headers", "parameters", "is_xml"),
    [
        ([], {}, False),
        ([], {"AccessKeyId": "k"}, True),
        ([], {"AccessKeyId": "k", "Format": "json"}, False),
        ([("Accept", "application/xml")], {}, True),
        ([("Accept", "application/json")], {"AccessKeyId": "k"}, False),
        ([("Authorization", "ACS3-HMAC-SHA256 x"), ("Accept", "application/xml")], {}, False),
    ],
)
def test_who_gets_xml(headers, parameters, is_xml):
    """It is the default of calls signed by a parameter; others name what they accept."""
    bench = Bench()

    answer = bench.front.handle(bench.call(headers=headers, **parameters))

    assert answer.body.startswith(b"<?xml") is is_xml


def test_a_call_that_was_named_for_faults_is_not_looked_up_again():
    """What the request names is read once."""
    bench = Bench()
    call = bench.call(Name="n")
    bench.front.subject(call)
    bench.front.operations = Actions(())

    assert json.loads(bench.front.handle(call).body)["Name"] == "n"


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"action": ""}, "MissingAction"),
        ({"action": "DropThing"}, "InvalidAction.NotFound"),
        ({"Version": "2016-01-01"}, "InvalidVersion"),
        ({"Name": "\udcff"}, "InvalidParameter"),
        ({"\udcff": "Name"}, "InvalidParameter"),
    ],
)
def test_calls_that_reach_no_operation(parameters, code):
    """Each with the code of the gateway; bytes that are no text cannot be looked up or kept."""
    assert Bench().refusal(**parameters).code == code


def test_an_error_has_the_members_that_clients_read():
    """Codes of the gateway have a recommendation too, which is empty."""
    front, call = Bench().front, Bench().call()

    own = json.loads(front.render_error(PopError("InvalidVersion"), call).body)
    other = json.loads(front.render_error(ServiceError(None, "text"), call).body)

    assert own.keys() == {"RequestId", "HostId", "Code", "Message", "Recommend"}
    assert other.keys() == {"RequestId", "HostId", "Code", "Message"}


def test_rights_names_and_refusals_that_a_service_may_replace():
    """A right on everything of the service; faults know a call by what its parameters name."""
    front, call = Bench().front, Bench().call(RoleName="a", Size="1", UserName="b")
    (right,) = front.demands(call)

    assert (right.action, right.resource) == ("things:GetThing", "acs:things:r:1:*")
    assert list(front.demands(Bench().call("DropThing"))) == []
    assert front.denied(right, call).message.endswith("Resource: acs:things:r:1:* Action: things:GetThing")
    assert front.subject(call).names == ("a", "b")
    assert front.too_large(5).message == "The request body exceeds the limit of 5 bytes."
    assert front.auth_error(AuthFailure(Reason.UNKNOWN_KEY), call).code == "InvalidAccessKeyId.NotFound"
    assert not front.allows_anonymous(call)


def test_ids_of_requests_are_uuids_in_capital_letters():
    """As the gateway of the cloud gives them."""
    front = RpcFront("things", "", Actions(()), None, RandomIds())

    assert front.new_request_id(Bench().call()).isupper()


async def test_an_operation_may_answer_later():
    """As a coroutine, or as a future without a task of its own."""
    bench = Bench()

    awaited = await bench.front.handle(bench.call("AwaitThing"))
    parked = bench.front.handle(bench.call("ParkThing"))
    bench.parked[0].set_result({"Parked": 1})

    assert json.loads(awaited.body) == {"RequestId": "id", "Later": True}
    assert json.loads((await parked).body) == {"RequestId": "id", "Parked": 1}


async def test_a_parked_call_ends_with_its_error():
    """The error is the one that the operation has set."""
    bench = Bench()
    parked = bench.front.handle(bench.call("ParkThing"))

    bench.parked[0].set_exception(PopError("Throttling"))

    with pytest.raises(PopError, match="Throttling"):
        await parked


async def test_a_parked_call_ends_when_either_side_gives_it_up():
    """The client that has gone is not waited for; a cancelled operation answers nobody."""
    bench = Bench()
    gone, dropped = (bench.front.handle(bench.call("ParkThing")) for _ in range(2))

    gone.cancel()
    bench.parked[1].cancel()
    await asyncio.sleep(0)

    assert bench.parked[0].cancelled()
    with pytest.raises(asyncio.CancelledError):
        await dropped


@pytest.mark.parametrize("late", [{"Late": 1}, PopError("Throttling")], ids=["answer", "error"])
async def test_what_comes_for_a_client_that_has_gone_is_dropped(late):
    """Answer and departure may fall into one tick."""
    bench = Bench()
    parked = bench.front.handle(bench.call("ParkThing"))

    if isinstance(late, dict):
        bench.parked[0].set_result(late)
    else:
        bench.parked[0].set_exception(late)
    parked.cancel()
    await asyncio.sleep(0)

    assert parked.cancelled()
