"""Account-wide settings of the management API: logging, message trace, the public endpoint and its access list.

They are kept and shown; nothing here depends on them. Message trace is the switch the XML API has too.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from emulator.services.mns.open_parameters import read_switch, required
from emulator.services.mns.open_replies import success
from emulator.services.mns.service import MessageService
from emulator.services.mns.topic_store import OpenSettingsStore
from emulator.wire.pop_errors import InvalidParameter
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Operation, Parameters, Reply

_ACCOUNT = "account"
_ENDPOINT = "endpoint/public"
_ACL = "acl/public/"


class OpenAccount:
    """Operations on the account."""

    def __init__(self, service: MessageService, store: OpenSettingsStore) -> None:
        self._service = service
        self._store = store
        self.operations: Mapping[str, Operation] = {
            "GetAccountAttributes": self._get,
            "SetAccountAttributes": self._set,
            "EnableEndpoint": self._enable,
            "DisableEndpoint": self._disable,
            "GetEndpointAttribute": self._get_endpoint,
            "AuthorizeEndpointAcl": self._authorize,
            "RevokeEndpointAcl": self._revoke,
        }

    def _get(self, context: OperationRequest, parameters: Parameters) -> Reply:
        del parameters
        stored = self._account(context)
        return success(
            {
                "LogEnabled": stored.get("LogEnabled", False),
                "LogStoreName": stored.get("LogStoreName", ""),
                "MessageTraceEnabled": self._service.account(context.tenant).trace_enabled,
                "ProjectName": stored.get("ProjectName", ""),
            }
        )

    def _set(self, context: OperationRequest, parameters: Parameters) -> Reply:
        log, trace = read_switch(parameters, "LogEnabled"), read_switch(parameters, "MessageTraceEnabled")
        stored = self._account(context)
        if log is not None:
            stored["LogEnabled"] = log
        stored |= {name: parameters[name] for name in ("LogStoreName", "ProjectName") if name in parameters}
        self._store.put_open_setting(context.tenant, _ACCOUNT, stored)
        if trace is not None:
            before = self._service.account(context.tenant)
            self._service.set_account(context.tenant, replace(before, trace_enabled=trace))
        return success()

    def _enable(self, context: OperationRequest, parameters: Parameters) -> Reply:
        _check_endpoint_type(parameters)
        self._store.put_open_setting(context.tenant, _ENDPOINT, {"Enabled": True})
        return success()

    def _disable(self, context: OperationRequest, parameters: Parameters) -> Reply:
        _check_endpoint_type(parameters)
        self._store.put_open_setting(context.tenant, _ENDPOINT, {"Enabled": False})
        return success()

    def _get_endpoint(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """Tell whether the public endpoint is enabled (it is until it is disabled: assumed) and who may use it."""
        _check_endpoint_type(parameters)
        stored = self._store.open_setting(context.tenant, _ENDPOINT)
        enabled = stored.get("Enabled", True) if isinstance(stored, dict) else True
        return success({"EndpointEnabled": enabled, "CidrList": self._store.open_settings(context.tenant, _ACL)})

    def _authorize(self, context: OperationRequest, parameters: Parameters) -> Reply:
        for network in _networks(parameters):
            entry = {"AclStrategy": "allow", "Cidr": network, "CreateTime": context.now}
            if self._store.open_setting(context.tenant, _ACL + network) is None:
                self._store.put_open_setting(context.tenant, _ACL + network, entry)
        return success()

    def _revoke(self, context: OperationRequest, parameters: Parameters) -> Reply:
        for network in _networks(parameters):
            self._store.put_open_setting(context.tenant, _ACL + network, None)
        return success()

    def _account(self, context: OperationRequest) -> dict[str, Any]:
        stored = self._store.open_setting(context.tenant, _ACCOUNT)
        return dict(stored) if isinstance(stored, dict) else {}


def _check_endpoint_type(parameters: Parameters) -> None:
    if required(parameters, "EndpointType") != "public":
        raise InvalidParameter(name="EndpointType")


def _networks(parameters: Parameters) -> list[str]:
    """Read a change of the access list: a comma list of networks or addresses.

    Raises: MissingParameter, InvalidParameter.
    """
    _check_endpoint_type(parameters)
    if required(parameters, "AclStrategy") != "allow":
        raise InvalidParameter(name="AclStrategy")
    texts = required(parameters, "CidrList").split(",")
    try:
        return [str(ipaddress.ip_network(text.strip(), strict=False)) for text in texts]
    except ValueError:
        raise InvalidParameter(name="CidrList") from None
