"""VPC bindings of services and functions, and event sources, over the wire.

Source: API reference and models of the three versions; that binding twice is no error is assumed.
"""

from emulator.http.message import Response
from emulator.services.fc.catalog.attachments import EventSource
from emulator.services.fc.codec import (
    V2021,
    V2023,
    WITH_SERVICES,
    function_of,
    json_answer,
    json_body,
    no_content,
    qualifier_of,
    writable_service,
)
from emulator.services.fc.service import FunctionCompute
from emulator.wire.dates import iso_seconds
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest


def _owner(call: OperationRequest) -> tuple[str, str]:
    """Return service and function; bindings belong to services in 2.0 and to functions in 3.0."""
    service = writable_service(call)
    return (service, "") if service else ("", call.path["function"])


@operation("CreateVpcBinding", "POST /services/{service}/bindings", api=WITH_SERVICES)
@operation("CreateVpcBinding", "POST /services/{service}/binding", api=WITH_SERVICES)
@operation("CreateVpcBinding", "POST /functions/{function}/vpc-bindings", api=V2023)
def create_vpc_binding(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Bind a VPC."""
    vpc = json_body(call).get("vpcId")
    fc.attachments.bind(call.tenant, *_owner(call), vpc, call.now)
    return json_answer({})


@operation("ListVpcBindings", "GET /services/{service}/bindings", api=WITH_SERVICES)
@operation("ListVpcBindings", "GET /functions/{function}/vpc-bindings", api=V2023)
def list_vpc_bindings(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the VPCs that are bound."""
    return json_answer({"vpcIds": fc.attachments.bound(call.tenant, *_owner(call))})


@operation("DeleteVpcBinding", "DELETE /services/{service}/bindings/{vpc}", api=WITH_SERVICES)
@operation("DeleteVpcBinding", "DELETE /functions/{function}/vpc-bindings/{vpc}", api=V2023)
def delete_vpc_binding(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Remove a binding."""
    fc.attachments.unbind(call.tenant, *_owner(call), call.path["vpc"])
    return no_content()


def _render(source: EventSource) -> dict[str, str]:
    return {"sourceArn": source.arn, "createdTime": iso_seconds(source.created_at)}


@operation("RegisterEventSource", "POST /services/{service}/functions/{function}/event-sources", api=V2021)
def register_event_source(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Register an event source."""
    arn = json_body(call).get("sourceArn")
    attachments = fc.attachments
    return json_answer(
        _render(attachments.register(call.tenant, *function_of(call), qualifier_of(call), arn, call.now))
    )


@operation("ListEventSources", "GET /services/{service}/functions/{function}/event-sources", api=V2021)
def list_event_sources(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List event sources."""
    found = fc.attachments.registered(call.tenant, *function_of(call), qualifier_of(call))
    return json_answer({"eventSources": [_render(source) for source in found]})


@operation("DeregisterEventSource", "DELETE /services/{service}/functions/{function}/event-sources/{source}", api=V2021)
def deregister_event_source(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Forget an event source."""
    fc.attachments.deregister(call.tenant, *function_of(call), qualifier_of(call), call.path["source"])
    return no_content()
