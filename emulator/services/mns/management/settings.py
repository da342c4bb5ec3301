"""Account-wide settings of the management API: logging, message trace, the public endpoint and its access list.

They are kept and shown; nothing here depends on them. Message trace is the switch the XML API has too.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from emulator.kernel.identity import Tenant
from emulator.services.mns.errors import MnsError, TopicNotExist
from emulator.services.mns.management.codec import (
    Object,
    page,
    read_json,
    read_number,
    read_page,
    read_switch,
    required,
    success,
)
from emulator.services.mns.service import MessageService
from emulator.services.mns.topic_service import TopicService
from emulator.services.mns.topics.endpoints import QueueEndpoint, read_endpoint
from emulator.services.mns.topics.store import TopicStore
from emulator.wire.pop_errors import InvalidParameter, MissingParameter
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Operation, Parameters, Reply

_ACCOUNT = "account"
_ENDPOINT = "endpoint/public"
_ACL = "acl/public/"


class OpenAccount:
    """Operations on the account."""

    def __init__(self, service: MessageService, store: TopicStore) -> None:
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


_RULE = "rule/"
_SUBSCRIPTIONS_SHOWN = 20
_MATCHERS = frozenset({"MatchState", "Name", "Prefix", "Suffix"})


class OpenRules:
    """Operations on event rules."""

    def __init__(self, topics: TopicService) -> None:
        self._topics = topics
        self._store = topics.store
        self.operations: Mapping[str, Operation] = {
            "CreateEventRule": self._create,
            "GetEventRule": self._get,
            "DeleteEventRule": self._delete,
            "ListEventRules": self._list,
        }

    def _create(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """Store a rule; the answer is its name. Creating the same again changes nothing."""
        rule = _read_rule(parameters)
        name = _key(rule["ProductName"], rule["RuleName"])
        existing = self._store.open_setting(context.tenant, name)
        if existing is not None and existing != rule:
            raise MnsError("EventRuleAlreadyExist")
        self._store.put_open_setting(context.tenant, name, rule)
        return success(rule["RuleName"])

    def _get(self, context: OperationRequest, parameters: Parameters) -> Reply:
        rule = self._store.open_setting(context.tenant, _key_of(parameters))
        if not isinstance(rule, dict):
            raise MnsError("EventRuleNotExist")
        return success(self._object(context.tenant, rule))

    def _delete(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """Remove a rule; one that is not there is as good as removed. Source: assumed, as for queues."""
        self._store.put_open_setting(context.tenant, _key_of(parameters), None)
        return success()

    def _list(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """Return a page of rules; every filter that is given has to agree.

        The older way of paging, MaxResults and NextToken, is answered with an empty NextToken.
        """
        number, size = read_page(parameters)
        most = read_number(parameters, "MaxResults")
        subscription = read_json(parameters, "Subscription", dict)
        found = [
            self._object(context.tenant, rule)
            for rule in self._store.open_settings(context.tenant, _RULE)
            if isinstance(rule, dict) and _fits(rule, parameters)
        ]
        if subscription:
            found = [item for item in found if subscription in [item["Endpoint"], *item["Subscriptions"]]]
        part = page(found, number, size)
        return success({**part, "NextToken": "", "MaxResults": size if most is None else most})

    def _object(self, tenant: Tenant, rule: dict[str, Any]) -> Object:
        endpoint: Object = rule["Endpoint"]
        topic = endpoint["EndpointValue"] if endpoint["EndpointType"] == "topic" else ""
        return {
            "RuleName": rule["RuleName"],
            "DeliveryMode": rule["DeliveryMode"],
            "Endpoint": endpoint,
            "EventTypes": rule["EventTypes"],
            "MatchRules": rule["MatchRules"],
            "Subscriptions": rule["Endpoints"] or self._subscribers(tenant, topic),
            "TopicName": topic,
        }

    def _subscribers(self, tenant: Tenant, topic: str) -> list[Object]:
        try:
            found = self._topics.subscriptions.all(tenant, topic) if topic else []
        except TopicNotExist:
            return []
        return [_subscriber(item.settings.endpoint) for item in found[:_SUBSCRIPTIONS_SHOWN]]


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
    """Tell whether a matcher is about a resource: object names there are ``bucket/object``."""
    texts = (str(matcher.get(name) or "") for name in ("Name", "Prefix"))
    return any(text.partition("/")[0] == resource for text in texts)


def _key(product: str, name: str) -> str:
    return f"{_RULE}{product}/{name}"


def _key_of(parameters: Parameters) -> str:
    return _key(required(parameters, "ProductName"), required(parameters, "RuleName"))
