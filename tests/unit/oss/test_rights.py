"""Names that only say more about an operation do not change which right it needs."""

import pytest

from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.kernel.identity import AccountId, Principal, Region
from emulator.oss.front import demands
from emulator.wire.request import OperationRequest

FORM = (
    b'--x\r\nContent-Disposition: form-data; name="key"\r\n\r\nin/a\r\n'
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n1\r\n--x--'
)


def needed(method, target, body=b"", **headers):
    pairs = [("Host", "127.0.0.1"), *((name.replace("_", "-"), value) for name, value in headers.items())]
    context = OperationRequest(Request(method, target, Headers(pairs), body), Millis(0))
    context.region = Region("r")
    context.principal = Principal(AccountId("123"), "key", "acs:ram::123:user/u")
    return [(each.action, each.resource) for each in demands(context)]


@pytest.mark.parametrize(
    ("method", "target", "action", "name"),
    [
        ("GET", "/b?list-type=2&continuation-token=t", "ListObjects", "b"),
        ("GET", "/b?continuation-token=t&list-type=2", "ListObjects", "b"),
        ("GET", "/b/k?security-token=t&Signature=s", "GetObject", "b/k"),
        ("GET", "/b/k?response-content-type=text", "GetObject", "b/k"),
        ("DELETE", "/b/k?partNumber=1&uploadId=u", "AbortMultipartUpload", "b/k"),
        ("POST", "/b/k?append&position=3", "PutObject", "b/k"),
    ],
)
def test_parameters_change_nothing(method, target, action, name):
    """Wherever in the query they stand."""
    assert needed(method, target) == [(f"oss:{action}", f"acs:oss:oss-r:123:{name}")]


def test_a_form_needs_the_right_to_put_its_object():
    """The object is the one that the form names."""
    demand = needed("POST", "/b", FORM, Content_Type="multipart/form-data; boundary=x")

    assert demand == [("oss:PutObject", "acs:oss:oss-r:123:b/in/a")]
    assert needed("POST", "/b", b"", Content_Type="multipart/form-data; boundary=x")[0][0] == "oss:PutObject"
