"""Layers: numbered versions, what functions get of them, and what stays when one is deleted."""

import pytest

ARN = "acs:fc:cn-hangzhou:123456789012:layers/tools/versions/{}"


async def publish(site, pack, name="tools", **fields):
    body = {"compatibleRuntime": ["python3.10"], "code": pack(python__txt="x"), **fields}
    return await site.v1("POST", f"/layers/{name}/versions", body)


async def test_versions_count_up_and_are_listed(site, pack):
    """Each publish is the next number; lists show versions by number and the newest of each layer."""
    one = await publish(site, pack, description="first", license="MIT")
    two = await publish(site, pack, code=pack(other__txt="y"))
    await publish(site, pack, name="another")

    versions = await site.v1("GET", "/layers/tools/versions?limit=1")
    rest = await site.v1("GET", "/layers/tools/versions?startVersion=2")
    layers = await site.v3("GET", "/layers")
    got = await site.v3("GET", "/layers/tools/versions/1")
    by_arn = await site.v3("GET", "/layerarn/" + ARN.format(2).replace("/", "%2F"))

    assert (one.body["version"], two.body["version"]) == (1, 2)
    assert one.body["arn"] == ARN.format(1)
    assert one.body["code"]["location"].startswith("http://127.0.0.1:8868/_localyun/code/")
    assert [row["version"] for row in versions.body["layers"]] == [1]
    assert versions.body["nextVersion"] == 2
    assert [row["version"] for row in rest.body["layers"]] == [2]
    assert [(row["layerName"], row["version"]) for row in layers.body["layers"]] == [("another", 1), ("tools", 2)]
    assert (got.body["license"], got.body["layerVersionArn"], got.body["acl"]) == ("MIT", ARN.format(1), "0")
    assert by_arn.body["version"] == 2


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"compatibleRuntime": ["cobol"]}, "cobol"),
        ({"code": None}, "code is required"),
        ({"code": {"zipFile": "!"}}, "base64"),
    ],
)
async def test_bad_layer_is_refused(site, pack, fields, says):
    """The message names the field; no number is used up."""
    answer = await publish(site, pack, **fields)

    assert (answer.status, answer.code) == (400, "InvalidArgument")
    assert says in answer.body["ErrorMessage"]
    assert (await publish(site, pack)).body["version"] == 1


@pytest.mark.parametrize("runtimes", [None, []])
async def test_a_layer_need_not_name_runtimes(site, pack, runtimes):
    """Terraform's provider sends none where its file names none."""
    made = await publish(site, pack, compatibleRuntime=runtimes)

    assert (made.status, made.body["compatibleRuntime"]) == (200, [])


async def test_function_runs_with_its_layers_in_order(site, pack):
    """The image names the unpacked folders, first layer first; an unknown one is refused."""
    await publish(site, pack, code=pack(first__txt="1"))
    await publish(site, pack, code=pack(second__txt="2"))
    made = await site.make_function(layers=[ARN.format(2), ARN.format(1)])
    unknown = await site.v1("PUT", "/services/shop/functions/order", {"layers": [ARN.format(9)]})
    nonsense = await site.v1("PUT", "/services/shop/functions/order", {"layers": ["tools"]})
    await site.v1("POST", "/services/shop/functions/order/invocations", b"")

    folders = site.instances.images[-1].layers
    assert made.status == 200, made.content
    assert [sorted(path.name for path in folder.iterdir()) for folder in folders] == [["second.txt"], ["first.txt"]]
    assert unknown.code == "LayerVersionNotFound"
    assert nonsense.code == "InvalidArgument"


async def test_deleted_version_goes_on_serving_functions_that_use_it(site, pack):
    """It is gone for everybody else, its number is not given out again, and its package stays."""
    await publish(site, pack)
    await site.make_function(layers=[ARN.format(1)])

    gone = await site.v1("DELETE", "/layers/tools/versions/1")
    again = await site.v1("GET", "/layers/tools/versions/1")
    await site.fc.unused_packages.remove()
    await site.v1("POST", "/services/shop/functions/order/invocations", b"")
    update = await site.v1("PUT", "/services/shop/functions/order", {"layers": [ARN.format(1)], "timeout": 9})
    other = await site.make_function(name="other", layers=[ARN.format(1)])
    next_one = await publish(site, pack)

    assert gone.status == 204
    assert again.code == "LayerNotFound"
    assert (site.instances.images[-1].layers[0] / "python.txt").is_file()
    assert update.status == 200
    assert other.code == "LayerVersionNotFound"
    assert next_one.body["version"] == 2


@pytest.mark.parametrize("updates", [False, True], ids=["made", "changed"])
async def test_a_version_that_is_deleted_while_the_code_of_a_function_is_stored(site, pack, monkeypatch, updates):
    """Nothing uses it yet, so it goes for good; the function is refused."""
    await publish(site, pack)
    await site.make_function()
    in_thread, deleted = site.fc.codes.in_thread, []

    async def deleted_meanwhile(job):
        result = await in_thread(job)
        deleted.append(await site.v1("DELETE", "/layers/tools/versions/1"))
        return result

    monkeypatch.setattr(site.fc.codes, "in_thread", deleted_meanwhile)
    if updates:
        fields = {"layers": [ARN.format(1)], "code": pack(other__txt="2")}
        answer = await site.v1("PUT", "/services/shop/functions/order", fields)
    else:
        answer = await site.make_function(name="other", layers=[ARN.format(1)])

    assert deleted[0].status == 204
    assert answer.code == "LayerVersionNotFound"
    assert (await site.v1("GET", "/services/shop/functions/order")).body["layers"] == []
    assert (await site.v1("GET", "/services/shop/functions/other")).status == 404


async def test_layer_is_opened_to_others_and_official_ones_pass(site, pack, caplog):
    """``public`` lists open layers; a layer of the cloud is taken and left out with a warning."""
    await publish(site, pack)

    before = await site.v3("GET", "/layers?public=true")
    opened = await site.v3("PUT", "/layers/tools/acl?public=true")
    after = await site.v3("GET", "/layers?public=true")
    made = await site.make_function(layers=["acs:fc:cn-hangzhou:official:layers/Python3-Flask2x/versions/2"])
    await site.v1("POST", "/services/shop/functions/order/invocations", b"")

    assert before.body["layers"] == []
    assert opened.status == 204
    assert [(row["layerName"], row["acl"]) for row in after.body["layers"]] == [("tools", "1")]
    assert made.status == 200
    assert "Python3-Flask2x" in caplog.text
    assert (await site.v3("PUT", "/layers/none/acl?public=true")).code == "LayerNotFound"
