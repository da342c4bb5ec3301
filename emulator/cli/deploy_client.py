"""The client of deployments: errors as `Refused`, records kept in the emulator's own state."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from emulator.cli.client import Client
from emulator.cli.output import CallRefused
from emulator.deploy.model import Record, Refused, from_object, to_object
from emulator.deploy.provider import Reply
from emulator.wire.xml import MalformedXml, parse

PATH = "/_localyun/deployments"

_JSON = {"Content-Type": "application/json"}


class DeployClient:
    """Calls services through *client* (`emulator.deploy.provider.ApiClient`) and keeps records.

    Every call raises NoEmulator when none answers; those of services raise Refused, those of records CallRefused.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    def functions(self, method: str, path: str, content: Mapping[str, Any] | None = None) -> Reply:
        """Call an operation of Function Compute."""
        body = b"" if content is None else json.dumps(content).encode()
        with _refusals():
            reply = self._client.functions(method, path, body, _JSON if body else {}, None)
        return reply.json() if reply.body else {}

    def invoke(self, path: str, payload: bytes, *, asynchronous: bool) -> tuple[bytes, str]:
        """Call a function."""
        headers = {"x-fc-invocation-type": "Async" if asynchronous else "Sync"}
        with _refusals():
            reply = self._client.functions("POST", path, payload, headers, None)
        return reply.body, reply.headers.get("x-fc-error-type", "")

    def rpc(self, version: str, action: str, parameters: Mapping[str, str]) -> Reply:
        """Call an operation of a service that speaks RPC."""
        with _refusals():
            return self._client.rpc(version, action, parameters)

    def objects(self, method: str, target: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
        """Call an operation of the object store."""
        reply = self._client.objects(method, target, body, headers or {})
        if reply.status < 300:
            return reply.body
        try:
            error = parse(reply.body)
            code, message = error.text_of("Code") or "", error.text_of("Message") or ""
        except MalformedXml:
            code, message = "", reply.body.decode("utf-8", "replace")[:200]
        raise Refused(reply.status, code, message)

    def download(self, url: str) -> bytes:
        """Return the content of a URL of this emulator, whatever host name is in it."""
        place = urlsplit(url)
        with _refusals():
            return self._client.functions("GET", urlunsplit(("", "", *place[2:4], "")), b"", {}).body

    def record(self, name: str) -> Record | None:
        """Return the record of a deployment, None when there is none."""
        try:
            return from_object(self._client.functions("GET", _page(name), b"", {}).json())
        except CallRefused as error:
            if error.status != 404:
                raise
            return None

    def records(self) -> list[Record]:
        """Return the records of all deployments."""
        return [from_object(row) for row in self._client.functions("GET", PATH, b"", {}).json()["deployments"]]

    def keep(self, record: Record) -> None:
        """Store the record of a deployment."""
        self._client.functions("PUT", _page(record.name), json.dumps(to_object(record)).encode(), _JSON)

    def keep_or_forget(self, record: Record) -> None:
        """Store the record of a deployment that has resources; delete that of one without any."""
        if record.entries:
            self.keep(record)
        else:
            self.forget(record.name)

    def forget(self, name: str) -> None:
        """Delete the record of a deployment, if there is one."""
        try:
            self._client.functions("DELETE", _page(name), b"", {})
        except CallRefused as error:
            if error.status != 404:
                raise


def _page(name: str) -> str:
    return f"{PATH}/{quote(name, safe='')}"


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn what the emulator refuses in the context into an error of the planner. Raises: Refused."""
    try:
        yield
    except CallRefused as error:
        code = error.code
        raise Refused(error.status, code, str(error).removeprefix(f"{code}: ") if code else str(error)) from error
