"""Settings that the management API stores and returns: the account's, its public endpoint and access list, event rules.

They have no effect in the emulator, except for message trace, which the XML API can switch too. Events come from other
products, none of which sends any to the emulator.

Source: API reference of version 2022-01-19, one page per operation; alibabacloud_mns_open20220119.
"""

import ipaddress
from typing import Any

from emulator.kernel.frozen import replace
from emulator.kernel.identity import Tenant
from emulator.services.mns.errors import MnsError, TopicNotExist
from emulator.services.mns.management.codec import (
    Object,
    Parameters,
    page,
    read_json,
    read_number,
    read_page,
    read_switch,
    required,
    success,
)
from emulator.services.mns.service import MessageService
from emulator.services.mns.topics.model import QueueEndpoint, read_endpoint
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import InvalidParameter, MissingParameter, Reply

_ACCOUNT = "account"
_ENDPOINT = "endpoint/public"
_ACL = "acl/public/"
_RULE = "rule/"
_SUBSCRIPTIONS_SHOWN = 20
_MATCHERS = frozenset({"MatchState", "Name", "Prefix", "Suffix"})


@operation("GetAccountAttributes")
def get_account_attributes(service: MessageService, call: OperationRequest) -> Reply:
    """Return the settings for logging and message trace.

    Source: GetAccountAttributes (2022-01-19).
    """
    stored = _account(service, call)
    return success(
        {
            "LogEnabled": stored.get("LogEnabled", False),
            "LogStoreName": stored.get("LogStoreName", ""),
            "MessageTraceEnabled": service.queue_store.account(call.tenant).trace_enabled,
            "ProjectName": stored.get("ProjectName", ""),
        }
    )


@operation("SetAccountAttributes")
def set_account_attributes(service: MessageService, call: OperationRequest) -> Reply:
    """Change the settings that the parameters name; disabling the log clears its destination.

    Raises: InvalidParameter. Source: SetAccountAttributes; the cleared destination: terraform-provider-alicloud.
    """
    parameters = call.parameters
    log, trace = read_switch(parameters, "LogEnabled"), read_switch(parameters, "MessageTraceEnabled")
    stored = _account(service, call)
    if log is not None:
        stored["LogEnabled"] = log
    stored |= {name: parameters[name] for name in ("LogStoreName", "ProjectName") if name in parameters}
    if log is False:  # also where the request names them
        stored |= {"LogStoreName": "", "ProjectName": ""}
    service.topic_store.put_open_setting(call.tenant, _ACCOUNT, stored)
    if trace is not None:
        store = service.queue_store
        store.put_account(call.tenant, replace(store.account(call.tenant), trace_enabled=trace))
    return success()


@operation("EnableEndpoint")
def enable_endpoint(service: MessageService, call: OperationRequest) -> Reply:
    """Enable the public endpoint.

    Raises: MissingParameter, InvalidParameter. Source: EnableEndpoint (2022-01-19).
    """
    return _switch_endpoint(service, call, enabled=True)


@operation("DisableEndpoint")
def disable_endpoint(service: MessageService, call: OperationRequest) -> Reply:
    """Disable the public endpoint.

    Raises: MissingParameter, InvalidParameter. Source: DisableEndpoint (2022-01-19).
    """
    return _switch_endpoint(service, call, enabled=False)


def _switch_endpoint(service: MessageService, call: OperationRequest, *, enabled: bool) -> Reply:
    _check_endpoint_type(call.parameters)
    service.topic_store.put_open_setting(call.tenant, _ENDPOINT, {"Enabled": enabled})
    return success()


@operation("GetEndpointAttribute")
def get_endpoint_attribute(service: MessageService, call: OperationRequest) -> Reply:
    """Return whether the public endpoint is enabled, and its access list; it is enabled at first (assumed).

    Raises: MissingParameter, InvalidParameter. Source: GetEndpointAttribute (2022-01-19).
    """
    _check_endpoint_type(call.parameters)
    store = service.topic_store
    stored = store.open_setting(call.tenant, _ENDPOINT)
    enabled = stored.get("Enabled", True) if isinstance(stored, dict) else True
    return success({"EndpointEnabled": enabled, "CidrList": store.open_settings(call.tenant, _ACL)})


@operation("AuthorizeEndpointAcl")
def authorize_endpoint_acl(service: MessageService, call: OperationRequest) -> Reply:
    """Add networks to the access list.

    Raises: MissingParameter, InvalidParameter. Source: AuthorizeEndpointAcl.
    """
    store = service.topic_store
    for network, text in _networks(call.parameters).items():
        entry = {"AclStrategy": "allow", "Cidr": text, "CreateTime": call.now}
        if store.open_setting(call.tenant, _ACL + network) is None:
            store.put_open_setting(call.tenant, _ACL + network, entry)
    return success()


@operation("RevokeEndpointAcl")
def revoke_endpoint_acl(service: MessageService, call: OperationRequest) -> Reply:
    """Remove networks from the access list.

    Raises: MissingParameter, InvalidParameter. Source: RevokeEndpointAcl.
    """
    for network in _networks(call.parameters):
        service.topic_store.put_open_setting(call.tenant, _ACL + network, None)
    return success()


def _account(service: MessageService, call: OperationRequest) -> dict[str, Any]:
    stored = service.topic_store.open_setting(call.tenant, _ACCOUNT)
    return dict(stored) if isinstance(stored, dict) else {}


def _check_endpoint_type(parameters: Parameters) -> None:
    if required(parameters, "EndpointType") != "public":
        raise InvalidParameter(name="EndpointType")


def _networks(parameters: Parameters) -> dict[str, str]:
    """Read a change of the access list, a comma list of networks or addresses: each network as it was written.

    Answers show it as it was written, with bits beyond the mask too: terraform-provider-alicloud looks for that text.

    Raises: MissingParameter, InvalidParameter.
    """
    _check_endpoint_type(parameters)
    if required(parameters, "AclStrategy") != "allow":
        raise InvalidParameter(name="AclStrategy")
    texts = [text.strip() for text in required(parameters, "CidrList").split(",")]
    try:
        return {str(ipaddress.ip_network(text, strict=False)): text for text in texts}
    except ValueError:
        raise InvalidParameter(name="CidrList") from None


@operation("CreateEventRule")
def create_event_rule(service: MessageService, call: OperationRequest) -> Reply:
    """Store a rule and return its name; creating the same again changes nothing.

    Raises: MissingParameter, InvalidParameter, EventRuleAlreadyExist. Source: CreateEventRule (2022-01-19).
    """
    rule = _read_rule(call.parameters)
    name = _key(rule["ProductName"], rule["RuleName"])
    existing = service.topic_store.open_setting(call.tenant, name)
    if existing is not None and existing != rule:
        raise MnsError("EventRuleAlreadyExist")
    service.topic_store.put_open_setting(call.tenant, name, rule)
    return success(rule["RuleName"])


@operation("GetEventRule")
def get_event_rule(service: MessageService, call: OperationRequest) -> Reply:
    """Return a rule.

    Raises: MissingParameter, EventRuleNotExist. Source: GetEventRule (2022-01-19).
    """
    rule = service.topic_store.open_setting(call.tenant, _key_of(call.parameters))
    if not isinstance(rule, dict):
        raise MnsError("EventRuleNotExist")
    return success(_rule_object(service, call.tenant, rule))


@operation("DeleteEventRule")
def delete_event_rule(service: MessageService, call: OperationRequest) -> Reply:
    """Delete a rule; deleting a missing one succeeds (assumed).

    Raises: MissingParameter. Source: DeleteEventRule.
    """
    service.topic_store.put_open_setting(call.tenant, _key_of(call.parameters), None)
    return success()


@operation("ListEventRules")
def list_event_rules(service: MessageService, call: OperationRequest) -> Reply:
    """Return a page of the rules that match all filters.

    The older way of paging, MaxResults and NextToken, is answered with an empty NextToken.

    Raises: InvalidParameter. Source: ListEventRules (2022-01-19).
    """
    parameters = call.parameters
    number, size = read_page(parameters)
    most = read_number(parameters, "MaxResults")
    subscription = read_json(parameters, "Subscription", dict)
    rules = [
        _rule_object(service, call.tenant, rule)
        for rule in service.topic_store.open_settings(call.tenant, _RULE)
        if isinstance(rule, dict) and _fits(rule, parameters)
    ]
    if subscription:
        rules = [rule for rule in rules if subscription in [rule["Endpoint"], *rule["Subscriptions"]]]
    part = page(rules, number, size, dict)
    return success({**part, "NextToken": "", "MaxResults": size if most is None else most})


def _rule_object(service: MessageService, tenant: Tenant, rule: dict[str, Any]) -> Object:
    endpoint: Object = rule["Endpoint"]
    topic = endpoint["EndpointValue"] if endpoint["EndpointType"] == "topic" else ""
    return {
        "RuleName": rule["RuleName"],
        "DeliveryMode": rule["DeliveryMode"],
        "Endpoint": endpoint,
        "EventTypes": rule["EventTypes"],
        "MatchRules": rule["MatchRules"],
        "Subscriptions": rule["Endpoints"] or _subscribers(service, tenant, topic),
        "TopicName": topic,
    }


def _subscribers(service: MessageService, tenant: Tenant, topic: str) -> list[Object]:
    try:
        subscriptions = service.subscriptions.all(tenant, topic) if topic else []
    except TopicNotExist:
        return []
    return [_subscriber(each.settings.endpoint) for each in subscriptions[:_SUBSCRIPTIONS_SHOWN]]


def _subscriber(endpoint: str) -> Object:
    kind = "queue" if isinstance(read_endpoint(endpoint), QueueEndpoint) else "http"
    return {"EndpointType": kind, "EndpointValue": endpoint}


def _read_rule(parameters: Parameters) -> dict[str, Any]:
    """Read a rule.

    Raises: MissingParameter, InvalidParameter.
    """
    required(parameters, "EventTypes")
    required(parameters, "MatchRules")
    types = read_json(parameters, "EventTypes", list)
    if not types or not all(isinstance(item, str) and item for item in types):
        raise InvalidParameter(name="EventTypes")
    matches = read_json(parameters, "MatchRules", list)
    if not all(_is_match(alternative) for alternative in matches):
        raise InvalidParameter(name="MatchRules")
    endpoint = read_json(parameters, "Endpoint", dict)
    endpoints = read_json(parameters, "Endpoints", list) or []
    if endpoint is None and not endpoints:
        raise MissingParameter(name="Endpoint")
    if not all(_is_endpoint(item) for item in [*endpoints, *([endpoint] if endpoint is not None else [])]):
        raise InvalidParameter(name="Endpoints" if endpoint is None else "Endpoint")
    return {
        "ProductName": required(parameters, "ProductName"),
        "RuleName": required(parameters, "RuleName"),
        "DeliveryMode": parameters.get("DeliveryMode") or "BROADCAST",
        "EventTypes": types,
        "MatchRules": matches,
        "Endpoint": endpoint if endpoint is not None else endpoints[0],
        "Endpoints": endpoints,
    }


def _is_match(alternative: object) -> bool:
    return isinstance(alternative, list) and all(
        isinstance(item, dict) and item.keys() <= _MATCHERS for item in alternative
    )


def _is_endpoint(item: object) -> bool:
    return (
        isinstance(item, dict)
        and isinstance(item.get("EndpointType"), str)
        and isinstance(item.get("EndpointValue"), str)
        and bool(item["EndpointValue"])
    )


def _fits(rule: dict[str, Any], parameters: Parameters) -> bool:
    product, prefix = parameters.get("ProductName", ""), parameters.get("RuleName", "")
    topic, resource = parameters.get("TopicName", ""), parameters.get("ResourceName", "")
    endpoint = rule["Endpoint"]
    return (
        product in {"", rule["ProductName"]}
        and rule["RuleName"].startswith(prefix)
        and (not topic or (endpoint["EndpointType"], endpoint["EndpointValue"]) == ("topic", topic))
        and (not resource or any(_names(item, resource) for group in rule["MatchRules"] for item in group))
    )


def _names(matcher: dict[str, Any], resource: str) -> bool:
    """Whether a matcher names *resource*, or objects in it, whose names are ``bucket/object``."""
    texts = (str(matcher.get(name) or "") for name in ("Name", "Prefix"))
    return any(text.partition("/")[0] == resource for text in texts)


def _key(product: str, name: str) -> str:
    return f"{_RULE}{product}/{name}"


def _key_of(parameters: Parameters) -> str:
    return _key(required(parameters, "ProductName"), required(parameters, "RuleName"))
