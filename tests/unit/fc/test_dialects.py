"""The two newer wire forms: views of the same services, and functions without any."""

import json
from urllib.parse import quote

import pytest

from emulator.services.fc.model import FunctionName


async def test_services_of_one_dialect_show_in_the_other(site):
    """2021-04-06 and 2016-08-15 speak of the same services; the qualifier may be a query parameter."""
    await site.make_function("shop", "order")
    await site.v1("POST", "/services/shop/versions", {})
    v2 = "/2021-04-06"

    function = await site.ask("GET", v2 + "/services/shop/functions/order?qualifier=1")
    called = await site.ask("POST", v2 + "/services/shop/functions/order/invocations?qualifier=1", b"x")
    dotted = await site.ask("POST", v2 + "/services/shop.1/functions/order/invocations", b"x")
    missing = await site.ask("GET", v2 + "/services/shop/functions/order?qualifier=7")

    assert function.body["functionName"] == "order"
    assert called.headers["x-fc-invocation-service-version"] == "1"
    assert dotted.headers["x-fc-invocation-service-version"] == "1"
    assert (missing.status, missing.body["Code"]) == (404, "VersionNotFound")


async def test_alias_of_2021_has_routing_policies(site):
    """Policies are kept and shown there, and invisible in the older dialect."""
    await site.make_function("shop", "order")
    await site.v1("POST", "/services/shop/versions", {})
    policy = {"condition": "AND", "policyItems": [{"type": "Header", "key": "k", "operator": "=", "value": "v"}]}
    alias = {"aliasName": "a", "versionId": "1", "resolvePolicy": "Content", "routePolicy": policy}

    await site.ask("POST", "/2021-04-06/services/shop/aliases", alias)
    new = await site.ask("GET", "/2021-04-06/services/shop/aliases/a")
    listed = await site.ask("GET", "/2021-04-06/services/shop/aliases")
    updated = await site.ask("PUT", "/2021-04-06/services/shop/aliases/a", {"resolvePolicy": "Random"})
    old = await site.v1("GET", "/services/shop/aliases/a")

    assert (new.body["resolvePolicy"], new.body["routePolicy"]) == ("Content", policy)
    assert listed.body["aliases"] == [new.body]
    assert updated.body["resolvePolicy"] == "Random"
    assert "routePolicy" not in old.body


async def test_alias_of_2021_routes_by_what_the_request_says(site):
    """The rules choose the version of a call, in every dialect; the weights no longer count."""
    await site.make_function("shop", "order")
    await site.v1("POST", "/services/shop/versions", {})
    await site.v1("PUT", "/services/shop/functions/order", {"description": "second"})
    await site.v1("POST", "/services/shop/versions", {})
    rules = [{"type": "Header", "key": "x-test-uid", "operator": "=", "value": "11111"}]
    alias = {
        "aliasName": "a",
        "versionId": "1",
        "additionalVersionWeight": {"2": 0.0},
        "resolvePolicy": "Content",
        "routePolicy": {"condition": "AND", "policyItems": rules},
    }
    await site.ask("POST", "/2021-04-06/services/shop/aliases", alias)
    call = ("POST", "/services/shop.a/functions/order/invocations", b"{}")

    chosen = [await site.v1(*call, x_test_uid="11111"), await site.v1(*call, x_test_uid="2"), await site.v1(*call)]

    assert [answer.headers["x-fc-invocation-service-version"] for answer in chosen] == ["2", "1", "1"]


async def test_tags_of_2021_are_removed_by_put_and_listed(site):
    """Untagging is a PUT there, and tagged services can be listed."""
    for name in ("a", "b", "c"):
        await site.v1("POST", "/services", {"serviceName": name})
        await site.ask("POST", "/2021-04-06/tag", {"resourceArn": f"services/{name}", "tags": {"k": name}})
    await site.ask("PUT", "/2021-04-06/tag", {"resourceArn": "services/b", "tagKeys": ["k"]})

    first = await site.ask("GET", "/2021-04-06/tags?limit=1")
    rest = await site.ask("GET", f"/2021-04-06/tags?nextToken={first.body['nextToken']}")

    assert first.body["resources"] == [
        {"resourceArn": "acs:fc:cn-hangzhou:123456789012:services/a", "tags": {"k": "a"}}
    ]
    assert [row["tags"] for row in rest.body["resources"]] == [{"k": "c"}]


OFFICIAL = "acs:fc:cn-hangzhou:official:layers/l/versions/1"
FULL = {
    "functionName": "hello",
    "runtime": "python3.12",
    "handler": "index.handler",
    "description": "greets",
    "timeout": 30,
    "memorySize": 256,
    "cpu": 0.2,
    "diskSize": 512,
    "role": "r",
    "internetAccess": False,
    "logConfig": {"project": "p", "logstore": "l", "enableLlmMetrics": True},
    "environmentVariables": {"A": "1"},
    "instanceConcurrency": 2,
    "instanceLifecycleConfig": {"initializer": {"handler": "index.init", "timeout": 9}},
    "customContainerConfig": {"image": "i", "command": ["a"], "port": 80, "registryConfig": {"x": {"y": 1}}},
    "customRuntimeConfig": {"command": ["a"], "port": 8080, "healthCheckConfig": {"httpGetUrl": "/"}},
    "gpuConfig": {"gpuType": "fc.gpu.ampere.1", "gpuMemorySize": 1024},
    "disableOndemand": True,
    "disableInjectCredentials": "Request",
    "idleTimeout": 60,
    "instanceIsolationMode": "SHARE",
    "sessionAffinity": "NONE",
    "resourceGroupId": "rg",
}


@pytest.mark.parametrize(
    ("said", "places"),
    [
        (None, (True, True)),
        ("None", (True, True)),
        ("Env", (False, True)),
        ("Request", (True, False)),
        ("All", (False, False)),
    ],
)
async def test_function_of_3_0_says_where_it_wants_no_keys(site, pack, said, places):
    """In variables, in requests, or in neither."""
    body = {"functionName": "f", "runtime": "python3.10", "handler": "index.handler", "code": pack()}
    await site.v3("POST", "/functions", body | ({"disableInjectCredentials": said} if said else {}))

    await site.v3("POST", "/functions/f/invocations", b"")

    image = site.instances.images[-1]
    assert (image.keys_in_environment, image.keys_in_calls) == places


async def test_function_of_3_0_comes_back_as_it_was_made(site, pack):
    """Every field is shown, with an ARN, tags and the state deployment tools poll for; no ETag."""
    tags = [{"Key": "k", "Value": "v"}]
    made = await site.v3("POST", "/functions", {**FULL, "code": pack(), "tags": tags, "layers": [OFFICIAL]})
    got = await site.v3("GET", "/functions/hello")

    assert made.status == 200, made.body
    assert made.body == got.body
    assert {name: got.body[name] for name in FULL} == FULL
    assert got.body["functionArn"] == "acs:fc:cn-hangzhou:123456789012:functions/hello"
    assert (got.body["state"], got.body["lastUpdateStatus"]) == ("Active", "Successful")
    assert got.body["layers"] == [{"arn": OFFICIAL, "size": 0}]
    assert got.body["tags"] == tags
    assert "etag" not in got.headers


async def test_function_of_3_0_runs_with_its_own_role_and_hooks(site, pack):
    """What a service says in 2.0 a function says itself in 3.0; keys can be withheld."""
    await site.v3("POST", "/functions", {**FULL, "disableInjectCredentials": "All", "code": pack()})

    answer = await site.v3("POST", "/functions/hello/invocations", b"hi")

    image = site.instances.images[0]
    assert (answer.status, answer.content) == (200, b"hi")
    assert (image.generation, image.service, image.role, image.log_project) == ("3.0", None, "r", "p")
    assert (image.initializer, image.initializer_timeout_s) == ("index.init", 9)
    assert site.instances.invocations[0].credentials is None
    assert (await site.fc.invoke(site.tenant, FunctionName("", "hello", None), b"in")).result.body == b"in"


async def test_namespaces_are_apart(site, pack):
    """A 3.0 function and a service of the same name know nothing of each other."""
    await site.make_function("hello", "hello")
    body = {"functionName": "hello", "runtime": "python3.10", "handler": "a.b", "code": pack()}
    made = await site.v3("POST", "/functions", body)
    again = await site.v3("POST", "/functions", body)
    await site.v3("DELETE", "/functions/hello")

    assert made.status == 200
    assert (again.status, again.code) == (409, "FunctionAlreadyExists")
    assert (await site.v1("GET", "/services/hello/functions/hello")).status == 200
    assert (await site.v3("GET", "/functions/hello")).code == "FunctionNotFound"


async def test_custom_runtime_needs_no_handler_in_3_0(site, pack):
    """The code brings its own server; built-in runtimes need one."""
    body = {"functionName": "f", "runtime": "custom.debian12", "code": pack()}

    custom = await site.v3("POST", "/functions", body)
    built_in = await site.v3("POST", "/functions", {**body, "functionName": "g", "runtime": "python3.12"})

    assert (custom.status, custom.body["handler"]) == (200, "")
    assert (built_in.status, built_in.code) == (400, "InvalidArgument")


async def test_wrong_checksum_in_the_body_is_refused(site, pack):
    """3.0 carries the checksum beside the code."""
    body = {"functionName": "f", "runtime": "python3.12", "handler": "a.b", "code": {**pack(), "checksum": "7"}}

    answer = await site.v3("POST", "/functions", body)

    assert (answer.status, answer.code) == (400, "InvalidArgument")


async def test_functions_of_3_0_have_versions_and_aliases_of_their_own(site, pack):
    """Publishing freezes the one function; an alias chooses; deleting takes everything along."""
    body = {"functionName": "f", "runtime": "python3.12", "handler": "a.b", "code": pack(index__py="one")}
    await site.v3("POST", "/functions", body)
    published = await site.v3("POST", "/functions/f/versions", {"description": "d"})
    await site.v3("PUT", "/functions/f", {"code": pack(index__py="two")})
    await site.v3("POST", "/functions/f/versions", {})
    again = await site.v3("POST", "/functions/f/versions", {})
    await site.v3("POST", "/functions/f/aliases", {"aliasName": "a", "versionId": "1"})

    called = await site.v3("POST", "/functions/f/invocations?qualifier=a", b"")
    listed = await site.v3("GET", "/functions/f/versions?direction=FORWARD")
    aliases = await site.v3("GET", "/functions/f/aliases")
    frozen = await site.v3("GET", "/functions/f?qualifier=1")
    wrong = [await site.v3("GET", f"/functions/f?qualifier={qualifier}") for qualifier in ("9", "zzz")]
    await site.v3("DELETE", "/functions/f")

    assert (published.body["versionId"], published.body["description"]) == ("1", "d")
    assert "No changes were made since last publish" in again.body["Message"]
    assert called.headers["x-fc-invocation-function-version"] == "1"
    assert (site.instances.images[-1].code_dir / "index.py").read_text() == "one"
    assert [row["versionId"] for row in listed.body["versions"]] == ["1", "2"]
    assert listed.body["direction"] == "FORWARD"
    assert [row["aliasName"] for row in aliases.body["aliases"]] == ["a"]
    assert frozen.body["codeChecksum"] != ""
    assert [answer.code for answer in wrong] == ["VersionNotFound", "AliasNotFound"]
    assert (await site.v3("GET", "/functions/f/versions")).code == "FunctionNotFound"
    await site.v3("POST", "/functions", body)
    assert (await site.v3("GET", "/functions/f/versions")).body["versions"] == []


async def test_list_of_3_0_is_filtered(site, pack):
    """Runtime, name, tags and generation thin out the list."""
    for name, runtime in (("a", "python3.10"), ("b", "python3.12"), ("ab", "python3.12")):
        body = {"functionName": name, "runtime": runtime, "handler": "a.b", "code": pack()}
        await site.v3("POST", "/functions", {**body, "tags": [{"Key": "k", "Value": name}]})

    async def names(query: str) -> list[str]:
        return [row["functionName"] for row in (await site.v3("GET", "/functions?" + query)).body["functions"]]

    assert await names("") == ["a", "ab", "b"]
    assert await names("runtime=python3.12") == ["ab", "b"]
    assert await names("functionName=a") == ["a", "ab"]
    assert await names("prefix=a&limit=1") == ["a"]
    assert await names("fcVersion=v2") == []
    assert (await site.v3("GET", "/functions?fcVersion=v2&limit=0")).code == "InvalidArgument"
    assert await names("tags=" + quote(json.dumps([{"Key": "k", "Value": "b"}]))) == ["b"]


async def test_filtered_list_of_3_0_has_full_pages(site, pack):
    """What a filter leaves out takes no place on a page, and only a list that goes on has a token."""
    for number in range(7):
        body = {"functionName": f"f{number}", "runtime": f"python3.1{0 if number < 4 else 2}", "handler": "a.b"}
        await site.v3("POST", "/functions", {**body, "code": pack()})

    async def listed(query):
        pages, token = [], ""
        while True:
            body = (await site.v3("GET", f"/functions?{query}&nextToken={token}")).body
            pages.append([row["functionName"] for row in body["functions"]])
            if not (token := body.get("nextToken")):
                return pages

    assert await listed("limit=2&runtime=python3.12") == [["f4", "f5"], ["f6"]]
    assert await listed("limit=3&runtime=python3.10") == [["f0", "f1", "f2"], ["f3"]]
    assert await listed("limit=4&runtime=python3.10") == [["f0", "f1", "f2", "f3"]]
    assert await listed("limit=3") == [["f0", "f1", "f2"], ["f3", "f4", "f5"], ["f6"]]
    assert await listed("limit=2&runtime=custom") == [[]]


async def test_hooks_of_a_function_are_those_of_its_generation(site, pack):
    """3.0 has no hook before a pause, and the initializer of 2.0 is a field of its own."""
    hooks = {moment: {"handler": f"index.{moment}", "timeout": 5} for moment in ("initializer", "preFreeze", "preStop")}
    made = {"runtime": "python3.10", "handler": "index.handler", "code": pack(), "instanceLifecycleConfig": hooks}

    old = await site.make_function(**made)
    new = await site.v3("POST", "/functions", {"functionName": "order", **made})
    await site.v1("POST", "/services/shop/functions/order/invocations", b"")
    await site.v3("POST", "/functions/order/invocations", b"")

    assert old.body["instanceLifecycleConfig"].keys() == {"preFreeze", "preStop"}
    assert new.body["instanceLifecycleConfig"].keys() == {"initializer", "preStop"}
    ran = [(image.initializer, image.pre_freeze, image.pre_stop) for image in site.instances.images]
    assert ran == [(None, "index.preFreeze", "index.preStop"), ("index.initializer", None, "index.preStop")]


async def test_3_0_has_no_etags(site, pack):
    """Neither in answers nor in requests; what 2.0 makes has them."""
    await site.make_function()
    await site.v1("POST", "/services/shop/versions", {})
    body = {"functionName": "order", "runtime": "python3.10", "handler": "index.handler", "code": pack()}
    await site.v3("POST", "/functions", body)
    await site.v3("POST", "/functions/order/versions", {})
    timer = {"triggerName": "t", "triggerType": "timer", "triggerConfig": '{"cronExpression": "@every 1h"}'}

    for site_of, owner, function, count in (
        (site.v1, "/services/shop", "/services/shop/functions/order", 9),
        (site.v3, "/functions/order", "/functions/order", 0),
    ):
        made = [
            (f"{function}/triggers", timer, "t"),
            (f"{owner}/aliases", {"aliasName": "a", "versionId": "1"}, "a"),
            ("/custom-domains", {"domainName": f"{site_of.__name__}.example.com", "protocol": "HTTP"}, None),
        ]
        answers = []
        for path, content, name in made:
            one = f"{path}/{name or content['domainName']}"
            answers += [await site_of("POST", path, content), await site_of("GET", one)]
            answers += [await site_of("PUT", one, {})]
            stale = await site_of("PUT", one, {}, If_Match="stale")
            assert stale.status == (412 if count else 200)
        assert [answer.status for answer in answers] == [200] * 9
        assert sum("etag" in answer.headers for answer in answers) == count


async def test_account_has_a_default_role_in_2021_alone(site):
    """The members of each version's answer."""
    first, second = [await site.ask("GET", f"/{api}/account-settings") for api in ("2016-08-15", "2021-04-06")]

    assert first.body == {"availableAZs": ["cn-hangzhou-f"]}
    assert second.body == {"availableAZs": ["cn-hangzhou-f"], "defaultRole": ""}


@pytest.mark.parametrize("path", ["/2016-08-15/reservedCapacities", "/2021-04-06/reserved-capacities"])
@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "nextToken=!"])
async def test_list_of_reserved_capacities_checks_its_page(site, path, query):
    """An empty list is asked for like any other."""
    refused, listed = await site.ask("GET", f"{path}?{query}"), await site.ask("GET", f"{path}?limit=100")

    assert (refused.status, refused.code) == (400, "InvalidArgument")
    assert listed.body == {"reservedCapacities": []}


@pytest.mark.parametrize(
    ("method", "path", "body", "text"),
    [
        (
            "PUT", "/services/shop/functions/order/on-demand-config", {"maximumInstanceCount": -1},
            "maximumInstanceCount -1 is out of range: it must be from 0 to 10000",
        ),
        (
            "POST", "/custom-domains", {"domainName": "a.example.com", "protocol": "FTP"},
            "protocol 'FTP' is invalid: it must be one of HTTP, HTTP,HTTPS, HTTPS",
        ),
        (
            "POST", "/custom-domains",
            {"domainName": "a.example.com", "protocol": "HTTP", "routeConfig": {"routes": [{"path": 1}]}},
            "routeConfig.routes[0].path must be a string",
        ),
        ("POST", "/services/shop/functions/order/triggers", {"triggerName": "t"}, "triggerType is required"),
    ],
    ids=["on demand", "protocol", "route", "trigger"],
)  # fmt: skip
async def test_refused_member_is_named_as_the_caller_wrote_it(site, method, path, body, text):
    """By its place in the body, which has no name itself."""
    await site.make_function()

    refused = await site.v1(method, path, body)

    assert (refused.status, refused.body["ErrorMessage"]) == (400, text)


async def test_tags_of_3_0_are_set_listed_and_removed(site, pack):
    """Functions are tagged by name or ARN, in lists."""
    for name in ("a", "b"):
        body = {"functionName": name, "runtime": "python3.10", "handler": "a.b", "code": pack()}
        await site.v3("POST", "/functions", body)
    arn = "acs:fc:cn-hangzhou:123456789012:functions/b"
    tag = {"ResourceType": "function", "ResourceId": ["a", arn], "Tag": [{"Key": "k", "Value": "v"}]}

    set_them = await site.v3("POST", "/tags-v2", tag)
    listed = await site.v3("GET", "/tags-v2?ResourceType=function&ResourceId=" + quote('["b"]'))
    everything = await site.v3("GET", "/tags-v2?ResourceType=function&Limit=1")
    query = "/tags-v2?ResourceType=function&ResourceId=" + quote('["b"]')
    removed = await site.v3("DELETE", query + "&TagKey=" + quote('["k"]') + "&All=False")
    left = await site.v3("GET", query)
    wrong = await site.v3("POST", "/tags-v2", {**tag, "ResourceType": "cat"})

    assert set_them.status == removed.status == 200
    assert listed.body["TagResources"] == [
        {"ResourceId": arn, "ResourceType": "function", "TagKey": "k", "TagValue": "v"}
    ]
    assert len(everything.body["TagResources"]) == 1
    assert everything.body["NextToken"]
    assert left.body["TagResources"] == []
    assert wrong.code == "InvalidArgument"


async def test_lists_of_tags_are_filtered_first_and_paged_by_tag(site, pack):
    """A key without a value stands for any value; every page but the last is full."""
    for name, pairs in (("a", {"x": "1"}), ("b", {"x": "2", "y": "3"}), ("c", {"y": "4"})):
        body = {"functionName": name, "runtime": "python3.10", "handler": "a.b", "code": pack()}
        tags = [{"Key": key, "Value": value} for key, value in pairs.items()]
        await site.v3("POST", "/functions", {**body, "tags": tags})

    async def listed(limit, wanted=(), named=()):
        query = f"/tags-v2?ResourceType=function&Limit={limit}"
        query += f"&Tag={quote(json.dumps(wanted))}" if wanted else ""
        query += f"&ResourceId={quote(json.dumps(named))}" if named else ""
        pages, token = [], ""
        while True:
            body = (await site.v3("GET", f"{query}&NextToken={token}")).body
            pages.append([row["ResourceId"][-1] + row["TagKey"] + row["TagValue"] for row in body["TagResources"]])
            if not (token := body["NextToken"]):
                return pages

    assert await listed(3) == [["ax1", "bx2", "by3"], ["cy4"]]
    assert await listed(1, named=["b", "b"]) == [["bx2"], ["by3"]]
    assert await listed(2, [{"Key": "y"}]) == [["bx2", "by3"], ["cy4"]]
    assert await listed(2, [{"Key": "y", "Value": "4"}]) == [["cy4"]]
    assert (await site.v3("GET", "/tags-v2?ResourceType=cat")).code == "InvalidArgument"


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/functions/f/nothing"), ("GET", "/services"), ("PUT", "/functions")]
)
async def test_paths_3_0_does_not_have_are_refused(site, method, path):
    """Services are not part of the newest dialect."""
    answer = await site.v3(method, path)

    assert (answer.status, answer.body["Code"]) == (400, "PathNotSupported")
    assert answer.body["Message"] == f"'{method}' against '/2023-03-30{path}' is not supported"


async def test_region_is_told(site):
    """3.0 clients can ask for regions; there is one."""
    answer = await site.v3("GET", "/regions?AcceptLanguage=en")

    assert answer.body["Regions"]["Region"][0]["RegionId"] == "cn-hangzhou"
