"""The API of 2021-04-06: the resources of 2016-08-15, qualifiers as a query parameter, a few differences.

Source: alibabacloud_fc_open20210406.
"""

from emulator.http.message import Response
from emulator.services.fc.catalog import attachment_operations as attachment_api
from emulator.services.fc.catalog import version_operations as alias_api
from emulator.services.fc.codec import Exchange, next_token
from emulator.services.fc.dialects import unavailable as unavailable_api
from emulator.services.fc.dialects import v2016
from emulator.services.fc.dialects.routing import Route
from emulator.services.fc.model import service_arn
from emulator.services.fc.triggers import operations as trigger_api


def list_tagged_resources(exchange: Exchange) -> Response:
    """List the services that carry tags."""
    page = exchange.service.tagging.page(exchange.tenant, "services", exchange.part())
    rows = [
        {"resourceArn": service_arn(exchange.tenant, resource.partition("/")[2]), "tags": tags}
        for resource, tags in page.items
    ]
    return exchange.answer({"resources": rows, "nextToken": next_token(page.next_marker)})


_S = "/services/{service}"
_F = _S + "/functions/{function}"

ROUTES = (
    *alias_api.routes(_S, with_policies=True),
    Route("PUT", "/tag", "UntagResource", v2016.untag_resource),
    Route("GET", "/tags", "ListTaggedResources", list_tagged_resources),
    Route("GET", "/reserved-capacities", "ListReservedCapacities", v2016.list_reserved_capacities),
    *trigger_api.routes(_F, trigger_api.render_2021),
    *v2016.SERVED,  # the first route of a path wins, so those above stand in front
    *attachment_api.EVENT_SOURCE_ROUTES,
    *unavailable_api.GPU_ROUTES,
)
