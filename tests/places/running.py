"""Makes places, does the jobs in them and removes them."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tests.places import making, project
from tests.places.places import Place

LIMIT_S = 600


class Account(NamedTuple):
    """A user other than the one who runs this."""

    user: int
    group: int


class Outcome(NamedTuple):
    """What came of one job: ``outcome`` is ``ok``, ``failed`` or ``left out``."""

    job: str
    outcome: str
    text: str


class Workshop:
    """Makes places from packages that are brought together once, in *folder*; *accounts* are users by their kind."""

    def __init__(self, folder: Path, accounts: Mapping[str, Account | None]) -> None:
        self._folder = folder
        self._accounts = accounts
        self._seed = folder / "packages"
        self._lock = threading.Lock()
        self._jobs = folder / "jobs.py"
        shutil.copy(Path(__file__).with_name("jobs.py"), self._jobs)
        self._jobs.chmod(0o644)

    def missing(self, place: Place) -> str:
        """Return why a place cannot be made here; empty when it can."""
        if place.user == "own":
            return ""
        if self._accounts[place.user] is None:
            return "no user could be made"
        return "" if making.readable_python() else "no other user may run this Python"

    def visit(self, place: Place) -> Iterator[Outcome]:
        """Make a place, do the jobs and remove it."""
        below = Path(place.below)
        made = not below.exists()
        below.mkdir(exist_ok=True)
        top = Path(tempfile.mkdtemp(prefix="localyun-place-", dir=below))
        other = Path(tempfile.mkdtemp(prefix="localyun-place-", dir=place.state)) if place.state else None
        try:
            top.chmod(0o755)
            yield from self._visited(place, top / place.folder, other)
        except subprocess.CalledProcessError as error:
            words = " ".join(map(str, error.cmd))
            yield Outcome("start", "failed", f"{words}\n{(error.stderr or b'').decode('utf-8', 'replace')}")
        except (OSError, subprocess.TimeoutExpired) as error:
            yield Outcome("start", "failed", str(error))
        finally:
            for folder in filter(None, (top, other)):
                shutil.rmtree(folder, ignore_errors=True)
            if made:
                below.rmdir()

    def _visited(self, place: Place, folder: Path, state: Path | None) -> Iterator[Outcome]:
        folder.mkdir()
        home, work = folder / "home", folder / place.project
        home.mkdir()
        project.write_home(home)
        python, program = self._install(place, folder, home)
        project.write(work, str(python))
        account = self._accounts[place.user]
        if account is not None:
            for path in (*home.rglob("*"), home, *work.rglob("*"), work, *filter(None, [state])):
                os.chown(path, *account, follow_symlinks=False)
        specification = folder / "specification.json"
        specification.write_text(json.dumps(self._specification(place, python, program, state or work)), "utf-8")
        done = subprocess.run(
            [*place.wrapper, str(python), str(self._jobs), str(specification)],
            cwd=work, env=_variables(place, folder, home, python), capture_output=True, check=False, timeout=LIMIT_S,
            stdin=subprocess.DEVNULL, umask=place.umask,
            **({"user": account.user, "group": account.group, "extra_groups": []} if account else {}),
        )  # fmt: skip
        outcomes = [Outcome(**json.loads(line)) for line in done.stdout.splitlines() if line.startswith(b"{")]
        yield from outcomes
        if not outcomes or done.returncode:
            yield Outcome("start", "failed", (done.stdout + done.stderr).decode("utf-8", "replace"))

    def _install(self, place: Place, folder: Path, home: Path) -> tuple[Path, Path]:
        """Install the program; return its interpreter and its command."""
        python = making.readable_python() if place.user != "own" else getattr(sys, "_base_executable", sys.executable)
        assert python is not None
        if place.installation == "user":
            making.fill(_made(making.user_packages(home)), provided=making.provided_by(python))
            making.write_command(home / ".local" / "bin" / "localyun", Path(python))
            return Path(python), home / ".local" / "bin" / "localyun"
        program = folder / "program"
        if place.installation == "pip":
            subprocess.run([place.python, "-m", "venv", program], check=True, capture_output=True)
            options = ["--quiet", "--disable-pip-version-check", "-c", str(making.ROOT / "constraints.txt")]
            wanted = f"{making.ROOT}[{','.join(making.EXTRAS)}]"
            subprocess.run(
                [program / "bin" / "python", "-m", "pip", "install", *options, wanted], check=True, capture_output=True
            )
            return program / "bin" / "python", program / "bin" / "localyun"
        packages = making.make_environment(program, python)
        if place.installation == "editable":
            making.copy_program(_made(folder / "checkout"))
            making.fill(packages, source=folder / "checkout")
        else:
            making.clone(self._filled(), packages)
        making.write_command(program / "bin" / "localyun", program / "bin" / "python")
        return program / "bin" / "python", program / "bin" / "localyun"

    def _filled(self) -> Path:
        with self._lock:
            if not self._seed.exists():
                making.fill(_made(self._seed))
        return self._seed

    def _specification(self, place: Place, python: Path, command: Path, state: Path) -> dict[str, object]:
        node = shutil.which("node")
        programs = {"deployed-node": node, "deployed-php": shutil.which("php")}
        return {
            "command": ["localyun"] if place.installation == "activated" else [str(command)],
            "python": str(python),
            "state": str(state / ".localyun"),
            "deployed": [
                "deployed-python",
                "deployed-custom",
                *(name for name, program in programs.items() if program),
            ],
            "node": "" if node else "there is no node on the PATH",
            "plugin": "" if find_spec("pytest") else "there is no pytest",
        }


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _variables(place: Place, folder: Path, home: Path, python: Path) -> dict[str, str]:
    """Return what the jobs find in their environment: nothing of the one this runs in but the path to Node.js."""
    node = shutil.which("node")
    path = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin", *([str(Path(node).parent)] if node else [])]
    if place.installation == "activated":
        path.insert(0, str(python.parent))
    variables = {"PATH": ":".join(path), "LANG": "C.UTF-8", "HOME": str(home), "PROGRAM": str(folder / "program")}
    if place.user == "homeless":
        del variables["HOME"]
    return variables | dict(place.variables)
