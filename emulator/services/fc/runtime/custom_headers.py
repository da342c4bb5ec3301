"""What a custom runtime is asked over HTTP: method, target and header fields of each kind of call. Pure.

Source: Function Compute, custom runtimes: web functions, event functions, common request headers, lifecycle hooks.
"""

from typing import NamedTuple

from emulator.services.fc.runtime.instance import FunctionImage
from emulator.services.fc.runtime.launcher import Call, CallKind

STATUS_FIELD = "x-fc-status"
"""The answer's field that tells whether an event was handled; the HTTP status does not count."""

Fields = list[tuple[str, str]]


class _Kind(NamedTuple):
    method: str
    path: str
    number: str


_KINDS: dict[CallKind, _Kind] = {
    "invoke": _Kind("POST", "/invoke", "0"),
    "initialize": _Kind("POST", "/initialize", "1"),
    "pre_stop": _Kind("GET", "/pre-stop", "2"),
    "pre_freeze": _Kind("GET", "/pre-freeze", "3"),
}
_HTTP_PATH = "/http-invoke"


def request_line(call: Call) -> tuple[str, str]:
    """Return method and target of the request that makes *call*."""
    if call.http is not None:
        return call.http.method, call.http.request_uri
    kind = _KINDS[call.kind]
    return kind.method, kind.path


def request_fields(image: FunctionImage, call: Call, *, own: bool = True) -> Fields:
    """Return the header fields of that request: the caller's *own* for an HTTP request, and the platform's."""
    if call.http is not None:
        fields = list(call.http.headers) if own else []
        if call.http.base_path:
            fields.append(("x-fc-base-path", call.http.base_path.rstrip("/") + "/"))
        path = _HTTP_PATH
    else:
        fields = [("Content-Type", "application/octet-stream")] if call.kind in {"invoke", "initialize"} else []
        path = _KINDS[call.kind].path
    fields += [("x-fc-control-path", path), ("x-fc-function-type", _KINDS[call.kind].number)]
    return [*fields, *_about_call(call, keys=image.keys_in_calls), *_about_function(image)]


def succeeded(status: str) -> bool:
    """Tell whether an event was handled, by the answer's ``x-fc-status``; nothing said means yes."""
    return not status or (len(status) == 3 and status.startswith("2"))


def _about_call(call: Call, *, keys: bool) -> Fields:
    fields = [
        ("x-fc-request-id", call.request_id),
        ("x-fc-qualifier", call.qualifier),
        ("x-fc-retry-count", str(call.retry_count)),
        *call.tracing.items(),
    ]
    if call.keys is not None and keys:
        names = ("x-fc-access-key-id", "x-fc-access-key-secret", "x-fc-security-token")
        fields += zip(names, call.keys, strict=True)
    return fields


def _about_function(image: FunctionImage) -> Fields:
    fields = [
        ("x-fc-region", image.region),
        ("x-fc-account-id", image.account),
        ("x-fc-version-id", image.version),
        ("x-fc-function-name", image.function),
        ("x-fc-function-handler", image.handler),
        ("x-fc-function-memory", str(image.memory_mb)),
        ("x-fc-function-timeout", str(image.timeout_s)),
        ("x-fc-service-logproject", image.log_project),
        ("x-fc-service-logstore", image.log_store),
    ]
    if image.service is not None:
        fields.append(("x-fc-service-name", image.service))
    if image.initializer is not None:
        fields.append(("x-fc-function-initializer", image.initializer))
        fields.append(("x-fc-initialization-timeout", str(image.initializer_timeout_s)))
    if image.pre_stop is not None:
        fields.append(("x-fc-instance-lifecycle-pre-stop-handler", image.pre_stop))
    if image.pre_freeze is not None:
        fields.append(("x-fc-instance-lifecycle-pre-freeze-handler", image.pre_freeze))
    return fields
