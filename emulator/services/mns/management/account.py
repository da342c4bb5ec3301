"""Account-wide settings of the management API: logging, message trace, the public endpoint and its access list.

They are kept and shown; nothing here depends on them. Message trace is the switch the XML API has too.
"""

import ipaddress
from dataclasses import replace
from typing import Any

from emulator.services.mns.management.codec import Parameters, read_switch, required, success
from emulator.services.mns.service import MessageService
from emulator.wire.operation import operation
from emulator.wire.pop_errors import InvalidParameter
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Reply

_ACCOUNT = "account"
_ENDPOINT = "endpoint/public"
_ACL = "acl/public/"


@operation("GetAccountAttributes")
def get_account_attributes(service: MessageService, call: OperationRequest) -> Reply:
    """Answer the settings for logging and message trace. Source: GetAccountAttributes (2022-01-19)."""
    stored = _account(service, call)
    return success(
        {
            "LogEnabled": stored.get("LogEnabled", False),
            "LogStoreName": stored.get("LogStoreName", ""),
            "MessageTraceEnabled": service.account(call.tenant).trace_enabled,
            "ProjectName": stored.get("ProjectName", ""),
        }
    )


@operation("SetAccountAttributes")
def set_account_attributes(service: MessageService, call: OperationRequest) -> Reply:
    """Change the settings that the parameters name. Raises: InvalidParameter. Source: SetAccountAttributes."""
    parameters = call.parameters
    log, trace = read_switch(parameters, "LogEnabled"), read_switch(parameters, "MessageTraceEnabled")
    stored = _account(service, call)
    if log is not None:
        stored["LogEnabled"] = log
    stored |= {name: parameters[name] for name in ("LogStoreName", "ProjectName") if name in parameters}
    service.topic_store.put_open_setting(call.tenant, _ACCOUNT, stored)
    if trace is not None:
        service.set_account(call.tenant, replace(service.account(call.tenant), trace_enabled=trace))
    return success()


@operation("EnableEndpoint")
def enable_endpoint(service: MessageService, call: OperationRequest) -> Reply:
    """Enable the public endpoint. Raises: MissingParameter, InvalidParameter. Source: EnableEndpoint (2022-01-19)."""
    _check_endpoint_type(call.parameters)
    service.topic_store.put_open_setting(call.tenant, _ENDPOINT, {"Enabled": True})
    return success()


@operation("DisableEndpoint")
def disable_endpoint(service: MessageService, call: OperationRequest) -> Reply:
    """Disable the public endpoint. Raises: MissingParameter, InvalidParameter. Source: DisableEndpoint (2022-01-19)."""
    _check_endpoint_type(call.parameters)
    service.topic_store.put_open_setting(call.tenant, _ENDPOINT, {"Enabled": False})
    return success()


@operation("GetEndpointAttribute")
def get_endpoint_attribute(service: MessageService, call: OperationRequest) -> Reply:
    """Answer whether the public endpoint is enabled (it is until it is disabled: assumed) and who may use it.

    Raises: MissingParameter, InvalidParameter. Source: GetEndpointAttribute (2022-01-19).
    """
    _check_endpoint_type(call.parameters)
    store = service.topic_store
    stored = store.open_setting(call.tenant, _ENDPOINT)
    enabled = stored.get("Enabled", True) if isinstance(stored, dict) else True
    return success({"EndpointEnabled": enabled, "CidrList": store.open_settings(call.tenant, _ACL)})


@operation("AuthorizeEndpointAcl")
def authorize_endpoint_acl(service: MessageService, call: OperationRequest) -> Reply:
    """Add networks to the access list. Raises: MissingParameter, InvalidParameter. Source: AuthorizeEndpointAcl."""
    store = service.topic_store
    for network in _networks(call.parameters):
        entry = {"AclStrategy": "allow", "Cidr": network, "CreateTime": call.now}
        if store.open_setting(call.tenant, _ACL + network) is None:
            store.put_open_setting(call.tenant, _ACL + network, entry)
    return success()


@operation("RevokeEndpointAcl")
def revoke_endpoint_acl(service: MessageService, call: OperationRequest) -> Reply:
    """Remove networks from the access list. Raises: MissingParameter, InvalidParameter. Source: RevokeEndpointAcl."""
    for network in _networks(call.parameters):
        service.topic_store.put_open_setting(call.tenant, _ACL + network, None)
    return success()


def _account(service: MessageService, call: OperationRequest) -> dict[str, Any]:
    stored = service.topic_store.open_setting(call.tenant, _ACCOUNT)
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
