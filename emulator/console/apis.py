"""The services' own operations, called by pages as the owner of the account.

Pages create, change and delete resources through the providers of deployments, which call these. A call goes to the
service's front as a client's would, but without authentication, injected faults and the list of requests.
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from emulator.console.view import View
from emulator.deploy.provider import Reply
from emulator.gateway.errors import GatewayError
from emulator.http.message import Headers, Request, Response
from emulator.kernel.identity import Principal
from emulator.wire.request import OperationRequest, PreparingFront

_FRONTS = {"2019-03-15": "fnf", "2022-01-19": "mns-open", "2015-05-01": "ram"}
"""The front of each version of an RPC API."""


class OwnApis:
    """The `ApiClient` of the account's owner in the region of *view*. Raises: ServiceError, as the operations do."""

    def __init__(self, view: View) -> None:
        self._view = view

    def functions(self, method: str, path: str, content: Mapping[str, Any] | None = None) -> Reply:
        """Call an operation of Function Compute."""
        body = b"" if content is None else json.dumps(content).encode("ascii")
        answer = self._send("fc", method, path, body, {"Content-Type": "application/json"})
        return dict(json.loads(answer)) if answer else {}

    def rpc(self, version: str, action: str, parameters: Mapping[str, str]) -> Reply:
        """Call an operation of a service that speaks RPC."""
        form = urlencode({"Action": action, "Version": version, "Format": "JSON", **parameters}, errors="replace")
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return dict(json.loads(self._send(_FRONTS[version], "POST", "/", form.encode("ascii"), headers)))

    def objects(self, method: str, target: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
        """Call an operation of the object store."""
        return self._send("oss", method, target, body, headers or {})

    def invoke(self, path: str, payload: bytes, *, asynchronous: bool) -> tuple[bytes, str]:
        """Not supported: functions are called on their own page."""
        raise NotImplementedError

    def download(self, url: str) -> bytes:
        """Not supported: pages read no packages."""
        raise NotImplementedError

    def _send(self, front: str, method: str, target: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        answer = self._view.call(self._performed, front, method, target, body, headers)
        content = answer.body if isinstance(answer.body, bytes) else b""
        if answer.status >= 400:
            raise GatewayError("Conflict", reason=content.decode("utf-8", "replace"))
        return content

    async def _performed(
        self, name: str, method: str, target: str, body: bytes, headers: Mapping[str, str]
    ) -> Response:
        tenant, front = self._view.tenant, self._view.fronts[name]
        http = Request(method, target, Headers([("Host", "localhost"), *headers.items()]), body)
        call = OperationRequest(http, self._view.now())
        call.host, call.region = "localhost", tenant.region
        call.principal = Principal(tenant.account, "", f"acs:ram::{tenant.account}:root")
        call.request_id = front.new_request_id(call)
        if isinstance(front, PreparingFront) and body:
            front.prepare(call)
        answer = front.handle(call)
        return answer if isinstance(answer, Response) else await answer
