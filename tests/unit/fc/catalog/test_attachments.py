"""VPC bindings and event sources are kept with what they belong to."""

import pytest

SOURCE = "acs:oss:cn-hangzhou:123456789012:bucket"


async def test_bindings_of_a_service_are_kept_once_each_and_listed_by_id(site):
    """Binding a VPC twice changes nothing."""
    await site.v1("POST", "/services", {"serviceName": "shop"})
    for vpc in ("vpc-b", "vpc-a", "vpc-b"):
        assert (await site.v1("POST", "/services/shop/bindings", {"vpcId": vpc})).status == 200
    assert (await site.v1("POST", "/services/shop/binding", {"vpcId": "vpc-c"})).status == 200

    listed = await site.v1("GET", "/services/shop/bindings")
    gone = await site.v1("DELETE", "/services/shop/bindings/vpc-a")
    left = await site.v1("GET", "/services/shop/bindings")

    assert listed.body == {"vpcIds": ["vpc-a", "vpc-b", "vpc-c"]}
    assert (gone.status, gone.content) == (204, b"")
    assert left.body == {"vpcIds": ["vpc-b", "vpc-c"]}


async def test_bindings_go_with_their_service(site, pack):
    """A service or function made anew under the same name starts without any."""
    body = {"functionName": "f", "runtime": "python3.10", "handler": "index.handler", "code": pack()}
    await site.v1("POST", "/services", {"serviceName": "shop"})
    await site.v1("POST", "/services/shop/bindings", {"vpcId": "vpc-1"})
    await site.v3("POST", "/functions", body)
    await site.v3("POST", "/functions/f/vpc-bindings", {"vpcId": "vpc-2"})
    assert (await site.v3("GET", "/functions/f/vpc-bindings")).body == {"vpcIds": ["vpc-2"]}

    await site.v1("DELETE", "/services/shop")
    await site.v3("DELETE", "/functions/f")
    await site.v1("POST", "/services", {"serviceName": "shop"})
    await site.v3("POST", "/functions", body)

    assert (await site.v1("GET", "/services/shop/bindings")).body == {"vpcIds": []}
    assert (await site.v3("GET", "/functions/f/vpc-bindings")).body == {"vpcIds": []}


async def test_bindings_of_a_changed_service_stay(site):
    """An update writes the service again and leaves what is attached to it."""
    await site.v1("POST", "/services", {"serviceName": "shop"})
    await site.v1("POST", "/services/shop/bindings", {"vpcId": "vpc-1"})

    await site.v1("PUT", "/services/shop", {"description": "new"})

    assert (await site.v1("GET", "/services/shop/bindings")).body == {"vpcIds": ["vpc-1"]}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "/services/nope/bindings", {"vpcId": "vpc-1"}, 404, "ServiceNotFound"),
        ("POST", "/services/shop/bindings", {"vpcId": "a b"}, 400, "InvalidArgument"),
        ("POST", "/services/shop/bindings", {"vpcId": 7}, 400, "InvalidArgument"),
        ("DELETE", "/services/shop/bindings/vpc-1", None, 404, "VpcBindingNotFound"),
    ],
)
async def test_what_cannot_be_bound_is_refused(site, method, path, body, status, code):
    """The owner has to exist, and the id to be one."""
    await site.v1("POST", "/services", {"serviceName": "shop"})

    answer = await site.v1(method, path, body)

    assert (answer.status, answer.code) == (status, code)


async def test_event_sources_belong_to_a_qualifier(site):
    """What is registered for an alias is not listed for LATEST; registering again keeps the date."""
    await site.make_function()
    await site.v1("POST", "/services/shop/versions")
    await site.v1("POST", "/services/shop/aliases", {"aliasName": "prod", "versionId": "1"})
    path = "/2021-04-06/services/shop/functions/order/event-sources"

    first = await site.ask("POST", f"{path}?qualifier=prod", {"sourceArn": SOURCE})
    await site.after(5000)
    again = await site.ask("POST", f"{path}?qualifier=prod", {"sourceArn": SOURCE})
    prod, latest = await site.ask("GET", f"{path}?qualifier=prod"), await site.ask("GET", path)
    quoted = SOURCE.replace(":", "%3A")
    wrong, right = [await site.ask("DELETE", f"{path}/{quoted}{query}") for query in ("", "?qualifier=prod")]

    assert first.body == again.body == prod.body["eventSources"][0]
    assert latest.body == {"eventSources": []}
    assert (wrong.status, wrong.code) == (404, "EventSourceNotFound")
    assert right.status == 204


async def test_a_function_changes_its_resource_group(site, pack):
    """The answer tells the group before, and the function shows the new one."""
    body = {"functionName": "f", "runtime": "python3.10", "handler": "index.handler", "code": pack()}
    default = (await site.v3("POST", "/functions", body)).body["resourceGroupId"]

    first = await site.v3("PUT", "/resource-groups", {"NewResourceGroupId": "rg-1", "ResourceId": "f"})
    arn = "acs:fc:cn-hangzhou:123456789012:functions/f"
    second = await site.v3("PUT", "/resource-groups", {"NewResourceGroupId": "rg-2", "ResourceId": arn})
    missing = await site.v3("PUT", "/resource-groups", {"NewResourceGroupId": "rg-2", "ResourceId": "nope"})
    unnamed = await site.v3("PUT", "/resource-groups", {"ResourceId": "f"})

    assert first.body == {"NewResourceGroupId": "rg-1", "OldResourceGroupId": default, "ResourceId": "f"}
    assert second.body["OldResourceGroupId"] == "rg-1"
    assert (await site.v3("GET", "/functions/f")).body["resourceGroupId"] == "rg-2"
    assert (missing.status, missing.code) == (404, "FunctionNotFound")
    assert (unnamed.status, unnamed.code) == (400, "InvalidArgument")
