"""Configurations of asynchronous calls: paths, bodies, partial updates, codes."""

import pytest

V1 = "/2016-08-15/services/shop.LATEST/functions/order/async-invoke-config"
V2 = "/2021-04-06/services/shop/functions/order/async-invoke-config?qualifier=LATEST"
V3 = "/2023-03-30/functions/order/async-invoke-config"
BODY = {
    "destinationConfig": {"onFailure": {"destination": "acs:mns:::/queues/q/messages"}},
    "maxAsyncEventAgeInSeconds": 600,
    "maxAsyncRetryAttempts": 2,
}


async def both(site, pack):
    await site.make_function()
    body = {"functionName": "order", "runtime": "python3.10", "handler": "index.handler", "code": pack()}
    await site.v3("POST", "/functions", body)


@pytest.mark.parametrize(
    ("path", "switch", "place"),
    [
        (V1, "statefulInvocation", {"service": "shop", "function": "order", "qualifier": "LATEST"}),
        (V2, "statefulInvocation", {"service": "shop", "function": "order", "qualifier": "LATEST"}),
        (V3, "asyncTask", {"functionArn": "acs:fc:cn-hangzhou:123456789012:functions/order/LATEST"}),
    ],
    ids=["2016", "2021", "2023"],
)
async def test_put_get_and_delete(site, pack, path, switch, place):
    """What was put is shown with its place and times; what is gone is not found."""
    await both(site, pack)

    put = await site.ask("PUT", path, {**BODY, switch: True})
    site.clock.move_to(site.clock.now() + 5000)
    partly = await site.ask("PUT", path, {"maxAsyncRetryAttempts": 0})
    got = await site.ask("GET", path)
    deleted = await site.ask("DELETE", path)
    gone = [await site.ask(method, path) for method in ("GET", "DELETE")]

    assert put.body == {
        **place, **BODY, switch: True,
        "createdTime": "2023-11-14T22:13:20Z", "lastModifiedTime": "2023-11-14T22:13:20Z",
    }  # fmt: skip
    changed = {"maxAsyncRetryAttempts": 0, "lastModifiedTime": "2023-11-14T22:13:25Z"}
    assert got.body == partly.body == {**put.body, **changed}
    assert (deleted.status, deleted.content) == (204, b"")
    assert {(answer.status, answer.code) for answer in gone} == {(404, "AsyncConfigNotExists")}


@pytest.mark.parametrize(("path", "switch"), [(V1, "statefulInvocation"), (V3, "asyncTask")], ids=["2016", "2023"])
async def test_members_that_were_never_set_are_null(site, pack, path, switch):
    """Age and retries; no tasks; there are no destinations."""
    await both(site, pack)

    put = await site.ask("PUT", path, {})
    got = await site.ask("GET", path)

    shown = {key: put.body[key] for key in ("maxAsyncEventAgeInSeconds", "maxAsyncRetryAttempts", switch)}
    assert shown == {"maxAsyncEventAgeInSeconds": None, "maxAsyncRetryAttempts": None, switch: False}
    assert "destinationConfig" not in put.body
    assert got.body == put.body


async def test_lists_are_paged_by_function_and_qualifier(site, pack):
    """2.0 lists one function; 3.0 all, or one if asked."""
    await both(site, pack)
    await site.v1("POST", "/services/shop/versions", {})
    for alias in ("a", "b"):
        await site.v1("POST", "/services/shop/aliases", {"aliasName": alias, "versionId": "1"})
    for qualifier in ("LATEST", "b", "a"):
        await site.v1("PUT", f"/services/shop.{qualifier}/functions/order/async-invoke-config", BODY)
    await site.ask("PUT", V3, BODY)

    path = "/services/shop/functions/order/async-invoke-configs"
    first = await site.v1("GET", path + "?limit=2")
    second = await site.v1("GET", f"{path}?limit=2&nextToken={first.body['nextToken']}")
    third = [await site.v3("GET", f"/async-invoke-configs{query}") for query in ("", "?functionName=order")]
    unknown = await site.v3("GET", "/async-invoke-configs?functionName=none")

    assert [row["qualifier"] for row in first.body["configs"] + second.body["configs"]] == ["LATEST", "a", "b"]
    assert second.body["nextToken"] == ""
    assert [len(answer.body["configs"]) for answer in third] == [1, 1]
    assert (unknown.status, unknown.code) == (404, "FunctionNotFound")


@pytest.mark.parametrize(
    "body",
    [
        {"maxAsyncRetryAttempts": 9},
        {"maxAsyncRetryAttempts": -1},
        {"maxAsyncRetryAttempts": "3"},
        {"maxAsyncEventAgeInSeconds": 0},
        {"maxAsyncEventAgeInSeconds": 2_592_001},
        {"statefulInvocation": "yes"},
        {"destinationConfig": []},
        {"destinationConfig": {"onSuccess": {"destination": "http://example.com"}}},
        {"destinationConfig": {"onSuccess": {"destination": "acs:fc:::services/shop"}}},
    ],
    ids=str,
)
async def test_bad_values_are_refused_and_change_nothing(site, body):
    """Whatever is wrong, there is no configuration afterwards."""
    await site.make_function()

    refused = await site.ask("PUT", V1, body)

    assert (refused.status, refused.code) == (400, "InvalidArgument")
    assert (await site.ask("GET", V1)).code == "AsyncConfigNotExists"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/services/none.LATEST/functions/order/async-invoke-config", "ServiceNotFound"),
        ("/services/shop.LATEST/functions/none/async-invoke-config", "FunctionNotFound"),
        ("/services/shop.live/functions/order/async-invoke-config", "AliasNotFound"),
    ],
    ids=lambda value: value[:25],
)
async def test_place_must_exist(site, path, code):
    """Service, function and qualifier."""
    await site.make_function()

    answers = [await site.v1(method, path, {} if method == "PUT" else None) for method in ("PUT", "GET", "DELETE")]

    assert {(answer.status, answer.code) for answer in answers} == {(404, code)}
