"""doctor and support, as a user runs them."""

import json
import re
import sqlite3
import zipfile

import pytest

from emulator.cli.commands import doctor
from emulator.cli.commands.support import COLUMNS, MASK, Secrets, collect
from emulator.config import Config, load
from emulator.kernel.clock import SystemClock

SUBJECTS = {"python", "ports", "names", "certificates", "proxies", "clock", "state", "runtimes", "sdks"}


def test_doctor_tells_every_subject_with_its_remedies(program):
    """All subjects, in both forms; whatever is not ok has a remedy."""
    program.start()

    text = program.run("doctor")
    shown = json.loads(program.run("doctor", "--json").stdout)

    assert {each["subject"] for each in shown["findings"]} == SUBJECTS
    assert all(each["remedy"] for each in shown["findings"] if each["verdict"] != "ok")
    assert "an emulator of this folder answers" in text.stdout


def test_doctor_ends_with_1_when_something_is_wrong(program):
    """Keys that every user of the machine can read."""
    program.start()
    before = program.run("doctor")
    (program.folder / ".localyun" / "keys.json").chmod(0o644)

    after = program.run("doctor")

    assert (before.returncode, after.returncode) == (0, 1)
    assert "chmod go-rwx" in after.stdout


def test_problems_have_the_remedy_of_their_file(monkeypatch):
    """A command of localyun.yaml runs again at the next start; a file of a function is read again at once."""
    problems = ["localyun.yaml:2: hooks.ready.0 has failed with exit code 3: no seed", "/f/2go is left out: name"]

    class Answering:
        def admin(self, method, path):
            return {"problems": problems}

    found = list(doctor._functions(Answering()))

    assert [(each.subject, each.verdict, each.found) for each in found] == [
        ("hooks", "wrong", problems[0]),
        ("functions", "wrong", problems[1]),
    ]
    assert "next start" in found[0].remedy
    assert "rename the folder" in found[1].remedy


def test_slow_answer_is_no_difference_of_clocks(tmp_path, monkeypatch):
    """The system's time is read after the emulator has told its own, however long that took."""
    late = {"by": -60_000}

    class LateClock(SystemClock):
        def now(self):
            return super().now() + late["by"]

    class SlowClient:
        endpoint = None

        def admin_address(self, page, member):
            return None

        def admin(self, method, path):
            late["by"] = 0
            return {"offset_ms": 0, "frozen": False, "now_ms": SystemClock().now(), "now": "-"}

    monkeypatch.setattr(doctor, "SystemClock", LateClock)
    monkeypatch.setattr(doctor, "answering", lambda settings: SlowClient())
    for name in ("state_folder", "tool_chains"):
        monkeypatch.setattr(doctor, name, lambda config: [])

    found = doctor.examine(load({"state": str(tmp_path / "state")}, {}, tmp_path))

    assert [each.verdict for each in found if each.subject == "clock"] == ["ok"]


@pytest.fixture
def busy(program):
    """An emulator that has keys of every kind, whose log holds all of them, and the secrets."""
    folder = program.folder / "functions" / "shop" / "order"
    folder.mkdir(parents=True)
    (folder / "index.py").write_text("def handler(event, context):\n    print(context.credentials)\n")
    (folder / "function.yml").write_text("environmentVariables:\n  PASSPHRASE: open-sesame-please\n")
    program.start("--functions", "functions")
    program.run("account", "add")
    program.run("invoke", "shop/order")
    state = program.folder / ".localyun"
    keys = json.loads((state / "keys.json").read_text())
    found = {keys["accessKeyId"], keys["accessKeySecret"], keys["adminToken"], "open-sesame-please"}
    with sqlite3.connect(f"file:{state / 'state.db'}?mode=ro", uri=True) as database:
        for table, columns in COLUMNS.items():
            for row in database.execute(f"SELECT {', '.join(columns)} FROM {table}"):
                found |= {each.hex() if isinstance(each, bytes) else each for each in row}
    found -= {""}
    with (state / "logs" / "server.log").open("a") as log:
        log.writelines(f"found {each}\n" for each in found)
        log.write((state / "ca" / "ca-key.pem").read_text() if (state / "ca" / "ca-key.pem").exists() else "")
    return program, found


def test_support_packs_no_secret_of_the_state_folder(busy):
    """Keys, tokens, secrets of accounts, of the STS and of flows, and variables of functions, wherever they stand."""
    program, found = busy

    done = json.loads(program.run("support", "--json", "--output", "out.zip").stdout)

    with zipfile.ZipFile(program.folder / "out.zip") as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert sorted(texts) == done["content"]
    assert len(found) >= 6
    assert [(name, each) for name, text in texts.items() for each in found if each in text] == []
    assert not any("PRIVATE KEY" in text for text in texts.values())
    assert MASK in texts["logs/server.log"]


def test_support_packs_what_helps(busy):
    """Versions, settings, findings, the schema and the logs; readable by its owner only."""
    program, _ = busy
    (program.folder / "localyun.yaml").write_text("access_key_id: mine\naccess_key_secret: hush-hush-hush\n")

    done = program.run("support", "--output", "out.zip")

    with zipfile.ZipFile(program.folder / "out.zip") as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert done.returncode == 0, done.stderr
    assert {"doctor.json", "settings.json", "status.json", "versions.json", "tables.json", "state.txt"} <= set(texts)
    assert "hush" not in texts["localyun.yaml"]
    assert json.loads(texts["tables.json"])["schema"]["fc"] > 0
    assert json.loads(texts["versions.json"])["distributions"]["httptools"]
    assert (program.folder / "out.zip").stat().st_mode & 0o077 == 0


def test_support_never_overwrites(program):
    """A name that is taken is refused."""
    (program.folder / "out.zip").write_text("mine")

    done = program.run("support", "--output", "out.zip")

    assert done.returncode == 1
    assert (program.folder / "out.zip").read_text() == "mine"


def test_support_without_an_emulator_packs_what_there_is(program):
    """No state folder, nothing that answers."""
    done = program.run("support")

    (archive,) = program.folder.glob("localyun-support-*.zip")
    assert done.stdout == f"{archive.name}\n"
    assert "doctor.json" in zipfile.ZipFile(archive).namelist()


@pytest.mark.parametrize(
    "text",
    [
        "GET http://user:pass-word@host/x",
        "Authorization: acs key:c2lnbmF0dXJl",
        'db_password = "geheim99"',
        "token=abcdefgh&x=1",
        "LTAI5tAbCdEfGhIjK",
        "0123456789abcdef" * 3,
    ],
)
def test_what_looks_like_a_secret_is_masked(text):
    """Secrets that no file knows of, such as those of an earlier state folder in an old log."""
    masked = Secrets(()).masked(f"before {text}\nafter")

    assert MASK in masked
    assert not re.search(r"pass-word|c2lnbmF0dXJl|geheim99|abcdefgh|5tAbCd|0123456789", masked)
    assert masked.startswith("before ")
    assert masked.endswith("\nafter")


def test_secret_written_with_escapes_is_masked():
    """JSON writes quotes and characters beyond ASCII another way."""
    value = 'say "sesame" ü'

    assert Secrets([value]).masked(json.dumps({"x": value})) == json.dumps({"x": MASK})


def test_damaged_files_hide_nothing_else(tmp_path):
    """An unreadable key file and database do not keep the rest from being collected."""
    (tmp_path / "keys.json").write_text("{")
    (tmp_path / "state.db").write_bytes(b"no database")

    found = collect(Config(state=tmp_path), {"MY_TOKEN": "hush-hush"})

    assert found.values == ("hush-hush",)
