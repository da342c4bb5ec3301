"""`localyun export` and `localyun diff`: what runs leaves as files, from which another emulator becomes the same."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import commands

pytestmark = pytest.mark.sdk

ROOT = Path(__file__).parents[2]
PROJECTS = Path(__file__).parent / "projects"
SECRET = {"DEVS_API_API_TOKEN": "very-private"}


@pytest.fixture(scope="module")
def emulators(tmp_path_factory):
    """Two emulators, the first with a project of each kind in it."""
    from tests.conftest import RunningEmulator

    running = [RunningEmulator(tmp_path_factory.mktemp(name)).start() for name in ("full", "other")]
    folder = tmp_path_factory.mktemp("projects")
    shutil.copytree(PROJECTS, folder, dirs_exist_ok=True)
    path = folder / "devs" / "s.yaml"
    path.write_text(path.read_text().replace("        STAGE:", "        API_TOKEN: very-private\n        STAGE:"))
    for project in ("devs/s.yaml", "funcraft", "ros"):
        assert localyun(running[0], "deploy", str(folder / project)).returncode == 0
    yield running
    for each in running:
        assert each.stop() == 0


def localyun(emulator, *words, environ=None, timeout=120):
    """Run the command against an emulator, from a folder without anything."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LOCALYUN_")}
    environment |= {"LOCALYUN_STATE": str(emulator.state), "PYTHONPATH": str(ROOT), **(environ or {})}
    return commands.run(words, cwd=emulator.state, env=environment, timeout=timeout)


def exported(emulator, kind, folder):
    """Export and return the files of the folder by name."""
    done = localyun(emulator, "export", "--format", kind, "--output", str(folder), "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout), {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize("kind", ["s.yaml", "template.yml"])
def test_exported_file_makes_an_empty_emulator_the_same(emulators, kind, tmp_path):
    """Export, deploy into another emulator, export again: the same files; and no differences from the first."""
    full, other = emulators
    first, files = exported(full, kind, tmp_path / "one" / "app")
    parameters = [word for name, value in SECRET.items() for word in ("--parameter", f"{name}={value}")]
    given = parameters if kind == "template.yml" else []

    deployed = localyun(other, "deploy", str(tmp_path / "one" / "app"), *given, environ=SECRET)
    _, again = exported(other, kind, tmp_path / "two" / "app")
    compared = localyun(other, "diff", str(tmp_path / "one" / "app"), *given, environ=SECRET)
    removed = localyun(other, "deploy", str(tmp_path / "one" / "app"), "--remove", "-y")

    assert deployed.returncode == 0, deployed.stdout + deployed.stderr
    assert again == files
    assert b"very-private" not in b"".join(files.values())
    assert [each["name"] for each in first["variables"]] == list(SECRET)
    assert (compared.returncode, compared.stdout.strip()) == (0, "no differences")
    assert removed.returncode == 0, removed.stdout + removed.stderr


@pytest.mark.parametrize("kind", ["s.yaml", "template.yml"])
def test_service_is_written_without_its_defaults(emulators, kind, tmp_path):
    """Another emulator gets the same settings from the file, and the plan for it is clean."""
    full, other = emulators
    log = {"project": "p", "logstore": "l", "enableRequestMetrics": True}
    settings = {"plain": {}, "set": {"internetAccess": False, "logConfig": log}}
    for name, own in settings.items():
        full.fc2().create_service(f"defaults-{name}", **own)

    exports, names = str(tmp_path / "app"), [f"defaults-{name}" for name in settings]
    written = localyun(full, "export", "--format", kind, "--output", exports, "--only", "services")
    deployed = localyun(other, "deploy", exports)
    planned = localyun(other, "deploy", exports, "--plan")
    shown = [[each.fc2().get_service(name).data for name in names] for each in emulators]
    localyun(other, "deploy", exports, "--remove", "-y")
    for name in names:
        full.fc2().delete_service(name)

    assert (written.returncode, deployed.returncode) == (0, 0), written.stderr + deployed.stderr
    assert planned.stdout.rstrip().endswith("plan: nothing to do")
    own = {"serviceId", "createdTime", "lastModifiedTime"}
    first, second = ([{name: each[name] for name in each.keys() - own} for each in side] for side in shown)
    assert first == second
    text = (tmp_path / "app" / kind).read_text()
    found = re.findall("(internetAccess|logConfig|vpcConfig|nasConfig|tracingConfig):", text, re.IGNORECASE)
    assert sorted(map(str.lower, found)) == ["internetaccess", "logconfig"], text


def test_diff_shows_properties_code_and_what_is_missing(emulators, tmp_path):
    """A changed number, changed code and a new queue are three differences, and the exit code says so."""
    full, _ = emulators
    folder = tmp_path / "app"
    exported(full, "s.yaml", folder)
    text = (folder / "s.yaml").read_text()
    file = folder / "s.yaml"
    file.write_text(text.replace("visibilityTimeout: 60", "visibilityTimeout: 61").replace("devs-jobs:", "devs-jobs: ")
                    + "  extra:\n    component: mns-queue\n    props: {queueName: extra}\n")  # fmt: skip
    (folder / "code" / "devs-api" / "index.py").write_text("changed = True\n")

    done = localyun(full, "diff", str(file), "--json", environ=SECRET | {"DEVS_API_API_TOKEN": "other"})

    assert done.returncode == 4
    found = {(each["name"], each["property"]): (each["file"], each["running"]) for each in json.loads(done.stdout)}
    assert found == {
        ("devs-jobs", "VisibilityTimeout"): (61, 60),
        ("devs-api", "code"): ("this", "other"),
        ("devs-api", "environmentVariables.API_TOKEN"): ("(hidden)", "(hidden)"),
        ("extra", ""): ("there", None),
    }


def test_changed_code_is_shown_by_its_files(emulators, tmp_path):
    """A changed, a new and a missing file have a row each; above a few files the rest is a count."""
    full, _ = emulators
    exported(full, "s.yaml", tmp_path / "app")
    code = tmp_path / "app" / "code" / "devs-api"
    (code / "index.py").rename(code / "main.py")

    done = localyun(full, "diff", str(tmp_path / "app"), environ=SECRET)
    written = localyun(full, "diff", str(tmp_path / "app"), "--json", environ=SECRET)
    for number in range(6):
        (code / f"more{number}.py").write_text("")
    many = localyun(full, "diff", str(tmp_path / "app"), environ=SECRET)

    rows = [line.split()[-5:] for line in done.stdout.splitlines()[1:]]
    assert rows == [["devs-api", "code:", "index.py", "-", "there"], ["devs-api", "code:", "main.py", "there", "-"]]
    assert json.loads(written.stdout)[0]["files"] == [
        {"name": "index.py", "file": None, "running": "there"},
        {"name": "main.py", "file": "there", "running": None},
    ]
    assert many.stdout.splitlines()[-1].split()[-5:] == ["code:", "3", "more", "this", "other"]


@pytest.mark.parametrize(
    ("kind", "how"),
    [("s.yaml", "export DEVS_API_API_TOKEN=..."), ("template.yml", "--parameter DEVS_API_API_TOKEN=...")],
)
def test_secret_that_is_not_given_is_not_compared(emulators, kind, how, tmp_path):
    """The rest is; export, diff and the refusal of a deployment say how to give the value."""
    full, _ = emulators
    folder = tmp_path / "app"

    written = localyun(full, "export", "--format", kind, "--output", str(folder))
    compared = localyun(full, "diff", str(folder))
    refused = localyun(full, "deploy", "--plan", str(folder))
    file = folder / kind
    file.write_text(file.read_text().replace("test\n", "live\n"))
    changed = localyun(full, "diff", str(folder), "--json")

    assert how in written.stderr
    assert (compared.returncode, compared.stdout) == (0, "no differences\n")
    assert "environmentVariables.API_TOKEN is not compared" in compared.stderr
    assert how in compared.stderr
    assert refused.returncode == 1
    assert how in refused.stderr
    assert {row["property"] for row in json.loads(changed.stdout)} == {"environmentVariables.STAGE"}


def test_variable_that_a_name_depends_on_has_to_be_given(emulators, tmp_path):
    """What is compared is looked up by its name: the refusal says which variable is missing, and where."""
    full, _ = emulators
    file = tmp_path / "s.yaml"
    file.write_text("edition: 3.0.0\nname: n\nresources:\n  q:\n    component: mns-queue\n"
                    "    props: {queueName: \"${env('NAME_OF_Q')}\"}\n")  # fmt: skip

    done = localyun(full, "diff", str(file))

    assert done.returncode == 1
    assert "s.yaml:6:" in done.stderr
    assert "NAME_OF_Q is not set: export NAME_OF_Q=... sets it" in done.stderr


def test_terraform_gets_well_formed_files(emulators, tmp_path):
    """Every resource that runs has a block, or a note says why not; Terraform's own formatter has nothing to change."""
    full, _ = emulators

    done, files = exported(full, "terraform", tmp_path / "app")

    text = files["main.tf"].decode()
    assert text.count('\nresource "alicloud_') == len(done["resources"])
    assert "very-private" not in text
    if program := shutil.which("terraform"):
        environment = {**os.environ, "TF_CLI_CONFIG_FILE": os.devnull, "CHECKPOINT_DISABLE": "1"}
        checked = subprocess.run(
            [program, "fmt", "-check", "-diff", str(tmp_path / "app")],
            env=environment, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert checked.returncode == 0, checked.stdout + checked.stderr


PROVIDER = os.environ.get("LOCALYUN_TERRAFORM_PROVIDER", "")
"""The program of the provider aliyun/alicloud, which is not fetched by a test."""


@pytest.mark.skipif(
    not (PROVIDER and shutil.which("terraform")),
    reason="needs terraform and LOCALYUN_TERRAFORM_PROVIDER, the path of terraform-provider-alicloud",
)
@pytest.mark.timeout(900)
def test_terraform_makes_an_empty_emulator_the_same(emulators, tmp_path):
    """Terraform itself applies what was exported, and then finds nothing to change."""
    full, other = emulators
    folder = tmp_path / "app"
    exported(full, "terraform", folder)
    (tmp_path / "terraformrc").write_text(
        f'provider_installation {{\n  dev_overrides {{\n    "aliyun/alicloud" = "{Path(PROVIDER).parent}"\n  }}\n'
        "  direct {}\n}\n"
    )
    variables = {f"TF_VAR_{name.lower()}": value for name, value in SECRET.items()}
    environ = {**variables, "TF_CLI_CONFIG_FILE": str(tmp_path / "terraformrc"), "CHECKPOINT_DISABLE": "1"}

    def terraform(*words):
        chdir = f"-chdir={folder}"
        line = ("exec", "--network", "--", "terraform", chdir, *words, "-no-color")
        return localyun(other, *line, environ=environ, timeout=280)

    applied = terraform("apply", "-auto-approve", "-input=false")
    planned = terraform("plan", "-detailed-exitcode", "-input=false")
    removed = terraform("destroy", "-auto-approve", "-input=false")

    assert applied.returncode == 0, applied.stdout + applied.stderr
    assert planned.returncode == 0, planned.stdout
    assert removed.returncode == 0, removed.stdout + removed.stderr


@pytest.mark.parametrize("name", ["", "main.tf"])
@pytest.mark.parametrize("command", ["diff", "deploy"])
def test_files_of_terraform_are_read_by_terraform(emulators, command, name, tmp_path):
    """The message names the forms that are read here, and the command that compares these files."""
    folder = tmp_path / "app"
    exported(emulators[0], "terraform", folder)

    done = localyun(emulators[0], command, str(folder / name))

    assert done.returncode == 2
    assert "template.yml and s.yaml" in done.stderr
    assert "localyun exec -- terraform plan" in done.stderr


def test_export_takes_only_what_is_asked_for_and_does_not_write_over_a_file(emulators, tmp_path):
    """`--only` names groups; an unknown one, and a folder that holds a file already, are refused."""
    full, _ = emulators
    words = ("export", "--output", str(tmp_path / "app"), "--only")

    first = localyun(full, *words, "queues", "--json")
    second = localyun(full, *words, "queues")
    over = localyun(full, *words, "topics", "--overwrite", "--json")
    wrong = localyun(full, *words, "tables")

    assert {each["kind"] for each in json.loads(first.stdout)["resources"]} == {"mns.queue"}
    assert second.returncode == 1
    assert "--overwrite" in second.stderr
    assert {each["kind"] for each in json.loads(over.stdout)["resources"]} == {"mns.topic"}
    assert wrong.returncode == 2


@pytest.mark.parametrize("words", [(), ("--name", "shop")], ids=["folder", "given"])
def test_project_of_an_export_is_named_by_the_folder_one_works_in(emulators, words):
    """The output's own folder is only a place in it; `--name` says another name."""
    full, _ = emulators

    done = localyun(full, "export", "--output", "out", "--only", "queues", "--overwrite", *words)

    assert done.returncode == 0, done.stderr
    name = words[-1] if words else full.state.name.strip(".")
    assert f"name: {name}\n" in (full.state / "out" / "s.yaml").read_text()


def test_export_and_diff_work_without_the_extra_for_object_storage(tmp_path):
    """There are no buckets then, and everything else is written."""
    from tests.conftest import RunningEmulator

    package = tmp_path / "without" / "moto"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError\n")
    running = RunningEmulator(tmp_path / "emulator")
    running.folder.mkdir()
    running.environment["PYTHONPATH"] = f"{package.parent}{os.pathsep}{ROOT}"
    running.start()
    try:
        empty = localyun(running, "export", "--output", str(tmp_path / "app"))
        assert not (tmp_path / "app").exists()
        localyun(running, "queue", "create", "orders")
        done, _ = exported(running, "s.yaml", tmp_path / "app")
        compared = localyun(running, "diff", str(tmp_path / "app"), "--all")
    finally:
        stopped = running.stop()

    assert (empty.returncode, empty.stdout.strip()) == (0, "there is nothing to export; no file was written")
    assert [each["kind"] for each in done["resources"]] == ["mns.queue"]
    assert (compared.returncode, compared.stdout.strip(), stopped) == (0, "no differences", 0)
