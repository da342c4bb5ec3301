"""Functions of 2.0: create, update, delete, code."""

import base64
import io
import json
import zipfile
from urllib.parse import quote

import pytest

from emulator.kernel.crc64 import checksum
from emulator.services.fc.catalog.code import decode_zip
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.model import FunctionName

FULL = {
    "functionName": "order",
    "runtime": "python3.10",
    "handler": "pkg/index.handler",
    "description": "takes orders",
    "timeout": 60,
    "memorySize": 512,
    "cpu": 0.35,
    "diskSize": 512,
    "instanceConcurrency": 4,
    "instanceSoftConcurrency": 2,
    "instanceType": "e1",
    "environmentVariables": {"A": "1", "b_2": "äö"},
    "initializer": "index.init",
    "initializationTimeout": 30,
    "instanceLifecycleConfig": {
        "preFreeze": {"handler": "index.freeze", "timeout": 5},
        "preStop": {"handler": "index.stop"},
    },
    "caPort": 9000,
    "customDNS": {"nameServers": ["1.1.1.1"], "searches": ["x"], "dnsOptions": [{"name": "ndots", "value": "1"}]},
    "customRuntimeConfig": {"command": ["a"], "args": ["b"]},
    "customHealthCheckConfig": {"httpGetUrl": "/ok", "periodSeconds": 3},
    "layers": ["acs:fc:cn-hangzhou:official:layers/l/versions/1"],
}


async def test_function_comes_back_as_it_was_made(site, pack):
    """Every field of a create request is shown again, with size and checksum of the code, without the code."""
    code = pack()
    made = await site.make_function("shop", **{**FULL, "name": "order", "code": code})
    got = await site.v1("GET", "/services/shop/functions/order")

    zipped = base64.b64decode(code["zipFile"])
    assert made.status == 200
    assert made.body == got.body
    assert {name: got.body[name] for name in FULL} == FULL
    assert (got.body["codeSize"], got.body["codeChecksum"]) == (len(zipped), checksum(zipped))
    assert "code" not in got.body
    assert got.headers["etag"] == made.headers["etag"]


async def test_fields_nobody_has_set_show_their_defaults(open_site, pack):
    """In both generations; what only one knows is shown by that one, and the size of the disk by 3.0 alone."""
    least = {"functionName": "least", "runtime": "python3.10", "handler": "index.handler"}
    shared = {"description": "", "timeout": 3, "memorySize": 128, "instanceConcurrency": 1}

    async with open_site() as site:
        await site.make_function("shop")
        body = {**least, "code": pack()}

        old = (await site.v1("POST", "/services/shop/functions", body)).body
        new = (await site.v3("POST", "/functions", body)).body

        assert {name: old[name] for name in shared} == {name: new[name] for name in shared} == shared
        assert (old["instanceType"], old["initializationTimeout"]) == ("e1", 3)
        assert ("diskSize" in old, new["diskSize"]) == (False, 512)
        assert not {"instanceType", "initializationTimeout"} & new.keys()


async def test_what_runs_is_what_was_configured(site):
    """The image given to the instances has the function's code, limits, hooks and the service's role and log."""
    log = {"project": "p", "logstore": "l"}
    await site.v1("POST", "/services", {"serviceName": "shop", "role": "the-role", "logConfig": log})
    await site.make_function("shop", **{**FULL, "name": "order"})

    await site.v1("POST", "/services/shop/functions/order/invocations", b"x", X_Fc_Tracing_Span="s")

    image, invocation = site.instances.images[0], site.instances.invocations[0]
    assert (image.code_dir / "index.py").read_text().startswith("def handler")
    assert (image.generation, image.service, image.function, image.version) == ("2.0", "shop", "order", "LATEST")
    assert (image.memory_mb, image.timeout_s, image.instance_concurrency) == (512, 60, 4)
    assert (image.initializer, image.initializer_timeout_s) == ("index.init", 30)
    assert (image.pre_freeze, image.pre_freeze_timeout_s, image.pre_stop) == ("index.freeze", 5, "index.stop")
    assert (image.role, image.log_project, image.log_store) == ("the-role", "p", "l")
    assert image.environment == {"A": "1", "b_2": "äö"}
    assert invocation.credentials is not None
    assert site.keys.asked == ["the-role"]
    assert invocation.tracing == {"x-fc-tracing-span": "s"}


async def test_a_function_gets_the_address_of_the_configured_tracing(site, pack):
    """The context's Jaeger endpoint is the service's, in 3.0 the function's own, whatever the caller sends."""
    tracing = {"type": "Jaeger", "params": {"endpoint": "http://jaeger"}}
    await site.v1("POST", "/services", {"serviceName": "shop", "tracingConfig": tracing})
    await site.make_function("shop")
    least = {"functionName": "order", "runtime": "python3.10", "handler": "index.handler", "code": pack()}
    await site.v3("POST", "/functions", {**least, "tracingConfig": tracing})

    await site.v1("POST", "/services/shop/functions/order/invocations", b"", X_Fc_Tracing_Jaeger_Endpoint="mine")
    await site.v3("POST", "/functions/order/invocations", b"", X_Fc_Tracing_Span="s")
    await site.v1("PUT", "/services/shop", {"tracingConfig": {}})
    await site.v1("POST", "/services/shop/functions/order/invocations", b"")

    assert [call.tracing for call in site.instances.invocations] == [
        {"x-fc-tracing-jaeger-endpoint": "http://jaeger"},
        {"x-fc-tracing-jaeger-endpoint": "http://jaeger", "x-fc-tracing-span": "s"},
        {},
    ]


@pytest.mark.parametrize(
    ("change", "status", "code", "says"),
    [
        ({"functionName": "order"}, 409, "FunctionAlreadyExists", "already exists in service 'shop'"),
        ({"functionName": "1a"}, 400, "InvalidArgument", "functionName"),
        ({"functionName": None}, 400, "InvalidArgument", "functionName"),
        ({"runtime": None}, 400, "InvalidArgument", "runtime"),
        ({"runtime": "cobol"}, 400, "InvalidArgument", "Runtime is set to an invalid value"),
        ({"handler": None}, 400, "InvalidArgument", "handler"),
        ({"code": None}, 400, "InvalidArgument", "code"),
        ({"code": {}}, 400, "InvalidArgument", "code"),
        ({"code": {"zipFile": "%%%"}}, 400, "InvalidArgument", "base64"),
        ({"code": {"zipFile": "bm8gemlw"}}, 400, "InvalidArgument", "zip"),
        ({"code": {"ossBucketName": "b"}}, 400, "InvalidArgument", "together"),
        ({"code": {"zipFile": "eA==", "ossBucketName": "b", "ossObjectName": "o"}}, 400, "InvalidArgument", "both"),
        ({"code": {"ossBucketName": "b", "ossObjectName": "o"}}, 400, "InvalidArgument", "object storage"),
        ({"runtime": "custom-container"}, 400, "InvalidArgument", "image"),
    ],
)
async def test_impossible_functions_are_refused(site, change, status, code, says):
    """A create request with something missing or wrong answers the documented code and makes nothing."""
    await site.make_function("shop", "order")

    refused = await site.make_function("shop", "new", **change)
    missing = await site.v1("GET", "/services/shop/functions/new")

    assert (refused.status, refused.code) == (status, code)
    assert says in refused.body["ErrorMessage"]
    assert missing.code == "FunctionNotFound"
    assert missing.body["ErrorMessage"] == "function 'new' does not exist in service 'shop'"


async def test_function_in_a_service_that_is_not_there_is_refused(site, pack):
    """The service comes first."""
    body = {"functionName": "f", "runtime": "python3", "handler": "a.b", "code": pack()}

    answers = [
        await site.v1("POST", "/services/none/functions", body),
        await site.v1("GET", "/services/none/functions"),
        await site.v1("GET", "/services/none/functions/f"),
        await site.v1("POST", "/services/none/functions/f/invocations"),
    ]

    assert [answer.code for answer in answers] == ["ServiceNotFound"] * 4


async def test_container_function_needs_no_code(site):
    """An image replaces the code package."""
    made = await site.make_function(
        "shop",
        "box",
        runtime="custom-container",
        code=None,
        customContainerConfig={"image": "i", "command": '["a"]'},
    )
    code = await site.v1("GET", "/services/shop/functions/box/code")

    assert made.status == 200
    assert made.body["codeSize"] == 0
    assert made.body["customContainerConfig"] == {
        "image": "i", "command": '["a"]', "accelerationInfo": {"status": "Ready"},
    }  # fmt: skip
    assert code.code == "InvalidArgument"


async def test_wrong_code_checksum_is_refused(site, pack):
    """A package that arrived damaged is noticed when the caller sent its checksum."""
    await site.v1("POST", "/services", {"serviceName": "shop"})
    code = pack()
    body = {"functionName": "f", "runtime": "python3", "handler": "a.b", "code": code}
    right = checksum(base64.b64decode(code["zipFile"]))

    refused = await site.v1("POST", "/services/shop/functions", body, X_Fc_Code_Checksum="1")
    made = await site.v1("POST", "/services/shop/functions", body, X_Fc_Code_Checksum=right)

    assert (refused.status, refused.code) == (400, "InvalidArgument")
    assert made.status == 200


async def test_hostile_package_is_refused_through_the_api(site):
    """A zip that would write outside its folder is an invalid argument."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("../evil.py", "x")
    answer = await site.make_function("shop", "f", code={"zipFile": base64.b64encode(sink.getvalue()).decode()})

    assert (answer.status, answer.code) == (400, "InvalidArgument")
    assert "../evil.py" in answer.body["ErrorMessage"]
    assert not list(site.folder.rglob("evil.py"))


async def test_update_changes_what_it_names_and_retires_warm_instances(site, pack):
    """New code or configuration is what the next call runs; what an update leaves out stays."""
    made = await site.make_function("shop", "order", timeout=60)
    await site.v1("POST", "/services/shop/functions/order/invocations")

    updated = await site.v1(
        "PUT", "/services/shop/functions/order", {"memorySize": 256, "code": pack(index__py="new = 1")}
    )
    await site.v1("POST", "/services/shop/functions/order/invocations")

    before, after = site.instances.images
    assert (updated.body["memorySize"], updated.body["timeout"]) == (256, 60)
    assert updated.body["codeChecksum"] != made.body["codeChecksum"]
    assert updated.headers["etag"] != made.headers["etag"]
    assert before.key != after.key
    assert (after.code_dir / "index.py").read_text() == "new = 1"
    assert site.instances.retired == [after.family]


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_stale_etag_stops_a_change(site, method):
    """If-Match guards functions as it guards services."""
    await site.make_function("shop", "order")

    refused = await site.v1(method, "/services/shop/functions/order", {"timeout": 9}, If_Match="x")

    assert (refused.status, refused.code) == (412, "PreconditionFailed")
    assert (await site.v1("GET", "/services/shop/functions/order")).body["timeout"] == 3


async def test_explicit_empty_handler_is_refused_on_update(site):
    """An update cannot take the handler away."""
    await site.make_function("shop", "order")

    answer = await site.v1("PUT", "/services/shop/functions/order", {"handler": ""})

    assert (answer.status, answer.code) == (400, "InvalidArgument")


async def test_two_creates_of_one_name_at_once_make_one_function(site, pack):
    """While one request's package is being unpacked another may come; one of them is told that the name is taken."""
    import asyncio

    await site.v1("POST", "/services", {"serviceName": "shop"})
    body = {"functionName": "f", "runtime": "python3", "handler": "a.b", "code": pack()}

    answers = await asyncio.gather(*(site.v1("POST", "/services/shop/functions", body) for _ in range(2)))

    assert sorted(answer.status for answer in answers) == [200, 409]


async def test_code_can_be_downloaded_for_ten_minutes(site, pack):
    """GetFunctionCode gives an address on the emulator that returns the very package, for a while."""
    code = pack()
    await site.make_function("shop", "order", code=code)

    answer = await site.v1("GET", "/services/shop/functions/order/code")
    token = answer.body["url"].removeprefix("http://127.0.0.1:8868/_localyun/code/")
    package = site.admin.code_download(token)
    site.timers.advance(601_000)
    later = site.admin.code_download(token)

    assert package.content == base64.b64decode(code["zipFile"])
    assert answer.body["checksum"] == package.checksum == checksum(package.content)
    assert later is None
    assert site.admin.code_download("guess") is None


async def test_unused_packages_are_removed_after_a_while(site, pack):
    """Packages no function or version refers to go; the ones in use stay."""
    await site.make_function("shop", "order", code=pack(index__py="1"))
    await site.v1("POST", "/services/shop/versions", {})
    await site.v1("PUT", "/services/shop/functions/order", {"code": pack(index__py="2")})
    await site.v1("PUT", "/services/shop/functions/order", {"code": pack(index__py="3")})
    store = site.folder / "code"
    before = {path.read_text() for path in store.glob("*/index.py")}

    site.timers.advance(901_000)
    await site.fc.codes.in_thread(lambda: None)
    await site.fc.codes.in_thread(lambda: None)

    after = {path.read_text() for path in store.glob("*/index.py")}
    assert before == {"1", "2", "3"}
    assert after == {"1", "3"}
    assert len(list(store.glob("*.zip"))) == 2


async def test_functions_of_a_service_are_listed_by_name_in_pages(site):
    """Listing works as for services, within one service."""
    for name in ("b", "a", "c"):
        await site.make_function("shop", name)
    await site.make_function("other", "x")

    first = (await site.v1("GET", "/services/shop/functions?limit=2")).body
    rest = (await site.v1("GET", f"/services/shop/functions?limit=2&nextToken={first['nextToken']}")).body

    assert [row["functionName"] for row in first["functions"]] == ["a", "b"]
    assert [row["functionName"] for row in rest["functions"]] == ["c"]
    assert "nextToken" not in rest


async def test_everything_survives_a_restart(site_of, tmp_path):
    """A new process on the same state finds services, functions, versions, aliases, tags and code."""

    from emulator.storage.database import Database

    async def first() -> list[bytes]:
        site = site_of(tmp_path, Database(tmp_path / "state.db"))
        await site.fc.start()
        await site.make_function("shop", "order")
        await site.v1("POST", "/services/shop/versions", {"description": "one"})
        await site.v1("POST", "/services/shop/aliases", {"aliasName": "live", "versionId": "1"})
        await site.v1("POST", "/tag", {"resourceArn": "services/shop", "tags": {"k": "v"}})
        return await read(site)

    async def second() -> list[bytes]:
        site = site_of(tmp_path, Database(tmp_path / "state.db"))
        await site.fc.start()
        return await read(site)

    async def read(site) -> list[bytes]:
        paths = [
            "/services",
            "/services/shop/functions/order",
            "/services/shop/versions",
            "/services/shop/aliases/live",
        ]
        answers = [(await site.v1("GET", path)).content for path in [*paths, "/services?tag_k=v"]]
        ran = await site.fc.invoke(site.tenant, FunctionName("shop", "order", "live"), b"x")
        assert (site.instances.images[-1].code_dir / "index.py").is_file()
        assert ran.version == "1"
        await site.fc.close()
        site.database.close()
        return answers

    assert await first() == await second()


async def test_reset_forgets_everything(site):
    """After a reset there is nothing left, and instances have been told to go."""
    await site.make_function("shop", "order")
    await site.v1("POST", "/services/shop/functions/order/invocations")

    await site.fc.reset()

    assert (await site.v1("GET", "/services")).body["services"] == []
    assert site.instances.retired == [site.instances.images[0].family]
    with pytest.raises(FcError, match="ServiceNotFound"):
        await site.fc.invoke(site.tenant, FunctionName("shop", "order", None), b"")


@pytest.mark.parametrize("size", [0, 1, 2, 3, 262_143, 262_144, 262_145, 600_001])
def test_base64_is_decoded_in_pieces_as_in_one(size):
    """Where the pieces end makes no difference, and line breaks do not matter."""
    content = bytes(index * 7 & 0xFF for index in range(size))

    assert decode_zip(base64.b64encode(content).decode()) == content
    assert decode_zip(base64.encodebytes(content).decode()) == content


@pytest.mark.parametrize(
    "text", ["a", "abc", "ab==cd==", "====", "ab=c", "äöüß", "ab c", "a\x00bc", "A" * 262_141 + "===" + "AAAA"]
)
def test_broken_base64_is_refused(text):
    """Wrong lengths, padding inside and foreign characters are no base64."""
    with pytest.raises(InvalidArgument, match="base64"):
        decode_zip(text)


async def test_functions_are_listed_in_pages_and_found_by_parts_of_their_names(site, pack):
    """In order of service and name, in whatever case; the marker is where the next page begins."""
    for service, name in (("shop", "order"), ("shop", "Pay"), ("bank", "pay")):
        await site.make_function(service, name=name, code=pack())

    first = site.admin.page("", 2)

    assert (list(first.items), first.next_marker) == ([("bank", "pay"), ("shop", "Pay")], "shop/order")
    assert list(site.admin.page(first.next_marker, 2).items) == [("shop", "order")]
    assert list(site.admin.page("", 9, "PAY").items) == [("bank", "pay"), ("shop", "Pay")]


@pytest.mark.parametrize("others", [4, 20])
async def test_a_page_of_tags_reads_those_of_the_functions_on_it(site, pack, monkeypatch, others):
    """However many functions have tags, and others than those asked for."""
    for number in range(others):
        tag = {"key": "team", "value": "a" if number % 2 else "b"}
        body = {"functionName": f"f{number:02}", "runtime": "python3.10", "handler": "index.handler", "code": pack()}
        assert (await site.v3("POST", "/functions", {**body, "tags": [tag]})).status == 200
    read, real = [], site.fc.store.tags
    monkeypatch.setattr(site.fc.store, "tags", lambda tenant, name: (read.append(name), real(tenant, name))[1])
    wanted = quote(json.dumps([{"Key": "team", "Value": "a"}]))

    first = (await site.v3("GET", f"/tags-v2?ResourceType=function&Limit=1&Tag={wanted}")).body
    token = quote(first["NextToken"])
    second = (await site.v3("GET", f"/tags-v2?ResourceType=function&Limit=1&Tag={wanted}&NextToken={token}")).body

    ids = [page["TagResources"][0]["ResourceId"].rpartition("/")[2] for page in (first, second)]
    assert ids == ["f01", "f03"]
    assert len(read) <= 6
