"""The examples for other languages run as their pages say."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import commands
from tests.jvm import JAVA, JAVAC
from tests.own_pytest import environment

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.sdk


def run(folder, *command):
    env = environment()
    env["PYTHONPATH"] = str(ROOT)
    return commands.run(["exec", "--start", "--", *command], cwd=folder, env=env, timeout=None)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_node_example_passes(tmp_path):
    """`localyun exec --start -- npm test`, with what npm would start."""
    folder = shutil.copytree(ROOT / "examples" / "node", tmp_path / "node")

    command = json.loads((folder / "package.json").read_text())["scripts"]["test"]
    done = run(folder, *command.split())

    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 2" in done.stdout or "pass 2" in done.stdout, done.stdout


@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a JDK")
def test_java_example_compiles_and_reaches_the_emulator(tmp_path):
    """The client compiles with the JDK alone and moves the clock; its tests need JUnit, which Maven brings."""
    source = ROOT / "examples" / "java" / "src" / "test" / "java" / "example" / "Localyun.java"
    shutil.copy(source, tmp_path)
    (tmp_path / "Main.java").write_text(
        "package example;\n"
        "public final class Main {\n"
        "  public static void main(String[] given) throws Exception {\n"
        "    Localyun localyun = new Localyun();\n"
        '    localyun.advance("24h");\n'
        '    System.out.println(Localyun.member(localyun.admin("GET", "clock", null), "offset_ms"));\n'
        "  }\n"
        "}\n"
    )
    subprocess.run([*JAVAC, "-d", "out", "Localyun.java", "Main.java"], cwd=tmp_path, check=True)

    done = run(tmp_path, *JAVA, "-cp", "out", "example.Main")

    assert done.returncode == 0, done.stderr
    assert abs(int(done.stdout.split()[-1]) - 24 * 3600 * 1000) < 60_000
