"""Versions freeze, aliases choose."""

import pytest

from emulator.kernel.frozen import replace
from emulator.services.fc.catalog import store
from emulator.services.fc.catalog.store import CatalogStore
from emulator.services.fc.operations import versions

CALL = "/services/shop{}/functions/order/invocations"


async def published(site, pack, *codes: str) -> None:
    """Publish one version of the service for each of *codes*, which differ."""
    await site.make_function("shop", "order", code=pack(index__py="start"))
    for code in codes:
        await site.v1("PUT", "/services/shop/functions/order", {"code": pack(index__py=code), "description": code})
        answer = await site.v1("POST", "/services/shop/versions", {"description": f"with {code}"})
        assert answer.status == 200, answer.body


async def ran(site, qualifier: str = "") -> tuple[str, str]:
    """Call the function and return the version the answer names and the code that ran."""
    answer = await site.v1("POST", CALL.format(qualifier), b"")
    assert answer.status == 200, answer.body
    image = site.instances.images[-1]
    return answer.headers["x-fc-invocation-service-version"], (image.code_dir / "index.py").read_text()


async def test_version_keeps_code_and_configuration_of_its_moment(site, pack):
    """Later changes to function and service leave a published version as it was."""
    await published(site, pack, "one")
    await site.v1("PUT", "/services/shop/functions/order", {"code": pack(index__py="two"), "timeout": 99})
    await site.v1("PUT", "/services/shop", {"description": "changed", "role": "late"})

    function = await site.v1("GET", "/services/shop.1/functions/order")
    functions = await site.v1("GET", "/services/shop.1/functions")
    service = await site.v1("GET", "/services/shop.1")

    assert await ran(site, ".1") == ("1", "one")
    assert site.instances.images[-1].role == ""
    assert site.instances.images[-1].family.endswith("/shop/order/1")
    assert await ran(site) == ("LATEST", "two")
    assert await ran(site, ".LATEST") == ("LATEST", "two")
    assert (function.body["timeout"], function.body["description"]) == (3, "one")
    assert [row["description"] for row in functions.body["functions"]] == ["one"]
    assert service.body["description"] == "with one"


async def test_publishing_without_a_change_is_refused_with_the_words_tools_look_for(site, pack):
    """The text of the refusal is what deployment scripts match on; a change of anything lifts it."""
    await published(site, pack, "one")

    refused = await site.v1("POST", "/services/shop/versions", {})
    await site.v1("PUT", "/services/shop", {"description": "new"})
    passed = await site.v1("POST", "/services/shop/versions", {})

    await site.v1("POST", "/tag", {"resourceArn": "services/shop", "tags": {"team": "a"}})
    tagged = await site.v1("POST", "/services/shop/versions", {})

    assert (refused.status, refused.code) == (400, "VersionPublishError")
    assert tagged.body["versionId"] == "3"
    assert refused.body["ErrorMessage"] == (
        "can not publish version for service 'shop', detail: 'No changes were made since last publish'"
    )
    assert passed.body["versionId"] == "2"


async def test_version_numbers_are_never_given_out_twice(site, pack):
    """A deleted version's number stays used."""
    await published(site, pack, "one", "two")
    await site.v1("DELETE", "/services/shop/versions/2")
    await site.v1("PUT", "/services/shop", {"description": "x"})

    answer = await site.v1("POST", "/services/shop/versions", {})

    assert answer.body["versionId"] == "3"


async def test_publish_with_a_stale_etag_is_refused(site, pack):
    """The ETag of the service guards publishing; publishing itself does not change it."""
    await site.make_function("shop", "order")
    etag = (await site.v1("GET", "/services/shop")).headers["etag"]

    refused = await site.v1("POST", "/services/shop/versions", {}, If_Match="other")
    passed = await site.v1("POST", "/services/shop/versions", {}, If_Match=etag)

    assert refused.code == "PreconditionFailed"
    assert passed.status == 200
    assert (await site.v1("GET", "/services/shop")).headers["etag"] == etag


async def test_versions_are_listed_in_either_direction_in_pages(site, pack):
    """Newest first is the default; FORWARD turns it round; order is by number, not by text."""
    await published(site, pack, *[f"code {index}" for index in range(11)])

    async def ids(query: str) -> tuple[list[str], str]:
        body = (await site.v1("GET", "/services/shop/versions?" + query)).body
        return [row["versionId"] for row in body["versions"]], body.get("nextToken", "")

    newest, token = await ids("limit=3")
    then, _ = await ids(f"limit=3&nextToken={token}")
    oldest, _ = await ids("limit=3&direction=FORWARD")
    started, _ = await ids("limit=3&direction=FORWARD&startKey=9")

    assert (newest, then) == (["11", "10", "9"], ["8", "7", "6"])
    assert oldest == ["1", "2", "3"]
    assert started == ["9", "10", "11"]
    assert (await site.v1("GET", "/services/shop/versions?direction=UP")).code == "InvalidArgument"
    assert (await site.v1("GET", "/services/shop/versions?startKey=x")).code == "InvalidArgument"


async def test_alias_sends_the_share_of_its_weight_to_the_additional_version(site, pack):
    """The draw of each call decides, and the answer names the version that ran."""
    await published(site, pack, "one", "two")
    await site.v1(
        "POST",
        "/services/shop/aliases",
        {"aliasName": "online", "versionId": "1", "additionalVersionWeight": {"2": 0.25}},
    )
    seen = {}
    for draw in (0.0, 0.24, 0.25, 0.99):
        site.ids.fraction = lambda draw=draw: draw
        seen[draw] = await ran(site, ".online")

    assert seen == {0.0: ("2", "two"), 0.24: ("2", "two"), 0.25: ("1", "one"), 0.99: ("1", "one")}
    assert {invocation.qualifier for invocation in site.instances.invocations} == {"online"}
    assert (await site.v1("GET", "/services/shop.online/functions/order")).body["description"] == "one"


async def test_moved_alias_takes_the_next_call_along(site, pack):
    """Switching an alias works at once, forth and back."""
    await published(site, pack, "one", "two")
    made = await site.v1("POST", "/services/shop/aliases", {"aliasName": "online", "versionId": "1"})
    before = await ran(site, ".online")

    moved = await site.v1("PUT", "/services/shop/aliases/online", {"versionId": "2"}, If_Match=made.headers["etag"])
    after = await ran(site, ".online")

    assert (before, after) == (("1", "one"), ("2", "two"))
    assert moved.headers["etag"] != made.headers["etag"]


async def test_alias_may_point_at_the_head(site, pack):
    """LATEST is a possible target."""
    await published(site, pack, "one")
    await site.v1("PUT", "/services/shop/functions/order", {"code": pack(index__py="head")})

    made = await site.v1("POST", "/services/shop/aliases", {"aliasName": "dev", "versionId": "LATEST"})

    assert made.body["versionId"] == "LATEST"
    assert await ran(site, ".dev") == ("LATEST", "head")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "", {"aliasName": "online", "versionId": "1"}, 409, "AliasAlreadyExists"),
        ("POST", "", {"aliasName": "x", "versionId": "9"}, 404, "VersionNotFound"),
        ("POST", "", {"aliasName": "x", "versionId": "0"}, 404, "VersionNotFound"),
        ("POST", "", {"aliasName": "x"}, 400, "InvalidArgument"),
        ("POST", "", {"versionId": "1"}, 400, "InvalidArgument"),
        ("POST", "", {"aliasName": "LATEST", "versionId": "1"}, 400, "InvalidArgument"),
        ("POST", "", {"aliasName": "12", "versionId": "1"}, 400, "InvalidArgument"),
        (
            "POST",
            "",
            {"aliasName": "x", "versionId": "1", "additionalVersionWeight": {"9": 0.1}},
            404,
            "VersionNotFound",
        ),
        ("POST", "", {"aliasName": "x", "versionId": "1", "additionalVersionWeight": {"2": 2}}, 400, "InvalidArgument"),
        ("GET", "/none", None, 404, "AliasNotFound"),
        ("PUT", "/none", {"versionId": "1"}, 404, "AliasNotFound"),
        ("PUT", "/online", {"versionId": "9"}, 404, "VersionNotFound"),
        ("DELETE", "/none", None, 404, "AliasNotFound"),
    ],
)
async def test_impossible_aliases_are_refused(site, pack, method, path, body, status, code):
    """Aliases need a good name and versions that exist."""
    await published(site, pack, "one", "two")
    await site.v1("POST", "/services/shop/aliases", {"aliasName": "online", "versionId": "1"})

    answer = await site.v1(method, "/services/shop/aliases" + path, body)

    assert (answer.status, answer.code) == (status, code)


async def test_aliases_are_listed_by_name(site, pack):
    """Prefix and pages work as everywhere."""
    await published(site, pack, "one")
    for name in ("live", "dev", "devel"):
        await site.v1("POST", "/services/shop/aliases", {"aliasName": name, "versionId": "1"})

    listed = await site.v1("GET", "/services/shop/aliases?prefix=dev&limit=1")

    assert [row["aliasName"] for row in listed.body["aliases"]] == ["dev"]
    assert listed.body.get("nextToken", "")


async def test_version_is_deleted_though_an_alias_leads_to_it(site, pack):
    """A version of a service goes, and a call by its alias says then what is missing."""
    await published(site, pack, "one", "two")
    await site.v1("POST", "/services/shop/aliases", {"aliasName": "online", "versionId": "1"})

    passed = await site.v1("DELETE", "/services/shop/versions/1")
    gone = await site.v1("POST", CALL.format(".online"), b"")
    removed = await site.v1("DELETE", "/services/shop/aliases/online")
    unknown = await site.v1("DELETE", "/services/shop/versions/1")
    malformed = await site.v1("DELETE", "/services/shop/versions/one")

    assert (passed.status, removed.status) == (204, 204)
    assert (gone.status, gone.code) == (404, "VersionNotFound")
    assert gone.body["ErrorMessage"] == "version '1' of service 'shop' does not exist"
    assert (unknown.code, malformed.code) == ("VersionNotFound", "InvalidArgument")


async def test_calls_of_what_is_not_there_name_what_is_missing(site, pack):
    """Version, alias and function are told apart."""
    await published(site, pack, "one")

    codes = {
        path: (await site.v1("POST", f"/services/shop{path}/invocations", b"")).code
        for path in (".9/functions/order", ".nope/functions/order", ".1/functions/none", "/functions/none")
    }

    assert codes == {
        ".9/functions/order": "VersionNotFound",
        ".nope/functions/order": "AliasNotFound",
        ".1/functions/none": "FunctionNotFound",
        "/functions/none": "FunctionNotFound",
    }


async def test_function_deleted_from_the_head_lives_on_in_versions(site, pack):
    """A version is whole whatever happens to the head."""
    await published(site, pack, "one")
    await site.v1("DELETE", "/services/shop/functions/order")
    site.timers.advance(901_000)
    await site.fc.codes.in_thread(lambda: None)
    await site.fc.codes.in_thread(lambda: None)

    assert await ran(site, ".1") == ("1", "one")
    assert (await site.v1("POST", CALL.format(""), b"")).code == "FunctionNotFound"


@pytest.mark.parametrize("others", [1, 12])
async def test_a_version_is_deleted_without_reading_the_aliases_of_others(site, pack, monkeypatch, others):
    """Those alone that may lead to it: by its number or by their weights."""
    body = {"functionName": "f", "runtime": "python3.10", "handler": "index.handler", "code": pack()}
    await site.v3("POST", "/functions", body)
    for number in range(3):
        await site.v3("PUT", "/functions/f", {"description": f"{number}"})
        assert (await site.v3("POST", "/functions/f/versions", {})).status == 200
    for number in range(others):
        alias = {"aliasName": f"a{number}", "versionId": "2"}
        assert (await site.v3("POST", "/functions/f/aliases", alias)).status == 200
    weighed = {"aliasName": "weighed", "versionId": "2", "additionalVersionWeight": {"3": 0.5}}
    assert (await site.v3("POST", "/functions/f/aliases", weighed)).status == 200
    read, real = [], store._ALIASES.item
    monkeypatch.setattr(store._ALIASES, "item", lambda row: (read.append(real(row)), read[-1])[1])

    kept = await site.v3("DELETE", "/functions/f/versions/3")
    gone = await site.v3("DELETE", "/functions/f/versions/1")

    assert (kept.code, gone.status) == ("VersionInUse", 204)
    assert [alias.name for alias in read] == ["weighed"]


async def test_a_service_is_published_by_one_statement_however_many_functions_it_has(site, pack, monkeypatch):
    """They are read some in each turn of the loop, and the version has all of them."""
    monkeypatch.setattr(versions, "_AT_ONCE", 3)
    for number in range(10):
        await site.make_function("shop", f"order{number}", code=pack(index__py="one"))
    read, written = [], []
    functions, write = CatalogStore.functions, CatalogStore._write
    monkeypatch.setattr(
        CatalogStore, "functions", lambda *given: (rows := functions(*given), read.append(len(rows)))[0]
    )
    monkeypatch.setattr(CatalogStore, "_write", lambda *given: (written.append(given[1]), write(*given))[1])

    answer = await site.v1("POST", "/services/shop/versions", {})
    await site.v1("PUT", "/services/shop/functions/order7", {"description": "later"})
    frozen = await site.v1("GET", "/services/shop.1/functions")

    assert answer.body["versionId"] == "1"
    assert max(read[:4]) == 4
    assert sum("INTO fc_functions" in sql for sql in written) == 1 + 1
    assert [row["functionName"] for row in frozen.body["functions"]] == [f"order{number}" for number in range(10)]
    assert {row["description"] for row in frozen.body["functions"]} == {""}
    row = site.fc.store.function(site.tenant, "shop", "order7", 1)
    head = site.fc.store.function(site.tenant, "shop", "order7")
    assert (row.revision, row.folder, row.base, row.changed, row.triggers) == (1, "", None, {}, ())
    assert (row.id, row.code, row.problem) == (head.id, head.code, head.problem)


async def test_a_function_that_changes_while_others_are_read_ends_the_publishing(site, pack, monkeypatch):
    """What is published is of one moment; a change of another service does not matter."""
    monkeypatch.setattr(versions, "_AT_ONCE", 2)
    for name in ("shop", "other"):
        for number in range(5):
            await site.make_function(name, f"order{number}", code=pack(index__py="one"))
    functions, meanwhile = CatalogStore.functions, []

    def noticed(store, tenant, service, *rest):
        rows = functions(store, tenant, service, *rest)
        if meanwhile:
            changed = meanwhile.pop()
            store.put_function(tenant, replace(store.function(tenant, changed, "order0"), problem="new"))
        return rows

    monkeypatch.setattr(CatalogStore, "functions", noticed)

    meanwhile.append("shop")
    refused = await site.v1("POST", "/services/shop/versions", {})
    meanwhile.append("other")
    passed = await site.v1("POST", "/services/shop/versions", {})

    assert (refused.status, refused.code) == (409, "ConcurrentUpdateError")
    assert (passed.status, passed.body["versionId"]) == (200, "1")


@pytest.mark.parametrize("version", ["0", "00", "12345678901", "9" * 40])
async def test_a_number_that_no_version_can_have_is_not_the_newest_code(site, pack, version):
    """Versions count from 1 and have up to ten digits; 0 is refused like any other number without a version."""
    await published(site, pack, "one")

    called = await site.v1("POST", CALL.format(f".{version}"), b"")
    read = await site.v1("GET", f"/services/shop.{version}/functions/order")
    configured = await site.v1("PUT", f"/services/shop.{version}/functions/order/async-invoke-config", {})

    assert [each.code for each in (called, read, configured)] == ["VersionNotFound"] * 3
    assert called.body["ErrorMessage"] == f"version '{version}' of service 'shop' does not exist"


@pytest.mark.parametrize("qualifier", ["online", "0", "1"])
async def test_a_missing_owner_is_reported_before_its_version_or_alias(site, qualifier):
    """Deployment tools create a service or function when they read this code."""
    of_service = await site.v1("POST", f"/services/none.{qualifier}/functions/order/invocations", b"")
    of_function = await site.v3("GET", f"/functions/none?qualifier={qualifier}")

    assert (of_service.code, of_function.code) == ("ServiceNotFound", "FunctionNotFound")
