"""The ``context`` object that handlers and hooks get.

Source: Function Compute, Python runtime: context; the published Python runtime for ``to_json`` and camel-case names.
"""

from __future__ import annotations

import base64
import json
import logging
from types import SimpleNamespace
from typing import Any


class Credentials:
    """Temporary keys of the function's role, under both of the names in use."""

    def __init__(self, access_key_id: str, access_key_secret: str, security_token: str) -> None:
        self.access_key_id = self.accessKeyId = access_key_id
        self.access_key_secret = self.accessKeySecret = access_key_secret
        self.security_token = self.securityToken = security_token

    def to_dict(self) -> dict[str, Any]:
        """Return the keys under their wire names."""
        return {
            "accessKeyId": self.access_key_id,
            "accessKeySecret": self.access_key_secret,
            "securityToken": self.security_token,
        }


class FunctionMeta(SimpleNamespace):
    """``name``, ``handler``, ``memory`` (MB) and ``timeout`` (text); from 3.12 on ``version_id`` and ``qualifier``."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields under their wire names."""
        return {_WIRE_NAMES.get(name, name): value for name, value in vars(self).items()}


class ServiceMeta(FunctionMeta):
    """``name`` (2.0 only), ``log_project``, ``log_store``, ``qualifier``, ``version_id``."""


class Tracing:
    """The values of the caller's tracing headers."""

    def __init__(self, span_context: str, span_baggages: dict[str, Any], jaeger_endpoint: str) -> None:
        self.span_context = span_context
        self.jaeger_endpoint = jaeger_endpoint
        self.span_baggages = span_baggages

    def to_dict(self) -> dict[str, Any]:
        """Return the fields under their wire names."""
        return {
            "openTracingSpanContext": self.span_context,
            "openTracingSpanBaggages": self.span_baggages,
            "jaegerEndpoint": self.jaeger_endpoint,
        }


class FCContext:
    """Everything a handler may ask about its call."""

    def __init__(self, boot: dict[str, Any], call: dict[str, Any], logger: logging.Logger) -> None:
        modern = boot["modern_context"]
        function = {key: boot[key] for key in ("name", "handler", "memory")}
        function["timeout"] = str(boot["timeout"])
        self.request_id: str = call["rid"]
        self.requestId = self.request_id
        self.region: str = boot["region"]
        self.account_id: str = boot["account"]
        self.retry_count: int = call["retry"]
        self.logger = logger
        if modern:
            function["version_id"] = boot["version"]
            function["qualifier"] = call["qualifier"]
            self.log_project: str = boot["log_project"]
            self.log_store: str = boot["log_store"]
        else:
            self._add_service(boot, call)
        self.function = FunctionMeta(**function)

    def _add_service(self, boot: dict[str, Any], call: dict[str, Any]) -> None:
        service = {"name": boot["service"]} if boot["service"] is not None else {}
        self.service = ServiceMeta(
            **service,
            log_project=boot["log_project"],
            log_store=boot["log_store"],
            qualifier=call["qualifier"],
            version_id=boot["version"],
        )
        tracing = call["tracing"]
        keys = call["keys"] if boot["keys_in_calls"] else None
        self.credentials = Credentials(*(keys or ("", "", "")))
        self.tracing = Tracing(
            tracing.get("x-fc-tracing-opentracing-span-context", ""),
            {**_baggages(tracing.get("x-fc-tracing-opentracing-span-baggages", "")), **_items(tracing)},
            tracing.get("x-fc-tracing-jaeger-endpoint", ""),
        )

    def getLogger(self) -> logging.Logger:  # noqa: N802 - the platform's name
        """Return the logger whose lines carry this request's id."""
        return self.logger

    def to_json(self) -> str:
        """Return the context as JSON text."""
        parts: dict[str, Any] = {"requestId": self.request_id}
        for name in ("credentials", "function", "service"):
            if hasattr(self, name):
                parts[name] = getattr(self, name).to_dict()
        parts["region"] = self.region
        parts["accountId"] = self.account_id
        parts["retryCount"] = self.retry_count
        if hasattr(self, "tracing"):
            parts["tracing"] = self.tracing.to_dict()
        return json.dumps(parts)


_WIRE_NAMES = {"version_id": "versionId", "log_project": "logProject", "log_store": "logStore"}


_ITEM = "x-fc-tracing-opentracing-span-context-baggage-"


def _items(tracing: dict[str, str]) -> dict[str, str]:
    """Return the items of baggage that have a header each. Source: fc-nodejs-sdk and fc-java-sdk, their suites."""
    return {name[len(_ITEM) :]: value for name, value in tracing.items() if name.startswith(_ITEM)}


def _baggages(encoded: str) -> dict[str, Any]:
    if not encoded:
        return {}
    try:
        value = json.loads(base64.b64decode(encoded))
    except ValueError:  # a caller's malformed header is no reason to fail the function
        return {}
    return value if isinstance(value, dict) else {}


_FROM_3_12_ON = {
    "credentials": "the variables ALIBABA_CLOUD_ACCESS_KEY_ID, _SECRET and ALIBABA_CLOUD_SECURITY_TOKEN",
    "service": "context.log_project, context.log_store and, of context.function, version_id and qualifier",
    "tracing": "nothing",
}


def missing_from_context(error: BaseException) -> str:
    """Return a hint about an attribute that contexts had before Python 3.12; empty for any other error.

    Source: Function Compute, Python runtime: context.
    """
    if isinstance(error, AttributeError) and isinstance(error.obj, FCContext) and error.name in _FROM_3_12_ON:
        instead = _FROM_3_12_ON[error.name]
        return f"context.{error.name} is there in python3.10 and earlier runtimes; python3.12 has {instead} instead"
    return ""
