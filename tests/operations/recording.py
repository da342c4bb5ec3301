"""Every operation of the official Python SDKs, as the SDK itself would send it.

Nothing is written down by hand: the clients' methods and the models of their requests are found by introspection, every
field is filled, and what the client hands to its transport is kept. Path segments that are arguments are marked, so
that a caller can put something else there.
"""

import gc
import importlib
import inspect
import io
import re
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.operations import samples

MARK = re.compile(r"zz-([A-Za-z0-9_]+)-zz")
"""A segment of a path that is an argument: its name stands between the marks."""

_DEEPEST_MODEL = 5


class Operation(NamedTuple):
    """One call: ``dialect`` is ``fc``, ``fc2``, ``rpc`` or ``mns``; ``kind`` tells how the body is written."""

    sdk: str
    name: str
    dialect: str
    version: str
    method: str
    path: str
    query: dict[str, Any]
    headers: dict[str, str]
    body: Any
    kind: str

    def __str__(self) -> str:
        return f"{self.sdk}.{self.name}"


def every_operation() -> list[Operation]:
    """Return all operations of all clients."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the classic client leaves the package it reads open
        found = [
            *_newer("alibabacloud_fc20230330"),
            *_newer("alibabacloud_fc_open20210406"),
            *_newer("alibabacloud_fnf20190315"),
            *_newer("alibabacloud_mns_open20220119"),
            *_classic_functions(),
            *_classic_flows(),
            *_classic_messages(),
        ]
        gc.collect()
    return found


class _Sent(Exception):
    """Thrown by the stand-in transports, with what they were given."""


def _newer(package: str) -> Iterator[Operation]:
    client_module = importlib.import_module(f"{package}.client")
    models = importlib.import_module(f"{package}.models")
    from alibabacloud_tea_openapi.models import Config

    class Recorder(client_module.Client):
        def call_api(self, params: Any, request: Any, runtime: Any) -> Any:
            raise _Sent(params, request)

    client = Recorder(Config(access_key_id="k", access_key_secret="s", endpoint="127.0.0.1", region_id="cn-hangzhou"))
    for name in sorted(vars(client_module.Client)):
        if not name.endswith("_with_options"):
            continue
        method = getattr(client, name)
        arguments = [_argument(parameter, models) for parameter in inspect.signature(method).parameters.values()]
        try:
            method(*arguments)
        except _Sent as sent:
            yield _from_model(package, *sent.args)


def _from_model(package: str, params: Any, request: Any) -> Operation:
    body = getattr(request, "stream", None)
    kind = "bytes" if body is not None else {"json": "json", "formData": "form"}.get(params.req_body_type, "bytes")
    if body is None:
        body = request.body
    return Operation(
        sdk=package.removeprefix("alibabacloud_"),
        name=params.action,
        dialect="rpc" if params.style == "RPC" else "fc",
        version=params.version,
        method=params.method,
        path=params.pathname,
        query=dict(request.query or {}),
        headers={str(key): str(value) for key, value in (request.headers or {}).items() if value},
        body=body.read() if hasattr(body, "read") else body,
        kind=kind,
    )


def _argument(parameter: inspect.Parameter, models: Any) -> Any:
    text = _text_of(parameter.annotation)
    if parameter.name == "runtime":
        return importlib.import_module("alibabacloud_tea_util.models").RuntimeOptions()
    if parameter.name == "headers":
        kind = getattr(models, text.rpartition(".")[2], None)
        return kind() if kind is not None else {}
    if text == "str":
        return f"zz-{parameter.name}-zz"
    return _value(parameter.name, text, models, 0)


def _text_of(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    return annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")


def _value(name: str, text: str, models: Any, depth: int) -> Any:
    if inner := re.fullmatch(r"(?:List|list)\[(.*)\]", text):
        return [_value(name, inner[1], models, depth)]
    if inner := re.fullmatch(r"(?:Dict|dict)\[[^,]*, ?(.*)\]", text):
        return {"1": _value(name, inner[1], models, depth)}
    kind = getattr(models, text.rpartition(".")[2], None)
    if isinstance(kind, type):
        return _model(kind, models, depth + 1) if depth < _DEEPEST_MODEL else None
    plain = {"int": samples.number(name), "bool": True, "float": 0.5, "bytes": b"{}", "BinaryIO": io.BytesIO(b"{}")}
    if text in plain:
        return plain[text]
    return samples.text(name) if text == "str" else {"key": "value"}


def _model(kind: type, models: Any, depth: int) -> Any:
    fields = list(inspect.signature(kind.__init__).parameters.values())[1:]
    return kind(**{field.name: _value(field.name, _text_of(field.annotation), models, depth) for field in fields})


def _classic_functions() -> Iterator[Operation]:
    import fc2

    class Recorder(fc2.Client):
        def _do_request(self, method, path, headers, params=None, body=None):
            raise _Sent(method, path, headers, params, body)

    client = Recorder(endpoint="http://127.0.0.1", accessKeyID="k", accessKeySecret="s")
    with tempfile.NamedTemporaryFile(suffix=".zip") as package:
        package.write(samples.package())
        package.flush()
        yield from _classic_calls(client, package.name)


def _classic_calls(client: Any, package: str) -> Iterator[Operation]:
    for name, function in inspect.getmembers(client, inspect.ismethod):
        if name.startswith(("_", "do_http", "websocket", "instance_exec")):
            continue
        try:
            function(**_by_name(function, package))
        except _Sent as sent:
            method, path, headers, params, body = sent.args
            own = {key: value for key, value in headers.items() if key.lower() not in _COMMON}
            kind = "bytes" if name == "invoke_function" else "json"
            yield Operation(
                "fc2", name, "fc2", "2016-08-15", method, path, dict(params or {}), own, _decoded(body, kind), kind
            )


_COMMON = {"authorization", "date", "host", "content-length", "user-agent", "content-md5", "content-type"}


def _decoded(body: Any, kind: str) -> Any:
    import json

    return json.loads(body) if kind == "json" and isinstance(body, (str, bytes)) and body else body


def _by_name(function: Any, package: str) -> dict[str, Any]:
    """Return an argument for every parameter; names of things are marked where they can stand in a path."""
    given = {}
    for parameter in list(inspect.signature(function).parameters.values()):
        name = parameter.name
        if name in {"headers", "params"} or name.startswith("code"):
            continue
        given[name] = samples.CLASSIC[name] if name in samples.CLASSIC else samples.argument(name)
    if "codeZipFile" in inspect.signature(function).parameters:
        given["codeZipFile"] = package
    return given


def _classic_flows() -> Iterator[Operation]:
    import pkgutil

    package = importlib.import_module("aliyunsdkfnf.request.v20190315")
    for module in pkgutil.iter_modules(package.__path__):
        request = getattr(importlib.import_module(f"{package.__name__}.{module.name}"), module.name)()
        for setter in dir(request):
            # setters of parameters have a capital; those of the request itself have not
            if re.match(r"set_(?!Signature)[A-Z]", setter):
                getattr(request, setter)(samples.text(setter[4:]))
        yield Operation(
            "aliyunsdkfnf", request.get_action_name(), "rpc", "2019-03-15", request.get_method(), "/",
            dict(request.get_query_params()), {}, dict(request.get_body_params()), "form",
        )  # fmt: skip


def _classic_messages() -> Iterator[Operation]:
    from mns import mns_client, mns_request

    class Transport:
        def send_request(self, sent: Any) -> None:
            raise _Sent(sent.method, sent.uri, sent.header, sent.data)

        def is_keep_alive(self) -> bool:
            return False

    client = mns_client.MNSClient("http://1.mns.cn-hangzhou.aliyuncs.com", "k", "s")
    client.http = Transport()
    for name, function in inspect.getmembers(client, inspect.ismethod):
        camel = "".join(part.capitalize() for part in name.split("_"))
        kind = getattr(mns_request, f"{camel}Request", None)
        if kind is None:
            continue
        given = list(inspect.signature(kind.__init__).parameters)[1:]
        request = kind(**{each: samples.message_argument(each) for each in given})
        if camel == "BatchSendMessage":
            request.add_message("text", 0, 8)
        try:
            function(request, getattr(mns_request, f"{camel}Response")())
        except _Sent as sent:
            method, uri, headers, body = sent.args
            own = {key: value for key, value in headers.items() if key.lower().startswith("x-mns-")}
            path, _, query = uri.partition("?")
            pairs = dict(item.partition("=")[::2] for item in query.split("&") if item)
            data = body.encode() if isinstance(body, str) else body
            yield Operation("mns", camel, "mns", "2015-06-06", method, path, pairs, own, data or b"", "xml")
