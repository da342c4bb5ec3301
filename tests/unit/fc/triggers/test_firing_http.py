"""Firing an HTTP trigger: a request that also asks for the log."""

from binascii import b2a_base64
from types import SimpleNamespace

from emulator.http.message import Response
from emulator.kernel.identity import Tenant
from emulator.services.fc.triggers.sources import Firing


async def test_log_of_an_http_trigger_comes_with_the_result():
    """In the header that the service has for it, and only if it is asked for."""
    asked = []

    class Http:
        async def serve(self, request, *_):
            asked.append(request.headers.get("x-fc-log-type"))
            return Response(200, b"hi", [("X-Fc-Log-Result", b2a_base64(b"seen", newline=False).decode())])

    firing = Firing(None, Http(), SimpleNamespace(now=lambda: 0), SimpleNamespace(uuid=lambda: "r"))
    trigger = SimpleNamespace(kind="http", config={"methods": ["GET"]}, service=None)

    fired = await firing.fire(Tenant("1", "cn-hangzhou"), trigger, payload=None, event=None)

    assert (fired.body, fired.log) == (b"hi", b"seen")
    assert asked == ["Tail"]
