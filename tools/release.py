"""Make a release: the changelog's section, the archives, a trial of them, their checksums and the signature of these.

    python3 dev.py release VERSION      write changelog and version, then do what --check does
    python3 dev.py release --check      build, check and try the archives of this tree in dist/
    python3 dev.py release --sign KEY   sign the sums in dist/ with a private SSH key, and verify them as users do

Nothing is committed, tagged or uploaded. The text below "Unreleased" in CHANGELOG.md becomes the version's section, and
the fragments of changes/ are gathered below it. Only the first release leaves them out: its text describes the whole
product, and nobody had an earlier version.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = {"added": "Added", "changed": "Changed", "fixed": "Fixed", "removed": "Removed", "security": "Security"}
"""The kinds of fragments: the suffixes of their files with the headings in the changelog, in order."""

UNRELEASED = "## Unreleased\n"
FIRST = (
    "Nothing has been released yet. The first release will be 1.0.0. This is what it offers, by user.",
    "The first release, and what it offers to whom.",
)
"""The changelog's first sentence before the first release, and its replacement."""

SUMS = "SHA256SUMS"
NAMESPACE = "file"
"""The namespace of OpenSSH's signatures of files, so that a signature for another purpose is not valid."""


class Refused(Exception):
    """The release cannot be made; the text says why and what to do."""


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Run one of the three tasks in the project at *root*; return 0 on success."""
    parser = argparse.ArgumentParser(prog="dev.py release", description="Make, check or sign a release.")
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("version", nargs="?", metavar="VERSION", help="the release to make, such as 1.0.1")
    task.add_argument("--check", action="store_true", help="build and try the archives of this tree")
    task.add_argument("--sign", type=Path, metavar="KEY", help="sign the sums in dist/ with this private SSH key")
    given = parser.parse_args(arguments)
    try:
        if given.sign:
            sign(root, given.sign)
            return 0
        require_tidy(root)
        if given.version is not None:
            write(root, given.version)
        build(root)
    except Refused as refusal:
        print(f"dev.py release: {refusal}", file=sys.stderr)
        return 1
    return 0


def require_tidy(root: Path) -> None:
    """Refuse a tree with uncommitted changes."""
    untidy = run(root, "git", "status", "--porcelain", quiet=True)
    if untidy:
        raise Refused(f"the tree is not tidy; commit or remove:\n{untidy}")


def write(root: Path, version: str) -> None:
    """Write *version* into changelog and package, and remove the fragments; nothing is written when it is refused."""
    source, changelog = root / "emulator" / "__init__.py", root / "CHANGELOG.md"
    text = source.read_text(encoding="utf-8")
    last = re.search(r'^__version__ = "(.*)"$', text, re.MULTILINE)
    assert last is not None
    check_version(version, last[1])
    files = {kind: sorted((root / "changes").glob(f"*.{kind}.md")) for kind in KINDS}
    fragments = {
        kind: [" ".join(each.read_text(encoding="utf-8").split()) for each in found] for kind, found in files.items()
    }
    # the day of the commit that is released: the same tree gives the same archives tomorrow
    day = run(root, "git", "log", "-1", "--format=%cs", quiet=True)
    released = with_release(changelog.read_text(encoding="utf-8"), version, day, fragments)
    changelog.write_text(released, encoding="utf-8")
    source.write_text(text.replace(last[0], f'__version__ = "{version}"'), encoding="utf-8")
    for each in (each for found in files.values() for each in found):
        each.unlink()
    print(f"CHANGELOG.md and emulator/__init__.py say {version}; once it is tried, commit them and tag v{version}")


def check_version(version: str, last: str) -> None:
    """Refuse a version that is not a final release of three numbers, or not newer than *last*."""
    if re.fullmatch(r"(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}", version) is None:
        raise Refused(f"{version!r} is no version such as 1.0.1: three numbers, without a suffix")
    if numbers(version) <= numbers(last):
        raise Refused(f"{version} is not newer than {last}")


def numbers(version: str) -> list[int]:
    """Return the numbers of a version, for comparison."""
    return [int(each) for each in version.split(".")]


def with_release(changelog: str, version: str, day: str, fragments: Mapping[str, Sequence[str]]) -> str:
    """Return *changelog* with a section for *version*: what is written as unreleased, then *fragments* by kind."""
    head, mark, rest = changelog.partition(UNRELEASED)
    written, next_mark, earlier = rest.partition("\n## ")
    parts = [written.strip()] if written.strip() else []
    if next_mark:
        parts += [
            f"### {KINDS[kind]}\n\n" + "\n".join(f"- {entry}" for entry in entries)
            for kind, entries in fragments.items()
            if entries
        ]
    else:
        parts = [part.replace(*FIRST) for part in parts]
    if not mark or not parts:
        raise Refused("there are no changes to release")
    return f"{head}{mark}\n" + "\n\n".join([f"## {version} - {day}", *parts]) + f"\n{next_mark}{earlier}"


def build(root: Path) -> None:
    """Build the archives in dist/, check them, try them with each Python, and write bill of materials and sums."""
    dist = root / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    # Without further options the wheel is built from the sdist, so testing the wheel tests both.
    run(root, sys.executable, "-m", "build", "--outdir", str(dist))
    run(root, sys.executable, "-m", "twine", "check", "--strict", *(str(each) for each in sorted(dist.iterdir())))
    wheel = next(dist.glob("*.whl"))
    for interpreter in pythons(root):
        try_wheel(root, wheel, interpreter)
    # The wheel comes before the installed package, whose version may be older.
    environment = os.environ | {"PYTHONPATH": str(wheel)}
    run(root, sys.executable, "tools/sbom.py", str(dist / "localyun.cdx.json"), environment=environment)
    write_sums(dist)
    print("dist/ has " + ", ".join(sorted(each.name for each in dist.iterdir())))


def pythons(root: Path) -> list[str]:
    """Return the supported Pythons on this machine, the running one included.

    Missing ones are printed.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = []
    for version in re.findall(r"Python :: (\d+\.\d+)\n", "".join(f"{each}\n" for each in project["classifiers"])):
        running = version == f"{sys.version_info[0]}.{sys.version_info[1]}"
        program = sys.executable if running else shutil.which(f"python{version}")
        if program and subprocess.run([program, "-c", "import venv"], check=False, capture_output=True).returncode == 0:
            found.append(program)
        else:
            print(f"not tried with Python {version}, which is not on this machine")
    return found


def try_wheel(root: Path, wheel: Path, interpreter: str) -> None:
    """Install *wheel* into an empty environment without a compiler and run a tutorial from it, elsewhere."""
    with tempfile.TemporaryDirectory(prefix="localyun-release-") as name:
        folder = Path(name)
        scripts = folder / ("Scripts" if os.name == "nt" else "bin")
        python, localyun = str(scripts / "python"), str(scripts / "localyun")
        install = [python, "-m", "pip", "install", "--quiet", "--constraint", str(root / "constraints.txt")]
        state = ["--state", str(folder / "state")]
        without_compiler = os.environ | {"CC": "false", "CXX": "false"}
        try:
            for command in (
                [interpreter, "-m", "venv", name],
                [*install, "--only-binary", ":all:", str(wheel)],
                [*install, f"{wheel}[sdk]"],
                [localyun, "--version"],
                [localyun, "start", "-d", "--ephemeral", "--port", "0", "--https-port", "0", *state],
                [localyun, "tutorial", "run", "callback", *state],
            ):
                run(folder, *command, environment=without_compiler)
        finally:
            if Path(localyun).exists():
                subprocess.run([localyun, "stop", *state], cwd=folder, check=False)
    with zipfile.ZipFile(wheel) as archive:
        size = sum(each.file_size for each in archive.infolist())
    print(f"{wheel.name} works with {interpreter}; {wheel.stat().st_size:,} bytes, {size:,} unpacked", flush=True)


def write_sums(dist: Path) -> None:
    """Write the SHA-256 sums of all files in *dist*, as ``sha256sum`` writes and checks them."""
    (dist / SUMS).write_text(
        "".join(
            f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n"
            for each in sorted(dist.iterdir())
            if each.is_file() and not each.name.startswith(SUMS)
        ),
        encoding="utf-8",
        newline="\n",
    )


def sign(root: Path, key: Path) -> None:
    """Sign the checksums of dist/ with the SSH key *key*, whose public half is in `tools/signers`."""
    sums, signers = root / "dist" / SUMS, root / "tools" / "signers"
    if not sums.exists():
        raise Refused("dist/ has no archives; python3 dev.py release --check makes them")
    written = sums.read_bytes()
    write_sums(sums.parent)
    if sums.read_bytes() != written:
        sums.write_bytes(written)
        raise Refused("dist/ has changed since its sums were written; python3 dev.py release --check makes it again")
    signature = sums.with_name(f"{SUMS}.sig")
    signature.unlink(missing_ok=True)
    run(root, "ssh-keygen", "-Y", "sign", "-n", NAMESPACE, "-f", str(key.resolve()), str(sums))
    verify = ["ssh-keygen", "-Y", "verify", "-f", str(signers), "-I", "localyun", "-n", NAMESPACE, "-s", str(signature)]
    try:
        run(root, *verify, given=written.decode())
    except Refused:
        signature.unlink()
        public = run(root, "ssh-keygen", "-y", "-f", str(key.resolve()), quiet=True)
        line = f'localyun namespaces="{NAMESPACE}" {" ".join(public.split()[:2])}'
        raise Refused(f"tools/signers does not have this key; add and commit:\n{line}") from None


def run(
    folder: Path,
    *command: str,
    quiet: bool = False,
    given: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run *command* in *folder* with *given* as its input; if *quiet*, return what it prints.

    Raises: Refused when it is not there or fails.
    """
    sys.stdout.flush()
    output = subprocess.PIPE if quiet else None
    try:
        done = subprocess.run(
            command, cwd=folder, check=True, env=environment, input=given, stdout=output, encoding="utf-8"
        )
    except OSError as error:
        raise Refused(str(error)) from error
    except subprocess.CalledProcessError as error:
        raise Refused(f"failed with {error.returncode}: {' '.join(command)}") from error
    return (done.stdout or "").strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
