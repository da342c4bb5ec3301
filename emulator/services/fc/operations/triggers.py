"""Operations on triggers and custom domains.

A trigger's configuration is an object in 2016-08-15 and JSON text in the two later versions. What a domain may be is
checked here, what a trigger may be in ``triggers.py``.

Source: aliyun-fc2 client.py; alibabacloud_fc_open20210406; alibabacloud_fc20230330.
"""

import ipaddress
import json
import re
from collections.abc import Mapping
from typing import Any

from emulator.http.message import Response
from emulator.services.fc import codec, limits
from emulator.services.fc.catalog.domain_fields import DOMAIN
from emulator.services.fc.codec import EVERY_API, V2016, V2021, V2023, WITH_SERVICES
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.model import check_if_match, function_arn
from emulator.services.fc.service import FunctionCompute
from emulator.services.fc.triggers.http_access import read_rules
from emulator.services.fc.triggers.model import Domain, Trigger
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest


@operation("CreateTrigger", "POST /services/{service}/functions/{function}/triggers", api=WITH_SERVICES)
@operation("CreateTrigger", "POST /functions/{function}/triggers", api=V2023)
def create_trigger(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Create a trigger of a function.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument, TriggerAlreadyExists,
    LimitExceeded.
    Source: API reference, CreateTrigger; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    trigger = fc.sources.triggers.create(call.tenant, *_function(call), codec.json_body(call), call.now)
    return codec.tagged_answer(call, _render(fc, call, trigger), trigger.etag)


@operation("GetTrigger", "GET /services/{service}/functions/{function}/triggers/{trigger}", api=WITH_SERVICES)
@operation("GetTrigger", "GET /functions/{function}/triggers/{trigger}", api=V2023)
def get_trigger(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return a trigger.

    Raises: ServiceNotFound, FunctionNotFound, TriggerNotFound.
    Source: API reference, GetTrigger; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    trigger = fc.sources.triggers.get(call.tenant, *_function(call), call.path["trigger"])
    return codec.tagged_answer(call, _render(fc, call, trigger), trigger.etag)


@operation("UpdateTrigger", "PUT /services/{service}/functions/{function}/triggers/{trigger}", api=WITH_SERVICES)
@operation("UpdateTrigger", "PUT /functions/{function}/triggers/{trigger}", api=V2023)
def update_trigger(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Change a trigger; omitted members stay as they are.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, TriggerNotFound, PreconditionFailed,
    InvalidArgument, TriggerAlreadyExists.
    Source: API reference, UpdateTrigger; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    name = call.path["trigger"]
    trigger = fc.sources.triggers.update(
        call.tenant, *_function(call), name, codec.json_body(call), codec.if_match(call), call.now
    )
    return codec.tagged_answer(call, _render(fc, call, trigger), trigger.etag)


@operation("DeleteTrigger", "DELETE /services/{service}/functions/{function}/triggers/{trigger}", api=WITH_SERVICES)
@operation("DeleteTrigger", "DELETE /functions/{function}/triggers/{trigger}", api=V2023)
def delete_trigger(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Delete a trigger.

    Raises: ServiceNotFound, FunctionNotFound, TriggerNotFound, PreconditionFailed, InvalidArgument for one named in a
    file.
    Source: API reference, DeleteTrigger; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    fc.sources.triggers.delete(call.tenant, *_function(call), call.path["trigger"], codec.if_match(call))
    return codec.no_content()


@operation("ListTriggers", "GET /services/{service}/functions/{function}/triggers", api=WITH_SERVICES)
@operation("ListTriggers", "GET /functions/{function}/triggers", api=V2023)
def list_triggers(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the triggers of a function by name.

    Raises: ServiceNotFound, FunctionNotFound, InvalidArgument.
    Source: API reference, ListTriggers; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    (service, function), part = _function(call), codec.slice_of(call)
    fc.resolver.function(call.tenant, service, function)
    triggers = fc.sources.store.some(call.tenant, service, function, part)
    return codec.list_answer("triggers", triggers, part.limit, lambda trigger: _render(fc, call, trigger))


def _function(call: OperationRequest) -> tuple[str, str]:
    return codec.writable_service(call), call.path["function"]


def _render(fc: FunctionCompute, call: OperationRequest, trigger: Trigger) -> dict[str, Any]:
    """Write a trigger.

    A configuration is an object in 2016-08-15 and JSON text later. An HTTP trigger has no source, whatever was sent;
    the role is the text that was sent, empty without one. In 2023-03-30 ``httpTrigger`` is an object for every type.

    Source: fc-go-sdk client_test.go and fc-python-sdk test/trigger_test.py; that other types than HTTP have an empty
    ``httpTrigger`` is assumed from terraform-provider-alicloud, whose plan is never clean with null.
    """
    api, is_http = codec.api_of(call), trigger.kind == "http"
    url = fc.sources.url(trigger) if is_http else ""
    body: dict[str, Any] = {
        "triggerName": trigger.name,
        "description": trigger.description,
        "triggerId": trigger.id,
        "triggerType": trigger.kind,
        "sourceArn": None if is_http else trigger.source_arn or None,
        "invocationRole": trigger.role,
        "qualifier": trigger.qualifier,
        **codec.times_of(trigger),
    }
    if api == V2016:
        return body | {"triggerConfig": dict(trigger.config)} | ({"urlInternet": url} if is_http else {})
    body |= {
        "triggerConfig": json.dumps(trigger.config, ensure_ascii=False, separators=(",", ":")),
        "status": None if api == V2021 else "",
        "targetArn": function_arn(call.tenant, trigger.service, trigger.function),
    }
    urls = {"urlInternet": url, "urlIntranet": url} if is_http else {}
    if api != V2021:
        return body | {"httpTrigger": urls}
    return body | ({"domainName": fc.sources.host(call.tenant, trigger), **urls} if is_http else {})


def _render_domain(domain: Domain) -> dict[str, Any]:
    """Write a domain, with null for its private key.

    Source: fc-java-sdk FunctionComputeClientTest.
    """
    config, certificate = domain.config, domain.config.get("certConfig")
    if certificate:
        config = {**config, "certConfig": {**certificate, "privateKey": None}}
    if config.get("isE2B"):
        config = {**config, "subdomainCount": "0"}
    return {
        "domainName": domain.name,
        "accountId": domain.tenant.account,
        "apiVersion": domain.api,
        **config,
        **codec.times_of(domain),
    }


@operation("CreateCustomDomain", "POST /custom-domains", api=EVERY_API)
async def create_custom_domain(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Create a domain.

    Raises: InvalidArgument, DomainNameAlreadyExists.
    Source: API reference, CreateCustomDomain; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    body, api = codec.json_body(call), codec.api_of(call)
    name = _domain_name(body.get("domainName"))
    if fc.sources.domains.get(name) is not None:
        raise FcError("DomainNameAlreadyExists", domain=name)
    config = {"domainName": body["domainName"], "protocol": "HTTP", **_domain_config(body, api)}
    domain = Domain(
        name=name, tenant=call.tenant, id=fc.ids.uuid(), api=api, config=config, created_at=call.now,
        modified_at=call.now,
    )  # fmt: skip
    fc.sources.domains.put(domain)
    await fc.sources.domains.served(domain)
    return codec.tagged_answer(call, _render_domain(domain), domain.etag)


@operation("GetCustomDomain", "GET /custom-domains/{domain}", api=EVERY_API)
def get_custom_domain(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return a domain.

    Raises: DomainNameNotFound. Source: API reference, GetCustomDomain; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    domain = _domain(fc, call)
    return codec.tagged_answer(call, _render_domain(domain), domain.etag)


def _domain(fc: FunctionCompute, call: OperationRequest) -> Domain:
    name = call.path["domain"]
    domain = fc.sources.domains.get(name.lower())
    if domain is None or domain.tenant != call.tenant:
        raise FcError("DomainNameNotFound", domain=name)
    return domain


@operation("UpdateCustomDomain", "PUT /custom-domains/{domain}", api=EVERY_API)
async def update_custom_domain(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Change a domain; omitted members stay as they are, others are replaced as a whole.

    Raises: DomainNameNotFound, PreconditionFailed, InvalidArgument.
    Source: API reference, UpdateCustomDomain; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    body, api = codec.json_body(call), codec.api_of(call)
    old = _domain(fc, call)
    check_if_match(codec.if_match(call), old.etag)
    config = {**old.config, **_domain_config(body, api)}
    domain = old.updated(call.now, config=config, api=api)
    fc.sources.domains.put(domain)
    await fc.sources.domains.served(domain)
    return codec.tagged_answer(call, _render_domain(domain), domain.etag)


@operation("DeleteCustomDomain", "DELETE /custom-domains/{domain}", api=EVERY_API)
def delete_custom_domain(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Remove a domain.

    Raises: DomainNameNotFound, PreconditionFailed.
    Source: API reference, DeleteCustomDomain; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    domain = _domain(fc, call)
    check_if_match(codec.if_match(call), domain.etag)
    fc.sources.domains.delete(domain)
    return codec.no_content()


@operation("ListCustomDomains", "GET /custom-domains", api=EVERY_API)
def list_custom_domains(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List domains by name.

    Raises: InvalidArgument. Source: API reference, ListCustomDomains; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    part = codec.slice_of(call)
    return codec.list_answer("customDomains", fc.sources.domains.some(call.tenant, part), part.limit, _render_domain)


_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_OF_THE_CLOUD = (".aliyuncs.com", ".fcapp.run")


def _domain_name(value: object) -> str:
    """Check the name of a custom domain and return it in lower case.

    Addresses of this machine and names of the cloud are refused: they lead to the APIs.

    Raises: InvalidArgument.
    """
    if not isinstance(value, str) or not value:
        raise InvalidArgument("domainName is required")
    name = value.lower()
    labels = name.split(".")
    if (
        len(name) > limits.DOMAIN_NAME_LENGTH
        or len(labels) < 2
        or not all(re.fullmatch(_LABEL, label) for label in labels)
    ):
        raise InvalidArgument(f"domainName '{value[:200]}' is invalid: it must be a host name such as www.example.com")
    if _is_address(name) or name.endswith(_OF_THE_CLOUD):
        raise InvalidArgument(f"domainName '{value[:200]}' is reserved")
    return name


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name.rpartition(".")[2].isdigit()  # 127.1 is an address for some resolvers
    return True


def _domain_config(body: Mapping[str, Any], api: str) -> dict[str, Any]:
    """Check the members of a domain in a request of API version *api*.

    Raises: InvalidArgument.
    """
    config: dict[str, Any] = codec.BODY.reader(DOMAIN)(dict(body), "")
    auth = config.get("authConfig") or {}
    if auth.get("authType") == "jwt":
        read_rules(auth.get("authInfo"), "authConfig.authInfo")
    paths = set()
    for index, route in enumerate((config.get("routeConfig") or {}).get("routes") or ()):
        field = f"routeConfig.routes[{index}]"
        if "path" not in route or "functionName" not in route:
            raise InvalidArgument(f"{field} must have path and functionName")
        if api != V2023 and not route.get("serviceName"):
            raise InvalidArgument(f"{field} must have serviceName")
        key = (route["path"], *sorted(route.get("methods") or ()))
        if key in paths:
            raise InvalidArgument(f"{field} has the path of another route")
        paths.add(key)
    return config
