"""Functions of the folder behave like those of the API."""

import asyncio
import json
import logging
import shutil
from collections import Counter
from pathlib import Path

import pytest

from emulator.services.fc.catalog import folder, loading, store
from tests.waiting import until

SHOP = {
    "shop/service.yml": "description: from the file\nrole: file-role\n"
    'aliases: {online: {versionId: "1", additionalVersionWeight: {"2": 0.5}}}',
    "shop/Order/index.py": "head",
    "shop/Order/function.yml": "timeout: 60\nmemorySize: 512\ntriggers: [{triggerName: t, triggerType: timer}]",
    "shop/versions/1/Order/index.py": "one",
    "shop/versions/2/Order/index.py": "two",
    "hello/index.py": "hello head",
    "hello/versions/1/index.py": "hello one",
}
CALL = "/services/shop{}/functions/Order/invocations"


def write(root: Path, files: dict[str, str]) -> Path:
    """Write *files* below *root*."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


async def code_of_call(site, qualifier: str = "") -> str:
    """Call the function and return the code that ran."""
    answer = await site.v1("POST", CALL.format(qualifier), b"")
    assert answer.status == 200, answer.content
    return (site.instances.images[-1].code_dir / "index.py").read_text()


async def test_folder_functions_appear_in_lists_gets_and_calls(open_site, tmp_path):
    """They are the same kind of thing as functions made by a client; their code is used in place."""
    async with open_site(write(tmp_path / "functions", SHOP)) as site:
        services = (await site.v1("GET", "/services")).body["services"]
        functions = (await site.v1("GET", "/services/shop/functions")).body["functions"]
        three = (await site.v3("GET", "/functions")).body["functions"]
        got = (await site.v1("GET", "/services/shop/functions/Order")).body

        assert [(row["serviceName"], row["description"]) for row in services] == [("shop", "from the file")]
        assert [row["functionName"] for row in functions] == ["Order"]
        assert [row["functionName"] for row in three] == ["hello"]
        assert (got["timeout"], got["memorySize"], got["runtime"]) == (60, 512, "python3.10")
        assert got["codeSize"] > 0
        assert got["codeChecksum"].isdigit()
        assert await code_of_call(site) == "head"
        assert site.instances.images[-1].code_dir == tmp_path / "functions" / "shop" / "Order"
        assert site.instances.images[-1].role == "file-role"
        assert (await site.v3("POST", "/functions/hello/invocations", b"x")).content == b"x"


async def test_versions_and_aliases_of_the_folder_work(open_site, tmp_path):
    """Numbered folders are versions; aliases of service.yml choose between them by weight."""
    async with open_site(write(tmp_path / "functions", SHOP)) as site:
        site.ids.fraction = lambda: 0.4
        low = await code_of_call(site, ".online")
        site.ids.fraction = lambda: 0.6
        high = await code_of_call(site, ".online")
        versions = (await site.v1("GET", "/services/shop/versions")).body["versions"]
        first = await code_of_call(site, ".1")
        three = await site.v3("POST", "/functions/hello/invocations?qualifier=1", b"")

        assert (low, high, first) == ("two", "one", "one")
        assert [row["versionId"] for row in versions] == ["2", "1"]
        assert three.headers["x-fc-invocation-function-version"] == "1"
        assert (site.instances.images[-1].code_dir / "index.py").read_text() == "hello one"
        assert (await site.v1("GET", "/services/shop.1/functions/Order")).body["timeout"] == 60


async def test_alias_of_a_missing_version_is_a_problem_of_its_file_until_the_version_is_published(open_site, tmp_path):
    """Each version that is missing is named with its place, also one that only gets a share of the calls."""
    root = write(
        tmp_path / "functions",
        {
            "shop/service.yml": "aliases:\n  dev: LATEST"
            '\n  live: {versionId: "1", additionalVersionWeight: {"2": 0.5}}',
            "shop/Order/index.py": "head",
            "hello/index.py": "hello head",
            "hello/function.yml": "timeout: 5\naliases: {live: 7}",
        },
    )

    async with open_site(root) as site:
        at_first = site.fc.problems
        await site.v1("POST", "/services/shop/versions", {})
        published = site.fc.problems

    file = root / "shop" / "service.yml"
    assert at_first == [
        f"{file}:3:3: the alias 'live' names the version 1, which does not exist",
        f"{file}:3:3: the alias 'live' names the version 2, which does not exist",
        f"{root / 'hello' / 'function.yml'}:2:11: the alias 'live' names the version 7, which does not exist",
    ]
    assert published == at_first[1:]


async def test_edit_is_seen_by_a_call_within_a_second(open_site, tmp_path):
    """A changed file gives the function a new state: its warm instances retire and the next call runs the new code."""
    root = write(tmp_path / "functions", SHOP)

    async with open_site(root) as site:
        await code_of_call(site)
        first = site.instances.images[-1]
        write(root, {"shop/Order/index.py": "edited"})

        async def changed() -> bool:
            await code_of_call(site)
            return site.instances.images[-1].key != first.key

        await until(changed, 1.5)

        assert site.instances.retired == [first.family]
        assert await code_of_call(site) == "edited"


async def test_functions_come_and_go_with_their_folders(open_site, tmp_path):
    """A new folder is a new function, a removed one is gone, a service without anything left goes too."""
    root = write(tmp_path / "functions", SHOP)

    async with open_site(root) as site:
        write(root, {"new/index.py": ""})
        shutil.rmtree(root / "shop")

        async def there() -> bool:
            listed = (await site.v3("GET", "/functions")).body["functions"]
            return [row["functionName"] for row in listed] == ["hello", "new"]

        async def gone() -> bool:
            return (await site.v1("GET", "/services/shop")).status == 404

        await until(there)
        await until(gone)

        assert (await site.v1("POST", CALL.format(""), b"")).code == "ServiceNotFound"


async def test_folder_made_after_the_start_is_served(open_site, tmp_path):
    """The first function of a new project comes when the emulator already runs."""
    root = tmp_path / "functions"

    async with open_site(root) as site:
        assert (await site.v3("GET", "/functions")).body["functions"] == []

        write(root, {"hello/index.py": "def handler(event, context): ..."})

        async def there() -> bool:
            return bool((await site.v3("GET", "/functions")).body["functions"])

        await until(there)
        assert (await site.v3("POST", "/functions/hello/invocations", b"")).status == 200


async def test_changed_settings_are_taken_over(open_site, tmp_path):
    """An edit of function.yml or service.yml shows in the next answers, with a new ETag."""
    root = write(tmp_path / "functions", SHOP)

    async with open_site(root) as site:
        before = await site.v1("GET", "/services/shop/functions/Order")
        write(root, {"shop/Order/function.yml": "timeout: 61", "shop/service.yml": "description: new"})

        async def taken() -> bool:
            function = await site.v1("GET", "/services/shop/functions/Order")
            service = await site.v1("GET", "/services/shop")
            return (function.body["timeout"], service.body["description"]) == (61, "new")

        await until(taken)
        after = await site.v1("GET", "/services/shop/functions/Order")

        assert after.headers["etag"] != before.headers["etag"]
        assert after.body["functionId"] == before.body["functionId"]
        assert (await site.v1("GET", "/services/shop/aliases")).body["aliases"] == []


async def test_configuration_update_is_laid_over_the_files(open_site, tmp_path):
    """An API update of settings holds, until the file says something new about the same field."""
    root = write(tmp_path / "functions", SHOP)

    async with open_site(root) as site:
        updated = await site.v1("PUT", "/services/shop/functions/Order", {"timeout": 99, "memorySize": 1024})
        await site.v1("PUT", "/services/shop", {"role": "api-role"})
        write(root, {"shop/Order/function.yml": "timeout: 60\nmemorySize: 640"})

        async def settled() -> bool:
            body = (await site.v1("GET", "/services/shop/functions/Order")).body
            return (body["timeout"], body["memorySize"]) == (99, 640)

        await until(settled)
        await code_of_call(site)

        assert (updated.body["timeout"], updated.body["memorySize"]) == (99, 1024)
        assert site.instances.images[-1].role == "api-role"
        assert (root / "shop/Order/function.yml").read_text() == "timeout: 60\nmemorySize: 640"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/services/shop/functions/Order", "code"),
        ("DELETE", "/services/shop/functions/Order", None),
        ("DELETE", "/services/shop", None),
        ("DELETE", "/services/shop/versions/1", None),
        ("PUT", "/services/shop/aliases/online", {"versionId": "2"}),
        ("DELETE", "/services/shop/aliases/online", None),
    ],
)
async def test_what_only_the_folder_can_change_is_refused_naming_it(open_site, pack, tmp_path, method, path, body):
    """Code, versions, aliases and the existence of folder functions belong to the files; the refusal says where."""
    root = write(tmp_path / "functions", SHOP)

    async with open_site(root) as site:
        answer = await site.v1(method, path, {"code": pack()} if body == "code" else body)

        assert (answer.status, answer.code) == (400, "InvalidArgument")
        assert str(root / "shop") in answer.body["ErrorMessage"]
        assert await code_of_call(site) == "head"


async def test_name_of_a_folder_function_is_taken(open_site, pack, tmp_path):
    """A client cannot make what the folder has, but may add to a service of the folder."""
    async with open_site(write(tmp_path / "functions", SHOP)) as site:
        body = {"functionName": "Order", "runtime": "python3", "handler": "a.b", "code": pack()}

        service = await site.v1("POST", "/services", {"serviceName": "shop"})
        function = await site.v1("POST", "/services/shop/functions", body)
        three = await site.v3("POST", "/functions", {**body, "functionName": "hello"})
        other = await site.v1("POST", "/services/shop/functions", {**body, "functionName": "Pay"})

        assert service.code == "ServiceAlreadyExists"
        assert (function.code, three.code) == ("FunctionAlreadyExists", "FunctionAlreadyExists")
        assert other.status == 200


async def test_what_the_api_added_outlives_the_folder(open_site, pack, tmp_path):
    """A function made by a client in a folder's service stays when the folder goes."""
    root = write(tmp_path / "functions", SHOP)

    async with open_site(root) as site:
        body = {"functionName": "Pay", "runtime": "python3", "handler": "a.b", "code": pack()}
        await site.v1("POST", "/services/shop/functions", body)
        shutil.rmtree(root / "shop")

        async def settled() -> bool:
            listed = (await site.v1("GET", "/services/shop/functions")).body["functions"]
            return [row["functionName"] for row in listed] == ["Pay"]

        await until(settled)

        assert (await site.v1("DELETE", "/services/shop/functions/Pay")).status == 204
        assert (await site.v1("DELETE", "/services/shop")).status == 204


async def test_publishing_copies_the_code_of_the_folder(open_site, tmp_path):
    """A version published by a client keeps the code of its moment, under the next free number."""
    root = write(tmp_path / "functions", SHOP)

    async with open_site(root) as site:
        published = await site.v1("POST", "/services/shop/versions", {"description": "frozen"})
        again = await site.v1("POST", "/services/shop/versions", {})
        write(root, {"shop/Order/index.py": "edited"})

        assert published.body["versionId"] == "3"
        assert again.code == "VersionPublishError"
        assert await code_of_call(site, ".3") == "head"
        assert not site.instances.images[-1].code_dir.is_relative_to(root)
        assert (await site.v1("DELETE", "/services/shop/versions/3")).status == 204


async def test_code_of_the_folder_can_be_downloaded(open_site, tmp_path):
    """The package of a folder function is made when somebody asks for it."""
    import io
    import zipfile

    async with open_site(write(tmp_path / "functions", SHOP)) as site:
        answer = await site.v3("GET", "/functions/hello/code")
        package = site.admin.code_download(answer.body["url"].rpartition("/")[2])

        with zipfile.ZipFile(io.BytesIO(package.content)) as archive:
            assert archive.namelist() == ["index.py"]


async def test_broken_file_fails_the_calls_of_its_function_only(open_site, tmp_path, caplog):
    """The start goes on, the log says what is wrong, and so does the function's own failure; others run."""
    root = write(tmp_path / "functions", {**SHOP, "bad/index.py": "", "bad/function.yml": "timeout: ["})

    caplog.set_level(logging.WARNING)
    async with open_site(root) as site:
        bad = await site.v3("POST", "/functions/bad/invocations", b"", X_Fc_Log_Type="Tail")

        assert bad.status == 200
        assert bad.headers["x-fc-error-type"] == "UnhandledInvocationError"
        assert "bad/function.yml:1:10: " in json.loads(bad.content)["errorMessage"]
        assert await code_of_call(site) == "head"

        write(root, {"bad/function.yml": "timeout: 9"})

        async def mended() -> bool:
            answer = await site.v3("POST", "/functions/bad/invocations", b"ok")
            return answer.content == b"ok"

        await until(mended)

    assert any("bad/function.yml" in record.getMessage() for record in caplog.records)


async def test_call_of_a_folder_with_a_bad_name_says_what_is_wrong(open_site, tmp_path):
    """Somebody who calls it learns the rule instead of wondering why it is not there."""
    async with open_site(write(tmp_path / "functions", {"9lives/index.py": ""})) as site:
        answer = await site.v3("POST", "/functions/9lives/invocations", b"")

        assert (answer.status, answer.code) == (400, "InvalidArgument")
        assert "must not start with a digit" in answer.body["Message"]


async def test_folder_takes_the_place_of_a_function_made_before(site_of, tmp_path):
    """When the folder begins to hold a name a client has used, the folder counts; a service keeps what was said."""
    root = write(tmp_path / "functions", {"shop/Order/index.py": "head"})

    site = site_of(tmp_path)
    await site.v1("POST", "/services", {"serviceName": "shop", "role": "api-role"})
    await site.make_function("shop", "Order")

    await site.fc.start(root)

    assert await code_of_call(site) == "head"
    assert site.instances.images[-1].role == "api-role"
    await site.fc.close()
    site.database.close()


async def test_ids_of_folder_functions_survive_a_restart_and_removal_shows_after_it(site_of, tmp_path):
    """What was loaded is remembered; what is gone at the next start is gone."""
    from emulator.storage.database import Database

    root = write(tmp_path / "functions", SHOP)

    async def start(folder: Path | None) -> list[tuple[str, str]]:
        site = site_of(tmp_path, Database(tmp_path / "state.db"))
        await site.fc.start(folder)
        listed = (await site.v3("GET", "/functions")).body["functions"]
        await site.fc.close()
        site.database.close()
        return [(row["functionName"], row["functionId"]) for row in listed]

    first, second, without = await start(root), await start(root), await start(None)

    assert first == second
    assert without == []


async def test_reset_keeps_the_functions_of_the_folder(open_site, tmp_path):
    """After a reset the folder's functions are as the files say, without what was laid over them."""
    async with open_site(write(tmp_path / "functions", SHOP)) as site:
        await site.v1("PUT", "/services/shop/functions/Order", {"timeout": 99})

        await site.fc.reset()

        assert (await site.v1("GET", "/services/shop/functions/Order")).body["timeout"] == 60
        assert await code_of_call(site, ".1") == "one"


async def test_logs_are_found_by_name(open_site, tmp_path):
    """The log of a function is read by service/function; one that never existed is an error."""
    from emulator.services.fc.errors import FcError

    async with open_site(write(tmp_path / "functions", SHOP)) as site:
        await code_of_call(site)
        site.logbook.on_log(site.instances.images[-1], "id", b"hello log\n")

        lines = [text async for text in site.admin.logs("shop/Order", 5, follow=False)]
        everything = [text async for text in site.admin.logs("", 5, follow=False)]

        assert lines == [b"hello log\n"]
        assert everything == [b"shop/Order: hello log\n"]
        with pytest.raises(FcError, match=r"^FunctionNotFound:"):
            site.admin.logs("shop/None", 5, follow=False)


async def test_a_look_at_the_folder_reads_each_function_once_and_equal_configurations_once(
    open_site, tmp_path, monkeypatch
):
    """Whatever a thousand functions share, such as having no function.yml, costs as much as for one."""
    folder = write(tmp_path / "functions", {f"f{number}/index.py": "same" for number in range(30)})
    async with open_site(folder) as site:
        selected, texts = [], []
        read, parse = site.database.read, store.parse_values
        monkeypatch.setattr(site.database, "read", lambda sql, *given: (selected.append(sql), read(sql, *given))[1])
        monkeypatch.setattr(store, "parse_values", lambda text: (texts.append(text), parse(text))[1])

        await site.fc.resume()

        assert len([sql for sql in selected if "code_checksum" in sql and "folder <> ''" in sql]) == 1
        assert len(texts) <= 2


async def test_an_edit_is_applied_without_a_look_at_what_others_hold(open_site, tmp_path, monkeypatch):
    """However many functions the folder has; one write may be announced as several."""
    others = 100
    files = {f"f{number}/index.py": "one" for number in range(others)}
    root = write(tmp_path / "functions", {"hello/index.py": "hello"} | files)
    async with open_site(root) as site:
        looked = []
        for name in ("scopes", "aliases"):
            get = getattr(folder.Part, name).fget
            counted = property(lambda part, get=get, name=name: (looked.append(name), get(part))[1])
            monkeypatch.setattr(folder.Part, name, counted)

        (root / "hello" / "index.py").write_text("hello again")
        await site.fc.catch_up()
        await site.v3("POST", "/functions/hello/invocations", b"")

        assert (site.instances.images[-1].code_dir / "index.py").read_text() == "hello again"
        assert 3 <= len(looked) < others


async def test_a_folder_is_taken_in_some_functions_in_each_turn_of_the_loop(open_site, tmp_path, monkeypatch):
    """Others are served while a start takes in thousands."""
    monkeypatch.setattr(loading, "_AT_ONCE", 3)
    turns, applied = 0, []
    part = loading._Step.part
    monkeypatch.setattr(loading._Step, "part", lambda step, given: (applied.append(turns), part(step, given))[1])

    async def count():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    root = write(tmp_path / "functions", {f"f{number}/index.py": "one" for number in range(10)})
    async with open_site(root) as site:
        counting.cancel()
        names = (await site.v3("GET", "/functions")).body["functions"]

    assert sorted(Counter(applied).values()) == [1, 3, 3, 3]
    assert len(names) == 10
