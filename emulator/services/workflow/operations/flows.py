"""The operations on flows, their versions and aliases: parameters in, replies out.

Source: alibabacloud_fnf20190315 for versions and aliases; the shapes of the replies differ from operation to operation
there.
"""

from emulator.kernel.frozen import replace
from emulator.services.workflow import limits
from emulator.services.workflow.codec import (
    optional,
    parse_changed_settings,
    parse_new_settings,
    parse_routes,
    render_alias,
    render_flow,
    render_page,
    render_version,
    required,
    whole,
)
from emulator.services.workflow.model import AliasRecord, FlowRecord, FlowSettings
from emulator.services.workflow.service import Workflow
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Reply


@operation("CreateFlow")
async def create_flow(service: Workflow, call: OperationRequest) -> Reply:
    """Create a flow; returns it without its storage location.

    Raises: WorkflowError: MissingRequiredParams, InvalidArgument, FlowAlreadyExists, ResourceThrottled.
    Source: CreateFlow, Serverless Workflow API reference.
    """
    name = required(call, "Name")
    definition = required(call, "Definition")
    if "Description" not in call.parameters and await service.flows.needs_description(definition):
        required(call, "Description")
    settings = parse_new_settings(call)
    return _shown(await service.flows.create(call.tenant, name, definition, settings))


@operation("DescribeFlow")
def describe_flow(service: Workflow, call: OperationRequest) -> Reply:
    """Return a flow or one of its versions, without its storage location.

    Raises: WorkflowError: MissingRequiredParams, FlowNotExists, FlowVersionNotExists.
    Source: DescribeFlow, Serverless Workflow API reference.
    """
    return _shown(service.versions.flow_at(call.tenant, required(call, "Name"), optional(call, "FlowVersion")))


def _shown(record: FlowRecord) -> Reply:
    flow = render_flow(record)
    del flow["ExternalStorageLocation"]
    return flow


@operation("UpdateFlow")
async def update_flow(service: Workflow, call: OperationRequest) -> Reply:
    """Change the named attributes of a flow; returns it without its execution mode.

    Raises: WorkflowError: MissingRequiredParams, InvalidArgument, FlowNotExists. Source: UpdateFlow, Serverless
    Workflow API reference; members: alibabacloud_fnf20190315.
    """
    name = required(call, "Name")
    parse_changed_settings(call, FlowSettings())  # values are judged before the flow is looked for
    record = await service.flows.update(
        call.tenant, name, call.parameters.get("Definition"), lambda present: parse_changed_settings(call, present)
    )
    flow = render_flow(record)
    del flow["ExecutionMode"]
    return flow


@operation("DeleteFlow")
def delete_flow(service: Workflow, call: OperationRequest) -> Reply:
    """Delete a flow with its versions, schedules and executions; returns nothing.

    Raises: WorkflowError: MissingRequiredParams, FlowNotExists.
    Source: DeleteFlow, Serverless Workflow API reference.
    """
    service.flows.delete(call.tenant, required(call, "Name"))
    return {}


@operation("ListFlows")
def list_flows(service: Workflow, call: OperationRequest) -> Reply:
    """Return flows by name, without their storage locations.

    Raises: WorkflowError: InvalidArgument.
    Source: ListFlows, Serverless Workflow API reference.
    """
    limit = whole(call, "Limit", limits.LIST_FLOWS)
    page = service.flows.page(call.tenant, limit, optional(call, "NextToken"), optional(call, "ResourceGroupId"))
    return render_page("Flows", [_shown(flow) for flow in page.items], page.next_marker)


@operation("DescribeRegions")
def describe_regions(service: Workflow, call: OperationRequest) -> Reply:
    """Return the region of the request, the only one here.

    Source: DescribeRegions, Serverless Workflow API reference.
    """
    region = call.region
    entry = {"RegionId": region, "LocalName": region, "RegionEndpoint": f"{region}.fnf.aliyuncs.com"}
    return {"Regions": {"Region": [entry]}}


@operation("PublishFlowVersion")
def publish_flow_version(service: Workflow, call: OperationRequest) -> Reply:
    """Publish the flow as its next version; returns the version.

    Raises: WorkflowError: MissingRequiredParams, FlowNotExists.
    Source: alibabacloud_fnf20190315.
    """
    flow = required(call, "FlowName")
    version = service.versions.publish(call.tenant, flow, optional(call, "Description"))
    return {"FlowName": flow, **render_version(version)}


@operation("DeleteFlowVersion")
def delete_flow_version(service: Workflow, call: OperationRequest) -> Reply:
    """Delete a version that no alias points to; returns nothing.

    Raises: WorkflowError: MissingRequiredParams, FlowNotExists, FlowVersionNotExists, InvalidArgument.
    Source: alibabacloud_fnf20190315.
    """
    service.versions.delete(call.tenant, required(call, "FlowName"), required(call, "FlowVersion"))
    return {}


@operation("ListFlowVersions")
def list_flow_versions(service: Workflow, call: OperationRequest) -> Reply:
    """Return the versions of a flow, newest first.

    Raises: WorkflowError: MissingRequiredParams, InvalidArgument, FlowNotExists.
    Source: alibabacloud_fnf20190315.
    """
    flow = required(call, "FlowName")
    limit = whole(call, "Limit", limits.LIST_VERSIONS)
    page = service.versions.page(call.tenant, flow, limit, optional(call, "NextToken"))
    return render_page("FlowVersions", [render_version(version) for version in page.items], page.next_marker)


@operation("CreateFlowAlias")
def create_flow_alias(service: Workflow, call: OperationRequest) -> Reply:
    """Create an alias for one or two versions; returns it.

    Raises: WorkflowError: MissingRequiredParams, InvalidArgument, FlowNotExists, FlowVersionNotExists,
        FlowAliasAlreadyExists.
    Source: alibabacloud_fnf20190315.
    """
    flow, name = _alias_names(call)
    routes = parse_routes(required(call, "RoutingConfigurations"))
    alias = service.versions.create_alias(call.tenant, flow, name, routes, optional(call, "Description"))
    return {"FlowName": flow, **render_alias(alias)}


@operation("UpdateFlowAlias")
def update_flow_alias(service: Workflow, call: OperationRequest) -> Reply:
    """Change the named attributes of an alias; returns it as ``Alias``.

    Raises: WorkflowError: MissingRequiredParams, InvalidArgument, FlowNotExists, FlowAliasNotExists,
        FlowVersionNotExists.
    Source: alibabacloud_fnf20190315.
    """
    flow, name = _alias_names(call)
    configurations = optional(call, "RoutingConfigurations")
    routes = parse_routes(configurations) if configurations else None

    def changed(present: AliasRecord) -> AliasRecord:
        description = call.parameters.get("Description", present.description)
        return replace(present, description=description, routes=routes or present.routes)

    return {"Alias": render_alias(service.versions.update_alias(call.tenant, flow, name, changed))}


@operation("DescribeFlowAlias")
def describe_flow_alias(service: Workflow, call: OperationRequest) -> Reply:
    """Return an alias as ``Alias``.

    Raises: WorkflowError: MissingRequiredParams, FlowNotExists, FlowAliasNotExists.
    Source: alibabacloud_fnf20190315.
    """
    return {"Alias": render_alias(service.versions.alias(call.tenant, *_alias_names(call)))}


@operation("DeleteFlowAlias")
def delete_flow_alias(service: Workflow, call: OperationRequest) -> Reply:
    """Delete an alias; returns nothing.

    Raises: WorkflowError: MissingRequiredParams, FlowNotExists, FlowAliasNotExists.
    Source: alibabacloud_fnf20190315.
    """
    service.versions.delete_alias(call.tenant, *_alias_names(call))
    return {}


@operation("ListFlowAliases")
def list_flow_aliases(service: Workflow, call: OperationRequest) -> Reply:
    """Return the aliases of a flow by name, with their weights as texts.

    Raises: WorkflowError: MissingRequiredParams, InvalidArgument, FlowNotExists.
    Source: alibabacloud_fnf20190315.
    """
    flow = required(call, "FlowName")
    limit = whole(call, "Limit", limits.LIST_ALIASES)
    page = service.versions.aliases(call.tenant, flow, limit, optional(call, "NextToken"))
    aliases = [render_alias(alias) for alias in page.items]
    for alias in aliases:
        for route in alias["RoutingConfigurations"]:
            route["Weight"] = str(route["Weight"])
    return render_page("Aliases", aliases, page.next_marker)


def _alias_names(call: OperationRequest) -> tuple[str, str]:
    return required(call, "FlowName"), required(call, "Name")
