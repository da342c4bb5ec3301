"""What the files of a functions folder mean."""

import errno
import logging
import os
import sys
from itertools import pairwise
from pathlib import Path
from unittest.mock import Mock

import pytest

from emulator.services.fc.catalog.folder import FolderReader, Snapshot


def tree(root: Path, **files: str) -> Path:
    """Write files; in names ``__`` stands for ``/`` and the last ``_`` for the dot."""
    for name, content in files.items():
        head, _, suffix = name.rpartition("_")
        path = root / Path(head.replace("__", "/") + "." + suffix)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


def shape(snapshot: Snapshot) -> tuple[list[str], list[tuple[str, str, int]]]:
    """Return the names of the services and the keys of the functions."""
    return [row.name for row in snapshot.services], [(row.service, row.name, row.version) for row in snapshot.functions]


def test_services_functions_and_versions_are_told_apart(tmp_path: Path):
    """Code directly in a folder makes it a function; a folder of functions is a service; versions are numbered."""
    tree(
        tmp_path,
        shop__Order__index_py="",
        shop__Pay__index_js="",
        shop__versions__1__Order__index_py="",
        shop__versions__2__Order__index_py="",
        hello__index_py="",
        hello__lib__deep__x_py="",
        hello__versions__3__index_py="",
        alone__service_yml="description: nothing in it yet",
        docs__README_md="",
        _hidden__index_py="",
    )
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.py").write_text("")
    (tmp_path / "loose.py").write_text("")

    snapshot = FolderReader(tmp_path).read()

    assert shape(snapshot) == (
        ["alone", "shop"],
        [
            ("", "_hidden", 0),
            ("", "hello", 0),
            ("", "hello", 3),
            ("shop", "Order", 0),
            ("shop", "Pay", 0),
            ("shop", "Order", 1),
            ("shop", "Order", 2),
        ],
    )
    assert snapshot.warnings == ()


@pytest.mark.parametrize(
    ("name", "content", "index"),
    [
        ("e.py", "import json\n\n\ndef handler(event, context):\n    return event\n", "index.py"),
        ("e.js", "exports.handler = (event, context, callback) => callback(null, event)\n", "index.js"),
        ("e.mjs", "export const handler = async (event) => event\n", "index.mjs"),
        ("shared.py", "class A:\n    def handler(self):\n        pass\n\n\ndef handlers():\n    return []\n", ""),
        ("shared.js", "exports.helper = () => 1\n", ""),
        ("notes.txt", "def handler(event, context):\n", ""),
    ],
)
def test_handler_beside_the_folders_is_left_out_with_a_reason(tmp_path: Path, name: str, content: str, index: str):
    """It is no function; files that functions share have no handler and may lie there."""
    (tmp_path / name).write_text(content)

    snapshot = FolderReader(tmp_path).read()

    reason = f"{tmp_path / name} is left out: a function is a folder; move the file to e/{index}"
    assert snapshot.warnings == ((reason,) if index else ())


def test_all_that_is_wrong_with_a_file_is_reported(tmp_path: Path):
    """Each field that can be seen to be wrong by itself, with its line; one of them is why the function is refused."""
    tree(
        tmp_path,
        f__index_py="",
        f__function_yml="memorySize: -1\ntimeout: much\nhandlr: x\ntriggers: 3\naliases: [1]\n",
        s__service_yml="internetAccess: perhaps\naliases: [1]\n",
    )

    snapshot = FolderReader(tmp_path).read()

    places = [text.removeprefix(f"{tmp_path}/").split(":")[:2] for text in snapshot.warnings]
    assert places == [["f/function.yml", line] for line in "12453"] + [["s/service.yml", line] for line in "12"]
    assert snapshot.functions[0].problem in snapshot.warnings


def test_function_without_a_file_has_the_newest_python(tmp_path: Path):
    """The defaults are index.handler and the newest Python of the generation; plain JavaScript gets Node.js."""
    tree(tmp_path, s__py__index_py="", s__js__index_js="", three__index_py="")

    by_name = {row.name: row.config for row in FolderReader(tmp_path).read().functions}

    assert (by_name["py"].runtime, by_name["py"].handler) == ("python3.10", "index.handler")
    assert by_name["three"].runtime == "python3.12"
    assert by_name["js"].runtime == "nodejs20"


def test_function_file_speaks_the_names_of_the_api(tmp_path: Path):
    """Fields of function.yml are the API's; numbers and booleans in variables become texts; triggers are kept."""
    tree(
        tmp_path,
        s__f__function_yml="""
runtime: python3.9
handler: app.main
timeout: 60
memorySize: 512
initializer: app.init
environmentVariables: {PORT: 8080, DEBUG: yes, NAME: x}
triggers: [{triggerName: t, triggerType: timer}]
""",
        three__function_yml="""
runtime: custom.debian12
customRuntimeConfig: {command: [./run], port: 8080}
logConfig: {project: p}
""",
    )

    two, three = sorted(FolderReader(tmp_path).read().functions, key=lambda row: row.name)

    assert (two.config.runtime, two.config.handler, two.config.timeout_s, two.config.memory_mb) == (
        "python3.9", "app.main", 60, 512,
    )  # fmt: skip
    assert two.config.environment == {"PORT": "8080", "DEBUG": "true", "NAME": "x"}
    assert two.triggers == ({"triggerName": "t", "triggerType": "timer"},)
    assert two.problem == ""
    assert (three.config.handler, three.config.log_config) == ("", {"project": "p"})


def test_service_file_sets_the_service_and_its_aliases(tmp_path: Path):
    """service.yml has the service's fields, and aliases in long or short form."""
    tree(
        tmp_path,
        s__service_yml="""
description: sells
role: acs:ram::1:role/x
internetAccess: false
aliases:
  online: {versionId: "1", additionalVersionWeight: {"2": 0.2}}
  dev: LATEST
  old: 1
""",
        s__f__index_py="",
        s__versions__1__f__index_py="",
        s__versions__2__f__index_py="",
    )

    service = FolderReader(tmp_path).read().services[0]

    assert (service.config.description, service.config.internet_access) == ("sells", False)
    assert service.versions == (1, 2)
    assert [(alias.name, alias.version_id, alias.weights) for alias in service.aliases] == [
        ("dev", "LATEST", {}), ("old", "1", {}), ("online", "1", {"2": 0.2}),
    ]  # fmt: skip


def test_variables_of_a_service_file_are_those_of_all_its_functions(tmp_path: Path):
    """A function's own variable wins, versions have them too, and an edit of the file reaches every function."""
    tree(
        tmp_path,
        s__service_yml="environmentVariables: {STAGE: test, PORT: 80}",
        s__own__index_py="",
        s__own__function_yml="environmentVariables: {PORT: 81, DEBUG: yes}",
        s__plain__index_py="",
        s__versions__1__plain__index_py="",
        s__versions__2__old__index_py="",
    )
    reader = FolderReader(tmp_path)

    before = reader.read()
    (tmp_path / "s" / "service.yml").write_text("environmentVariables: {STAGE: live}")
    after = reader.read()

    assert before.warnings == after.warnings == ()
    assert {(row.name, row.version): dict(row.config.environment) for row in before.functions} == {
        ("own", 0): {"STAGE": "test", "PORT": "81", "DEBUG": "true"},
        ("plain", 0): {"STAGE": "test", "PORT": "80"},
        ("plain", 1): {"STAGE": "test", "PORT": "80"},
        ("old", 2): {"STAGE": "test", "PORT": "80"},
    }
    assert [row.config.environment["STAGE"] for row in after.functions] == ["live"] * 4


@pytest.mark.parametrize("variables", ["[A]", "{FC_A: 1, 1x: 2}", "{A: [1]}"], ids=["a list", "a name", "a value"])
def test_wrong_variables_of_a_service_file_are_a_problem_of_its_functions(tmp_path: Path, variables: str):
    """Whoever calls a function is told the place."""
    tree(tmp_path, s__service_yml=f"role: x\nenvironmentVariables: {variables}", s__f__index_py="")

    snapshot = FolderReader(tmp_path).read()

    assert "service.yml:2:1: environmentVariables" in snapshot.functions[0].problem
    assert snapshot.warnings == (snapshot.functions[0].problem,)


def test_version_without_a_file_has_the_settings_of_the_head(tmp_path: Path):
    """function.yml need not be repeated in every version; where it is, it counts."""
    tree(
        tmp_path,
        f__index_py="",
        f__function_yml="timeout: 60\naliases: {a: 1}",
        f__versions__1__index_py="",
        f__versions__2__index_py="",
        f__versions__2__function_yml="timeout: 70",
    )

    rows = FolderReader(tmp_path).read().functions

    assert [(row.version, row.config.timeout_s) for row in rows] == [(0, 60), (1, 60), (2, 70)]
    assert [alias.name for alias in rows[0].aliases] == ["a"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("timeout: [", "function.yml:1:10: the bracket [ is not closed"),
        ("timeout: 0", "timeout 0 is out of range"),
        ("- a\n- b", "must hold fields"),
        ("runtime: cobol", "actual: 'cobol'"),
        ("customRuntimeConfig: &a {command: [*a]}", "function.yml"),
        ("!!python/object/apply:os.system ['true']", "function.yml"),
        ("triggers: 3", "triggers"),
        ("aliases: [1]", "aliases"),
        ("aliases: {a: {versionId: 1, additionalVersionWeight: [2]}}", "aliases.a.additionalVersionWeight"),
        ("aliases: {a: {versionId: {}}}", "aliases.a.versionId"),
        ("? [a]\n: b", "function.yml"),
        ("description: [", "function.yml:1:14"),
        ("description: \x00", "function.yml"),
        (
            "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in pairwise("abcdefghijklmnopqrs")),
            "aliases counted",
        ),
    ],
)
def test_broken_function_file_is_the_functions_own_problem(tmp_path: Path, content: str, says: str):
    """A file that cannot be used leaves the function in place, with what is wrong, and the others alone."""
    tree(tmp_path, bad__function_yml=content + "\n", bad__index_py="", good__index_py="")

    snapshot = FolderReader(tmp_path).read()

    bad, good = snapshot.functions
    assert says in bad.problem
    assert str(tmp_path) in bad.problem
    assert good.problem == ""
    assert len(snapshot.warnings) == 1


def test_triggers_beside_a_bad_setting_are_read(tmp_path: Path):
    """Their mistakes are told with those of the settings, not after these are corrected."""
    tree(tmp_path, bad__function_yml="runtime: cobol\ntriggers: [{name: one, type: timmer}]\n", bad__index_py="")

    (bad,) = FolderReader(tmp_path).read().functions

    assert "cobol" in bad.problem
    assert [dict(each)["type"] for each in bad.triggers] == ["timmer"]


def test_broken_service_file_is_a_problem_of_all_its_functions(tmp_path: Path):
    """What the service says is part of what each function runs with."""
    tree(tmp_path, s__service_yml="role: [", s__a__index_py="", s__b__index_py="", other__index_py="")

    snapshot = FolderReader(tmp_path).read()

    assert [bool(row.problem) for row in snapshot.functions if row.service] == [True, True]
    assert [bool(row.problem) for row in snapshot.functions if not row.service] == [False]


def test_setting_that_is_only_deployed_is_reported(tmp_path: Path):
    """With the file in which it has an effect."""
    tree(tmp_path, f__function_yml="timeout: 5\nasyncInvokeConfig: {maxAsyncRetryAttempts: 1}", f__index_py="")

    snapshot = FolderReader(tmp_path).read()

    assert [warning.removeprefix(f"{tmp_path}/") for warning in snapshot.warnings] == [
        "f/function.yml:2:1: the field 'asyncInvokeConfig' is ignored here; localyun deploy reads it in an s.yaml"
    ]


def test_field_nobody_knows_is_reported(tmp_path: Path):
    """A typing mistake in a file is said, not swallowed; dates are texts."""
    tree(
        tmp_path, s__service_yml="rolle: x", s__f__function_yml="timeuot: 5\ndescription: 2024-01-01", s__f__index_py=""
    )

    snapshot = FolderReader(tmp_path).read()

    assert [warning.removeprefix(f"{tmp_path}/") for warning in snapshot.warnings] == [
        "s/service.yml:1:1: the field 'rolle' is not known and ignored; did you mean role?",
        "s/f/function.yml:1:1: the field 'timeuot' is not known and ignored; did you mean timeout?",
    ]
    assert snapshot.functions[0].config.description == "2024-01-01"


@pytest.mark.parametrize(
    ("name", "key"), [("9lives", ("", "9lives")), ("has space", ("", "has space")), ("dot.ted", ("", "dot.ted"))]
)
def test_folder_with_an_impossible_name_is_left_out_with_a_reason(tmp_path: Path, name: str, key: tuple[str, str]):
    """The API could not name it, so it cannot be a function; callers and the log learn why."""
    (tmp_path / name).mkdir()
    (tmp_path / name / "index.py").write_text("")

    snapshot = FolderReader(tmp_path).read()

    assert snapshot.functions == ()
    assert "must have 1 to 128 letters" in snapshot.why_unusable(*key)
    assert len(snapshot.warnings) == 1


def test_version_folders_must_be_numbers(tmp_path: Path):
    """Anything else there is left out with a warning."""
    tree(tmp_path, f__index_py="", f__versions__beta__index_py="", f__versions__0__index_py="")

    snapshot = FolderReader(tmp_path).read()

    assert [row.version for row in snapshot.functions] == [0]
    assert len(snapshot.warnings) == 2


def test_no_function_is_called_versions(tmp_path: Path):
    """The folder of that name is for versions, which is said instead of a function that never comes."""
    tree(tmp_path, versions__index_py="", f__index_py="")

    snapshot = FolderReader(tmp_path).read()

    assert [row.name for row in snapshot.functions] == ["f"]
    assert snapshot.warnings == (f"{tmp_path}/versions is left out: folders of this name hold versions",)


def test_folder_that_is_not_there_holds_nothing(tmp_path: Path):
    """No folder, no functions, no error."""
    assert FolderReader(tmp_path / "none").read() == Snapshot(root=str(tmp_path / "none"))


def test_nothing_changes_while_nothing_is_edited(tmp_path: Path):
    """Two looks at the same files give equal snapshots; byte-code caches do not count."""
    tree(tmp_path, s__f__index_py="x", s__f__function_yml="timeout: 9", hello__index_py="")
    reader = FolderReader(tmp_path)
    before = reader.read()

    (tmp_path / "hello" / "__pycache__").mkdir()
    (tmp_path / "hello" / "__pycache__" / "index.pyc").write_bytes(b"cache")

    assert reader.read() == before


@pytest.mark.parametrize("edit", ["content", "new file", "removed file", "deep", "mode", "yml", "version"])
def test_every_edit_shows(tmp_path: Path, edit: str):
    """Content, files, execute bits, settings and versions all make a different snapshot."""
    tree(tmp_path, f__index_py="one", f__other_py="", f__a__b__deep_py="x", f__function_yml="timeout: 9")
    reader = FolderReader(tmp_path)
    before = reader.read()

    match edit:
        case "content":
            (tmp_path / "f/index.py").write_text("two!")
        case "new file":
            tree(tmp_path, f__new_py="")
        case "removed file":
            (tmp_path / "f/other.py").unlink()
        case "deep":
            tree(tmp_path, f__a__b__deep_py="xyz")
        case "mode":
            (tmp_path / "f/index.py").chmod(0o755)
        case "yml":
            (tmp_path / "f/function.yml").write_text("timeout: 10")
        case "version":
            tree(tmp_path, f__versions__1__index_py="")

    assert reader.read() != before


def test_unchanged_files_are_not_parsed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Looking twice a second must stay cheap."""
    tree(tmp_path, f__function_yml="timeout: 9")
    reader = FolderReader(tmp_path)
    reader.read()
    import yaml

    monkeypatch.setattr(yaml, "safe_load", lambda _: pytest.fail("parsed again"))

    assert reader.read().functions[0].config.timeout_s == 9


def test_links_and_odd_files_do_not_stop_the_reading(tmp_path: Path):
    """A link to itself, a dangling one and one to the parent are no reason to fail or to go round for ever."""
    tree(tmp_path, f__index_py="")
    (tmp_path / "f" / "self").symlink_to("self")
    (tmp_path / "f" / "gone").symlink_to("nowhere")
    (tmp_path / "f" / "up").symlink_to("..", target_is_directory=True)
    (tmp_path / "loop").symlink_to(".", target_is_directory=True)
    for index in range(8):
        (tmp_path / "f" / f"d{index}").mkdir()
        (tmp_path / "f" / f"d{index}" / "back").symlink_to("../..", target_is_directory=True)

    snapshot = FolderReader(tmp_path).read()

    assert ("", "f", 0) in shape(snapshot)[1]


def test_links_out_of_the_folder_are_refused(tmp_path: Path):
    """Functions, services, versions and folders in a function's code; each with a line that names its end."""
    outside = tmp_path / "outside"
    tree(outside, f__index_py="", code__index_py="")
    root = tmp_path / "functions"
    tree(root, own__index_py="")
    (root / "borrowed").symlink_to(outside / "f")
    (root / "service").symlink_to(outside)
    (root / "own" / "lib").symlink_to(outside / "code")
    (root / "own" / "file.py").symlink_to(outside / "code" / "index.py")
    (root / "again").symlink_to("own")

    snapshot = FolderReader(root).read()

    assert {function.name for function in snapshot.functions} == {"own", "again"}
    for name in ("borrowed", "service", "own/lib", "own/file.py"):
        assert any(f"functions/{name} is left out: it is a link to {outside}" in text for text in snapshot.warnings)


def test_the_folder_itself_may_be_a_link(tmp_path: Path):
    tree(tmp_path / "real", own__index_py="", own__lib__a_py="")
    (tmp_path / "functions").symlink_to("real")
    (tmp_path / "real" / "own" / "same").symlink_to("lib")

    snapshot = FolderReader(tmp_path / "functions").read()

    assert [function.name for function in snapshot.functions] == ["own"]
    assert snapshot.warnings == ()


def test_yaml_is_imported_only_when_a_file_needs_it(tmp_path: Path):
    """A folder of plain code pays nothing for YAML."""
    import subprocess

    tree(tmp_path, f__index_py="")
    program = (
        "import sys\nfrom pathlib import Path\nfrom emulator.services.fc.catalog.folder import FolderReader\n"
        f"FolderReader(Path({str(tmp_path)!r})).read()\nprint('yaml' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ)

    assert done.stdout.strip() == "False"


def test_ten_functions_are_read_without_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """A usual folder is silent."""
    for index in range(10):
        tree(tmp_path, **{f"s__f{index}__index_py": ""})

    with caplog.at_level(logging.WARNING):
        snapshot = FolderReader(tmp_path).read()

    assert len(snapshot.functions) == 10
    assert caplog.records == []


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOMEM, errno.EIO])
def test_what_cannot_be_read_just_now_is_not_gone(tmp_path, monkeypatch, number):
    """Without a file descriptor the reading fails; taken for an empty folder, it would delete every function."""
    (tmp_path / "hello").mkdir()
    (tmp_path / "hello" / "index.py").write_text("")
    reader = FolderReader(tmp_path)
    assert [function.name for function in reader.read().functions] == ["hello"]
    monkeypatch.setattr("os.scandir", Mock(side_effect=OSError(number, "not now")))

    with pytest.raises(OSError, match="not now"):
        reader.read()
