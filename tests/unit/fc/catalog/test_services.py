"""Services of 2.0 over the API of 2016-08-15."""

import pytest


async def test_service_comes_back_as_it_was_made(site):
    """Every field of a create request is in the answer and in later ones, with id, times and an ETag."""
    wanted = {
        "serviceName": "shop",
        "description": "sells",
        "role": "acs:ram::123456789012:role/fc",
        "internetAccess": False,
        "logConfig": {
            "project": "p",
            "logstore": "l",
            "enableRequestMetrics": True,
            "enableInstanceMetrics": False,
            "logBeginRule": "DefaultRegex",
        },
        "vpcConfig": {"vpcId": "v", "vSwitchIds": ["s"], "securityGroupId": "g", "role": "r"},
        "nasConfig": {"userId": -1, "groupId": 10003, "mountPoints": [{"serverAddr": "a", "mountDir": "/mnt"}]},
        "ossMountConfig": {"mountPoints": [{"bucketName": "b", "mountDir": "/oss", "readOnly": True}]},
        "tracingConfig": {"type": "Jaeger", "params": {"endpoint": "http://x"}},
    }

    made = await site.v1("POST", "/services", wanted)
    got = await site.v1("GET", "/services/shop")

    assert made.status == 200
    assert made.body == got.body
    assert {name: got.body[name] for name in wanted} == wanted
    assert got.body["createdTime"] == got.body["lastModifiedTime"] == "2023-11-14T22:13:20Z"
    assert got.body["serviceId"]
    assert got.headers["etag"] == made.headers["etag"]
    assert got.headers["x-fc-request-id"]


async def test_update_changes_what_it_names_and_nothing_else(site):
    """An update is partial; ETag and modification time move, the creation time stays."""
    made = await site.v1("POST", "/services", {"serviceName": "shop", "description": "a", "role": "r"})
    site.clock.move_to(site.clock.now() + 5000)

    updated = await site.v1("PUT", "/services/shop", {"description": "b"})

    assert (updated.body["description"], updated.body["role"]) == ("b", "r")
    assert updated.headers["etag"] != made.headers["etag"]
    assert updated.body["createdTime"] == made.body["createdTime"]
    assert updated.body["lastModifiedTime"] == "2023-11-14T22:13:25Z"


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_change_with_a_stale_etag_is_refused_and_changes_nothing(site, method):
    """If-Match with another ETag than the current one answers 412; with the current one it passes."""
    made = await site.v1("POST", "/services", {"serviceName": "shop", "description": "a"})

    refused = await site.v1(method, "/services/shop", {"description": "b"}, If_Match="0123")
    kept = await site.v1("GET", "/services/shop")
    passed = await site.v1(method, "/services/shop", {"description": "b"}, If_Match=made.headers["etag"])

    assert (refused.status, refused.code) == (412, "PreconditionFailed")
    assert kept.body["description"] == "a"
    assert passed.status in {200, 204}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "/services", {"serviceName": "shop"}, 409, "ServiceAlreadyExists"),
        ("POST", "/services", {"serviceName": "9x"}, 400, "InvalidArgument"),
        ("POST", "/services", {}, 400, "InvalidArgument"),
        ("POST", "/services", {"serviceName": "x", "role": "r" * 301}, 400, "InvalidArgument"),
        ("POST", "/services", [], 400, "InvalidArgument"),
        ("POST", "/services", b"{", 400, "InvalidArgument"),
        ("POST", "/services", b"\xff\xfe", 400, "InvalidArgument"),
        ("POST", "/services", b"[" * 100_000, 400, "InvalidArgument"),
        ("GET", "/services/none", None, 404, "ServiceNotFound"),
        ("PUT", "/services/none", {}, 404, "ServiceNotFound"),
        ("PUT", "/services/shop.1", {}, 400, "InvalidArgument"),
        ("DELETE", "/services/none", None, 404, "ServiceNotFound"),
        ("GET", "/services/shop.9", None, 404, "VersionNotFound"),
        ("GET", "/services/shop.0", None, 404, "VersionNotFound"),
        ("GET", "/services/shop.00", None, 404, "VersionNotFound"),
        ("GET", "/services/shop.nope", None, 404, "AliasNotFound"),
        ("PATCH", "/services/shop", None, 400, "PathNotSupported"),
        ("GET", "/nothing/here", None, 400, "PathNotSupported"),
        ("GET", "/services?limit=0", None, 400, "InvalidArgument"),
        ("GET", "/services?limit=101", None, 400, "InvalidArgument"),
        ("GET", "/services?limit=x", None, 400, "InvalidArgument"),
        ("GET", "/services?limit=000000101", None, 400, "InvalidArgument"),
        ("GET", "/services?limit=000000050" + "0" * 5000, None, 400, "InvalidArgument"),
        ("GET", "/services?nextToken=%ff", None, 400, "InvalidArgument"),
        ("POST", "/services/shop/bindings", {}, 400, "InvalidArgument"),
    ],
)
async def test_refusals_carry_the_documented_code(site, method, path, body, status, code):
    """Errors are JSON with the documented code and status, with a request id in the headers."""
    await site.v1("POST", "/services", {"serviceName": "shop"})

    answer = await site.v1(method, path, body)

    assert (answer.status, answer.body["ErrorCode"]) == (status, code)
    assert answer.body["ErrorMessage"]
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-fc-request-id"]


async def test_path_error_names_method_and_path(site):
    """The text of an unknown route is the live service's."""
    answer = await site.ask("GET", "/")

    assert answer.body["ErrorMessage"] == "'GET' against '/' is not supported"


async def test_lists_are_paged_by_name(site):
    """Pages follow each other by the token, in the order of names; prefix and start key narrow the list."""
    for name in ("b", "a", "ab", "c", "B"):
        await site.v1("POST", "/services", {"serviceName": name})

    first = (await site.v1("GET", "/services?limit=2")).body
    second = (await site.v1("GET", f"/services?limit=2&nextToken={first['nextToken']}")).body
    third = (await site.v1("GET", f"/services?limit=2&nextToken={second['nextToken']}")).body
    from_b = (await site.v1("GET", "/services?startKey=b")).body
    with_a = (await site.v1("GET", "/services?prefix=a")).body

    pages = [[row["serviceName"] for row in page["services"]] for page in (first, second, third)]
    assert pages == [["B", "a"], ["ab", "b"], ["c"]]
    assert "nextToken" not in third
    assert [row["serviceName"] for row in from_b["services"]] == ["b", "c"]
    assert [row["serviceName"] for row in with_a["services"]] == ["a", "ab"]


async def test_service_with_anything_in_it_is_not_deleted(site):
    """Functions, aliases and versions hold a service back, one after the other."""
    await site.make_function("shop", "order")
    await site.v1("POST", "/services/shop/versions", {})
    await site.v1("POST", "/services/shop/aliases", {"aliasName": "live", "versionId": "1"})
    answers = []
    for path in ("/functions/order", "/aliases/live", "/versions/1"):
        answers.append(await site.v1("DELETE", "/services/shop"))
        assert (await site.v1("DELETE", "/services/shop" + path)).status == 204
    last = await site.v1("DELETE", "/services/shop")

    assert [(answer.status, answer.code) for answer in answers] == [(409, "ServiceNotEmpty")] * 3
    assert (last.status, last.content) == (204, b"")


async def test_update_of_a_service_retires_the_warm_instances_of_its_functions(site):
    """The role and the log are part of what an instance is built from."""
    await site.make_function("shop", "order")
    await site.v1("POST", "/services/shop/functions/order/invocations", b"1")

    await site.v1("PUT", "/services/shop", {"role": "other"})
    await site.v1("POST", "/services/shop/functions/order/invocations", b"2")

    assert site.instances.retired == ["123456789012/cn-hangzhou/shop/order/LATEST"]
    assert site.instances.images[0].key != site.instances.images[1].key
    assert site.instances.images[1].role == "other"


async def test_tags_of_services_are_set_shown_filtered_and_removed(site):
    """Tags work by partial and full resource names; the classic untag answer has a body."""
    for name in ("a", "b"):
        await site.v1("POST", "/services", {"serviceName": name})
    await site.v1("POST", "/tag", {"resourceArn": "services/a", "tags": {"k": "v", "x": "y"}})

    shown = await site.v1("GET", "/tag?resourceArn=acs%3Afc%3A%3A%3Aservices%2Fa")
    service = await site.v1("GET", "/services/a")
    found = await site.v1("GET", "/services?tag_k=v")
    not_found = await site.v1("GET", "/services?tag_k=w")
    untagged = await site.v1("DELETE", "/tag", {"resourceArn": "services/a", "tagKeys": ["k"], "all": False})
    left = await site.v1("GET", "/tag?resourceArn=services/a")
    await site.v1("DELETE", "/tag", {"resourceArn": "services/a", "tagKeys": [], "all": True})
    none = await site.v1("GET", "/tag?resourceArn=services/a")

    assert shown.body["resourceArn"] == "acs:fc:cn-hangzhou:123456789012:services/a"
    assert "tags" not in service.body
    assert shown.body["tags"] == {"k": "v", "x": "y"}
    assert [row["serviceName"] for row in found.body["services"]] == ["a"]
    assert not_found.body["services"] == []
    assert (untagged.status, list(untagged.body)) == (200, ["requestId"])
    assert left.body["tags"] == {"x": "y"}
    assert none.body["tags"] == {}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"resourceArn": "services/none", "tags": {"k": "v"}}, 404, "ServiceNotFound"),
        ({"resourceArn": "functions/a", "tags": {"k": "v"}}, 400, "InvalidArgument"),
        ({"resourceArn": "services/a", "tags": {}}, 400, "InvalidArgument"),
        ({"resourceArn": "services/a", "tags": {str(index): "" for index in range(21)}}, 400, "InvalidArgument"),
        ({"resourceArn": "services/a", "tags": {"k": 1}}, 400, "InvalidArgument"),
        ({"tags": {"k": "v"}}, 400, "InvalidArgument"),
    ],
)
async def test_bad_tags_are_refused(site, body, status, code):
    """One to twenty tags of text, on a service that exists."""
    await site.v1("POST", "/services", {"serviceName": "a"})

    answer = await site.v1("POST", "/tag", body)

    assert (answer.status, answer.code) == (status, code)


async def test_account_settings_name_a_zone_of_the_region(site):
    """The classic client asks for availability zones."""
    answer = await site.v1("GET", "/account-settings")

    assert answer.body["availableAZs"] == ["cn-hangzhou-f"]
