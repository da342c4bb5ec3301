"""Operations on the account, and on tags and resource groups, which stand beside the resources they are about.

Source: aliyun-fc2 client.py; alibabacloud_fc_open20210406; alibabacloud_fc20230330; fc-nodejs-sdk test/client.test.js.
"""

from itertools import islice
from typing import Any, Literal

from emulator.http.message import Response
from emulator.kernel.paging import cut
from emulator.services.fc import codec, limits
from emulator.services.fc.catalog import fields
from emulator.services.fc.catalog.rendering import resource_group_of
from emulator.services.fc.codec import V2016, V2021, V2023, WITH_SERVICES
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.model import EVERY, Slice, arn_of, function_arn
from emulator.services.fc.operations.functions import change_function
from emulator.services.fc.service import FunctionCompute
from emulator.wire.dates import iso_seconds
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest


@operation("GetAccountSettings", "GET /account-settings", api=WITH_SERVICES)
def get_account_settings(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return the availability zones.

    Raises: nothing. Source: aliyun-fc2 client.py; alibabacloud_fc_open20210406; zone of cn-hongkong: fc-python-sdk
    test/get_account_test.py; assumed: other zones.
    """
    region = call.tenant.region
    body: dict[str, Any] = {"availableAZs": [f"{region}-{_ZONES.get(region, 'f')}"]}
    if codec.api_of(call) == V2021:
        body["defaultRole"] = ""
    return codec.json_answer(body)


_ZONES = {"cn-hongkong": "c"}


_ACCOUNT_CONFIGS = {
    "CodeSizeLimit": str(limits.CODE_PACKAGE_BYTES),
    "EnhancedCodeSizeLimit": str(limits.CODE_OBJECT_BYTES),
    "GPUCodeSizeLimit": str(limits.CODE_OBJECT_BYTES),
    "Concurrency": "300",
}
"""Source: fc-nodejs-sdk test/client.test.js for the names and the first value; that of Concurrency is assumed."""


@operation("GetAccountConfigs", "GET /accountConfigs", api=V2016)
def get_account_configs(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return the limits of the account as texts, all or those that ``config`` names.

    Raises: nothing. Source: fc-nodejs-sdk test/client.test.js.
    """
    wanted = {name for key, value in call.http.query_pairs if key.startswith("config") for name in value.split(",")}
    return codec.json_answer({name: value for name, value in _ACCOUNT_CONFIGS.items() if not wanted or name in wanted})


@operation("GetTempBucketToken", "GET /tempBucketToken", api=V2016)
@operation("GetTempBucketToken", "POST /tempBucketToken", api=V2016)
@operation("GetTempCodeBucketToken", "GET /services/{service}/tempCodeBucketToken", api=V2016)
@operation("GetTempCodeBucketToken", "POST /services/{service}/tempCodeBucketToken", api=V2016)
async def get_temporary_bucket(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Provide a bucket for a package that is too large for a request, with write credentials for an hour.

    Raises: ServiceNotFound, InvalidArgument when there is no object storage.
    Source: fc-nodejs-sdk lib/client.js, fc-go-sdk oss_temp_token.go.
    """
    if service := codec.writable_service(call):
        fc.store.existing_service(call.tenant, service)
    place = await fc.packages.upload_place(call.tenant)
    return codec.json_answer(
        {
            "credentials": {
                "AccessKeyId": place.credentials.access_key_id,
                "AccessKeySecret": place.credentials.access_key_secret,
                "SecurityToken": place.credentials.security_token,
                "Expiration": iso_seconds(place.expires_at),
            },
            "ossRegion": place.region,
            "ossBucket": place.bucket,
            "objectName": call.request_id,
            "codeSizeLimit": limits.CODE_OBJECT_BYTES,
        }
    )


@operation("ListReservedCapacities", "GET /reservedCapacities", api=V2016)
@operation("ListReservedCapacities", "GET /reserved-capacities", api=V2021)
def list_reserved_capacities(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List reserved capacities; the list is empty.

    Raises: InvalidArgument. Source: aliyun-fc2 client.py; alibabacloud_fc_open20210406.
    """
    codec.page_size(call)
    codec.page_marker(call)
    return codec.page_answer("reservedCapacities", [], None)


@operation("DescribeRegions", "GET /regions", api=V2023)
def describe_regions(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return the region of the emulator, the only one.

    Raises: nothing. Source: alibabacloud_fc20230330, DescribeRegions.
    """
    region = call.tenant.region
    return codec.json_answer({"Regions": {"Region": [{"LocalName": region, "RegionId": region}]}})


@operation("TagResource", "POST /tag", api=WITH_SERVICES)
def tag_resource(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Set tags on a service.

    Raises: ServiceNotFound, InvalidArgument.
    Source: API reference, TagResource; aliyun-fc2 client.py; alibabacloud_fc_open20210406.
    """
    body = codec.json_body(call)
    resource = _resource(fc, call, str(body.get("resourceArn") or ""), "services")
    fc.store.put_tags(call.tenant, resource, fields.check_tags(body.get("tags")))
    return codec.json_answer({"requestId": call.request_id})


@operation("UntagResource", "DELETE /tag", api=V2016)
@operation("UntagResource", "PUT /tag", api=V2021)
def untag_resource(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Remove tags from a service. The response to this DELETE has a body, which the official client parses.

    Raises: ServiceNotFound, InvalidArgument.
    Source: API reference, UntagResource; aliyun-fc2 client.py; alibabacloud_fc_open20210406.
    """
    body = codec.json_body(call)
    resource = _resource(fc, call, str(body.get("resourceArn") or ""), "services")
    keys = body.get("tagKeys") or []
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise InvalidArgument("tagKeys must be a list of strings")
    _untag(fc, call, [resource], keys, everything=codec.truth(body.get("all")))
    return codec.json_answer({"requestId": call.request_id})


@operation("GetResourceTags", "GET /tag", api=WITH_SERVICES)
def get_resource_tags(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return the tags of a service.

    Raises: ServiceNotFound, InvalidArgument.
    Source: API reference, GetResourceTags; aliyun-fc2 client.py; alibabacloud_fc_open20210406.
    """
    resource = _resource(fc, call, codec.query(call, "resourceArn"), "services")
    return codec.json_answer(
        {
            "requestId": call.request_id,
            "resourceArn": arn_of(call.tenant, resource),
            "tags": fc.store.tags(call.tenant, resource),
        }
    )


@operation("ListTaggedResources", "GET /tags", api=V2021)
def list_tagged_resources(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the services that have tags.

    Raises: InvalidArgument. Source: alibabacloud_fc_open20210406.
    """
    part = codec.slice_of(call)
    return codec.list_answer(
        "resources",
        fc.store.tagged(call.tenant, "services/", part),
        part.limit,
        lambda resource: {"resourceArn": arn_of(call.tenant, resource), "tags": fc.store.tags(call.tenant, resource)},
        _name,
    )


@operation("TagResources", "POST /tags-v2", api=V2023)
def tag_resources(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Set tags on some functions.

    Raises: FunctionNotFound, InvalidArgument. Source: alibabacloud_fc20230330.
    """
    body = codec.json_body(call)
    named = body.get("ResourceId") or []
    if not isinstance(named, list):
        raise InvalidArgument("ResourceId must be a list")
    resources = _resources(fc, call, str(body.get("ResourceType") or ""), named)
    tags = fields.check_tags(codec.tag_pairs(body.get("Tag"), "Tag"))
    for resource in resources:
        fc.store.put_tags(call.tenant, resource, tags)
    return codec.json_answer({"RequestId": call.request_id})


@operation("UntagResources", "DELETE /tags-v2", api=V2023)
def untag_resources(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Remove tags from some functions.

    Raises: FunctionNotFound, InvalidArgument. Source: alibabacloud_fc20230330.
    """
    resources = _resources(
        fc, call, codec.query(call, "ResourceType"), codec.json_list(codec.query(call, "ResourceId"), "ResourceId")
    )
    keys = [str(key) for key in codec.json_list(codec.query(call, "TagKey"), "TagKey")]
    _untag(fc, call, resources, keys, everything=codec.truth(codec.query(call, "All")))
    return codec.json_answer({"RequestId": call.request_id})


@operation("ListTagResources", "GET /tags-v2", api=V2023)
def list_tag_resources(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the tags of the named or of all functions; a tag without a value matches any value.

    Pages count tags.

    Raises: FunctionNotFound, InvalidArgument. Source: the form that all products share; assumed: pages count tags.
    """
    wanted = codec.tag_filter(codec.json_list(codec.query(call, "Tag"), "Tag"), "Tag")
    kind = codec.query(call, "ResourceType") or "function"
    _check_kind(kind)
    limit, start = codec.page_size(call, "Limit"), codec.page_marker(call, "NextToken")
    if named := codec.json_list(codec.query(call, "ResourceId"), "ResourceId"):
        resources = sorted(set(_resources(fc, call, kind, named)))
    else:
        # each has a tag at least, so a page of them and one more are enough; an empty value is one of its own here
        most = EVERY.limit if "" in wanted.values() else limit + 1
        tags = {key: value or "" for key, value in wanted.items()}
        part = Slice(limit=most, start=start.partition("\n")[0].removeprefix("functions/"), tags=tags)
        resources = fc.store.tagged(call.tenant, "functions/", part)
    first = start.partition("\n")[0]
    rows = (
        (resource, key, value)
        for resource in resources
        if resource >= first
        for tags in (fc.store.tags(call.tenant, resource),)
        if all(key in tags and value in {None, tags[key]} for key, value in wanted.items())
        for key, value in sorted(tags.items())
    )
    page = cut(list(islice((row for row in rows if _place_of(row) >= start), limit + 1)), limit, _place_of)
    shown = [
        {
            "ResourceId": function_arn(call.tenant, "", _name(resource)),
            "ResourceType": kind,
            "TagKey": key,
            "TagValue": value,
        }
        for resource, key, value in page.items
    ]
    body = {"RequestId": call.request_id, "NextToken": codec.next_token(page.next_marker), "TagResources": shown}
    return codec.json_answer(body)


def _place_of(row: tuple[str, str, str]) -> str:
    """Return where a tag stands in the list; the names of functions hold nothing that sorts below a line feed."""
    return f"{row[0]}\n{row[1]}"


def _check_kind(kind: str) -> None:
    if kind.lower() not in {"function", "functions", "acs:fc:function"}:
        raise InvalidArgument(f"ResourceType '{kind[:40]}' is invalid: it must be function")


def _resources(fc: FunctionCompute, call: OperationRequest, kind: str, named: list[Any]) -> list[str]:
    _check_kind(kind)
    if not limits.TAGS_PER_CALL.contains(len(named)):
        raise InvalidArgument(f"ResourceId must have 1 to {limits.TAGS_PER_CALL.high} items")
    return [_resource(fc, call, str(name), "functions") for name in named]


def _resource(fc: FunctionCompute, call: OperationRequest, arn: str, kind: Literal["services", "functions"]) -> str:
    """Return ``services/x`` or ``functions/x``, which an ARN, a part of one, or (for functions) a bare name means.

    Raises: InvalidArgument; ServiceNotFound, FunctionNotFound when there is no such resource.
    """
    tail = arn.split(":", 4)[-1] if arn.startswith("acs:") else arn
    if kind == "functions" and "/" not in tail:
        tail = f"functions/{tail}"
    actual, _, name = tail.partition("/")
    if actual != kind or not name or "/" in name:
        raise InvalidArgument(f"resourceArn '{arn[:200]}' does not name one of the {kind}")
    if kind == "services":
        fc.store.existing_service(call.tenant, name)
    else:
        fc.store.existing_function(call.tenant, "", name)
    return tail


def _name(resource: str) -> str:
    return resource.partition("/")[2]


def _untag(
    fc: FunctionCompute, call: OperationRequest, resources: list[str], keys: list[str], *, everything: bool
) -> None:
    """Remove tags by key, or all; keys that are not there are no error.

    Raises: InvalidArgument when neither is asked for.
    """
    if not everything and not keys:
        raise InvalidArgument("tagKeys is required")
    if not everything and len(keys) > limits.TAGS_PER_CALL.high:
        raise InvalidArgument(f"tagKeys must not have more than {limits.TAGS_PER_CALL.high} items")
    for resource in resources:
        fc.store.delete_tags(call.tenant, resource, None if everything else keys)


@operation("ChangeResourceGroup", "PUT /resource-groups", api=V2023)
async def change_resource_group(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Move a function to another resource group.

    Raises: FunctionNotFound, InvalidArgument. Source: alibabacloud_fc20230330.
    """
    # the SDK capitalises the members, terraform-provider-alicloud does not
    body = {name[:1].upper() + name[1:]: value for name, value in codec.json_body(call).items()}
    [resource] = _resources(fc, call, str(body.get("ResourceType") or "function"), [body.get("ResourceId")])
    group = body.get("NewResourceGroupId")
    values = codec.BODY.read(fields.FUNCTION_3, {"resourceGroupId": group})
    if not group or not values:
        raise InvalidArgument("NewResourceGroupId is required")
    name = _name(resource)
    before = resource_group_of(call.tenant, fc.resolver.function(call.tenant, "", name))
    await change_function(fc, call, "", name, values)
    return codec.json_answer(
        {"NewResourceGroupId": group, "OldResourceGroupId": before, "ResourceId": str(body.get("ResourceId"))}
    )
