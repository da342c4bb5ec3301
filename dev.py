"""Set up this project and run its tasks; needs nothing but Python 3.11 or newer.

    python3 dev.py demo  [arguments of "localyun tutorial run"]   run the polling tutorial
    python3 dev.py test  [--quick] [arguments of pytest]          run the tests, or those that take under a minute
    python3 dev.py check                                          format, lint, types, import contract
    python3 dev.py bench [arguments of the benchmarks]            run the benchmarks
    python3 dev.py crash [--kills N --seed S ...]                 kill the emulator under load and compare
    python3 dev.py coverage [--all] [arguments of pytest]         measure branches that the tests run, hold the gates
    python3 dev.py house [--detail]                               print the shape of the code and the cost of requests
    python3 dev.py places [--quick] [--only TEXT]                 do the main jobs wherever the program may be put
    python3 dev.py suites NAME PATH                               run the suite of an SDK's maker, or try public flows
    python3 dev.py fuzz  TARGET [--seconds N]                     fuzz one target, or all
    python3 dev.py clients                                        install SDKs of other languages for the tests
    python3 dev.py browser                                        install what the tests of the console need
    python3 dev.py pictures [FOLDER]                              take the screenshots of docs/console, or of every page
    python3 dev.py docs [--write]                                 build the documentation; --write its tables
    python3 dev.py conformance [PATH ...]                         run the tests with official clients, write the matrix
    python3 dev.py image [--arch ARCH] [--base TAR]               build and try the image without a container engine
    python3 dev.py release VERSION | --check | --sign KEY         changelog, archives that are tried, sums, signature
    python3 dev.py setup                                          only install

The first task makes a virtual environment in .venv and installs the project with the versions of constraints.txt. Later
tasks install again only when pyproject.toml or constraints.txt has changed, so they work without a network.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

MINIMUM = (3, 11)
ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
STAMP = VENV / ".localyun-setup"
EXTRAS = {"sdk": "sdk", "dev": "dev", "docs": "dev,docs", "fuzz": "fuzz"}
"""The names of environments that tasks need, with the extras to install; those listed first are part of later ones."""
CHECKS = (
    ("format", ("-m", "ruff", "format", "--check", ".")),
    ("lint", ("-m", "ruff", "check", ".")),
    ("types", ("-m", "mypy")),
    ("imports", ("-c", "from importlinter.cli import lint_imports_command; lint_imports_command()")),
)

GATES: tuple[tuple[float, str], ...] = (
    (100.0, "emulator/auth/*"),
    (100.0, "emulator/wire/*"),
    (
        100.0,
        "emulator/services/*/codec.py,emulator/services/*/*/codec.py,emulator/services/fc/catalog/fields.py,"
        "emulator/oss/codec.py,emulator/oss/model.py",
    ),
    (
        100.0,
        "emulator/services/mns/*/model.py,emulator/services/mns/queues/visibility.py,"
        "emulator/services/mns/operations/topics.py,emulator/services/mns/topics/publishing.py",
    ),
    (86.0, "emulator/*"),
)
"""Per cent of lines and branches that the unit tests and the recorded requests must run, in which files.

Signatures, dialects, codecs and the pure rules of MNS: all of them. All files together: as measured.
"""

GATES_OF_ALL: tuple[tuple[float, str], ...] = ((95.0, "emulator/*"),)
"""The same for all tests, which include emulators in processes of their own; killed processes report nothing."""

SPREAD = ("-n", "4", "--dist", "worksteal")
"""How tests are spread over processes: each takes a quarter, so that what the tests of a file share is made once.

Four keep two processors busy: half of what one process does is waiting, for emulators, browsers and timers.
"""

QUICK = ("tests/unit", "tests/wire", "-m", "not starts_programs")
"""The arguments of pytest for a quick run while editing."""

CLIENTS = (
    ("npm", ("install", "--no-package-lock", "--no-audit", "--no-fund", "--silent"), "tests/sdk/scripts"),
    ("go", ("build", "-o", os.devnull, "."), "tests/sdk/scripts/go"),  # otherwise a test compiles it
    ("mvn", ("-q", "-B", "dependency:get", "-Dartifact=com.aliyun.fc.runtime:fc-java-core:1.4.1"), "."),
)
"""The commands that install SDKs: program, arguments, folder."""


def main(arguments: list[str]) -> int:
    """Run one task and return its exit code."""
    if sys.version_info < MINIMUM:
        wanted = ".".join(str(part) for part in MINIMUM)
        found = ".".join(str(part) for part in sys.version_info[:3])
        return fail(f"Python {wanted} or newer is needed, this is {found} ({sys.executable})")
    tasks = {
        "demo": demo, "test": test, "check": check, "bench": bench, "coverage": coverage, "crash": crash, "fuzz": fuzz,
        "clients": clients, "browser": browser, "pictures": pictures, "house": house, "places": places,
        "suites": suites, "conformance": conformance, "docs": docs, "image": image, "release": release, "setup": setup,
    }  # fmt: skip
    if not arguments or arguments[0] not in tasks:
        print(__doc__)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    # if it is set, as in many images, each process of a task compiles all that it imports
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        return tasks[arguments[0]](arguments[1:])
    except KeyboardInterrupt:
        return 130


def demo(arguments: list[str]) -> int:
    """Run the polling tutorial through an official SDK."""
    return prepare("sdk") or run("-m", "emulator", "tutorial", "run", "poll-for-task-status", *arguments)


def test(arguments: list[str]) -> int:
    """Run the tests on four processes unless *arguments* say otherwise; pytest's closing line is the last output.

    ``--quick`` leaves out what starts programs, emulators and instances of functions, and draws fewer examples.
    """
    if "--quick" in arguments:
        os.environ.setdefault("HYPOTHESIS_PROFILE", "quick")
        arguments = [*QUICK, *(argument for argument in arguments if argument != "--quick")]
    spread = any(argument.startswith(("-n", "--numprocesses", "--dist")) for argument in arguments)
    return prepare("dev") or run("-m", "pytest", *(() if spread else SPREAD), *arguments)


def coverage(arguments: list[str]) -> int:
    """Measure unit tests and recorded requests, or all tests, print which branches they leave out, hold every gate."""
    whole = "--all" in arguments
    tests = ["tests"] if whole else ["tests/unit", "tests/wire"]
    others = [argument for argument in arguments if argument != "--all"]
    code = prepare("dev") or run("-m", "coverage", "erase")
    code = code or run("-m", "coverage", "run", "-m", "pytest", *tests, *SPREAD, "-m", "not unmeasured", *others)
    if code or run("-m", "coverage", "combine", "--quiet"):
        return code or fail("the measurements could not be combined")
    run("-m", "coverage", "report")
    missed = []
    for least, files in GATES_OF_ALL if whole else GATES:
        print(f"gate: {least} % of {files}")
        if run("-m", "coverage", "report", "--format", "total", "--include", files, "--fail-under", str(least)):
            missed.append(files)
    return fail("too little is tested: " + "; ".join(missed)) if missed else 0


def check(arguments: list[str]) -> int:
    """Run every check, also after one has failed."""
    if arguments:
        return fail("check takes no arguments")
    code = prepare("dev")
    if code:
        return code
    # Concurrently: together they take no longer than the slowest one; the output of each is printed in one piece.
    running = [(name, start(*command)) for name, command in CHECKS]
    failed = []
    for name, process in running:
        print(process.communicate()[0], end="", flush=True)
        if process.returncode != 0:
            failed.append(name)
    if failed:
        return fail("check failed: " + ", ".join(failed))
    print("check passed: " + ", ".join(name for name, _ in CHECKS))
    return 0


def bench(arguments: list[str]) -> int:
    """Run the benchmarks."""
    return prepare("dev") or run("-m", "benchmarks", *arguments)


def fuzz(arguments: list[str]) -> int:
    """Fuzz with coverage as the guide; the engine is not among what the other tasks need."""
    return prepare("fuzz") or run("-m", "tests.fuzz", *arguments)


def crash(arguments: list[str]) -> int:
    """Kill the emulator at random times under load and compare it with what it has acknowledged."""
    return prepare("dev") or run("-m", "benchmarks.crash", *arguments)


def house(arguments: list[str]) -> int:
    """Print modules, lines, import circles, and files and calls of four requests."""
    return prepare("dev") or run("-m", "benchmarks.house", *arguments)


def places(arguments: list[str]) -> int:
    """Start, call, deploy and test in folders, installations and accounts of many kinds, and print the table."""
    return prepare("dev") or run("-m", "tests.places", *arguments)


def suites(arguments: list[str]) -> int:
    """Run the suite of an SDK's maker, from a checkout that is already there."""
    return prepare("dev") or run("-m", "tests.suites", *arguments)


def clients(arguments: list[str]) -> int:
    """Install the SDKs of the languages that are here; tests of what is missing are left out."""
    if arguments:
        return fail("clients takes no arguments")
    for tool, words, folder in CLIENTS:
        program = shutil.which(tool)
        if program is None:
            print(f"dev.py: no {tool} here, its SDKs are left out", file=sys.stderr)
        elif subprocess.run([program, *words], cwd=ROOT / folder, check=False, stdout=sys.stderr).returncode:
            print(f"dev.py: the SDKs of {tool} could not be installed and are left out", file=sys.stderr)
    return 0


def browser(arguments: list[str]) -> int:
    """Install Chromium, its driver, a Chinese font and axe-core where that can be done; tests without are left out."""
    if arguments:
        return fail("browser takes no arguments")
    wanted = [package for package, there in BROWSER.items() if not there()]
    installer = shutil.which("apt-get")
    may = installer is not None and hasattr(os, "geteuid") and os.geteuid() == 0
    if wanted and not may:
        print(f"dev.py: no {' and '.join(wanted)} here and no right to install it", file=sys.stderr)
    # one at a time: a system may lack some of them, and each is useful alone
    for package in wanted if may else ():
        command = [str(installer), "install", "--yes", "--no-install-recommends", package]
        if subprocess.run(command, check=False, stdout=sys.stderr).returncode:
            print(f"dev.py: {package} could not be installed", file=sys.stderr)
    npm = shutil.which("npm")
    if npm is None or subprocess.run([npm, *CLIENTS[0][1]], cwd=ROOT / "tests/console", check=False).returncode:
        print("dev.py: axe-core could not be installed, its test is left out", file=sys.stderr)
    return 0


def has_chinese_font() -> bool:
    """Whether a font with Chinese characters is installed, which pictures and narrow pages need."""
    lister = shutil.which("fc-list")
    return lister is None or bool(subprocess.run([lister, ":lang=zh"], check=False, capture_output=True).stdout)


BROWSER = {
    "chromium": lambda: shutil.which("chromium") is not None,
    "chromium-headless-shell": lambda: shutil.which("chromium-headless-shell") is not None,
    "chromium-driver": lambda: shutil.which("chromedriver") is not None,
    "fonts-wqy-microhei": has_chinese_font,
}
"""Debian packages that the console's tests need, each with whether it is installed."""


def pictures(arguments: list[str]) -> int:
    """Take the screenshots of the console again."""
    return prepare("dev") or run("-m", "tests.console.pictures", *arguments)


def docs(arguments: list[str]) -> int:
    """Build the site into dist/site, where any warning is an error; first write the generated tables if asked."""
    if arguments not in ([], ["--write"]):
        return fail("docs takes --write or nothing")
    code = prepare("docs")
    for name in ("tables", "schemas", "drawings") if arguments else ():
        code = code or run("-m", f"tools.{name}")
    return code or run("-m", "mkdocs", "build", "--config-file", str(ROOT / "tools" / "mkdocs.yml"))


def conformance(arguments: list[str]) -> int:
    """Run the tests that drive official clients and write which operations each has performed."""
    return prepare("dev") or run("-m", "tests.conformance", *arguments)


def image(arguments: list[str]) -> int:
    """Build the image and pass a tutorial in it, without a container engine."""
    return prepare("sdk") or run("docker/without_engine.py", *arguments)


def release(arguments: list[str]) -> int:
    """Make a release: changelog, archives that are tried, their sums and signature."""
    return prepare("dev") or run("-m", "tools.release", *arguments)


def setup(arguments: list[str]) -> int:
    """Install everything the other tasks need."""
    return fail("setup takes no arguments") if arguments else prepare("dev")


def prepare(extra: str) -> int:
    """Install the project with *extra*, one of `EXTRAS`, into the environment, if need be; return 0 on success."""
    wanted = fingerprint()
    order = list(EXTRAS)
    enough = {extra, *(order[order.index(extra) :] if extra in order[:2] else ())}
    if python_works() and read_stamp() in {f"{each} {wanted}" for each in enough}:
        return 0
    if not python_works():
        code = make_environment()
        if code:
            return code
    print(f"installing localyun[{extra}] into {VENV} ...", file=sys.stderr, flush=True)
    STAMP.unlink(missing_ok=True)
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    # pip 25.3 and later do this by default; earlier ones print a warning of three lines about it
    options = ["--disable-pip-version-check", "--use-pep517", *quiet, "--constraint", str(ROOT / "constraints.txt")]
    code = run("-m", "pip", "install", *options, "--editable", f"{ROOT}[{EXTRAS[extra]}]", stdout_to_stderr=True)
    if code:
        return fail("the packages could not be installed; pip's own messages above say why")
    STAMP.write_text(f"{extra} {wanted}\n", encoding="ascii")
    return 0


def make_environment() -> int:
    """Make .venv with the running Python; return 0 on success."""
    try:
        import ensurepip  # noqa: F401 - only to find out whether it is installed
        import venv
    except ImportError:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return fail(
            f"this Python cannot make virtual environments: venv or ensurepip is missing. On Debian and Ubuntu: "
            f"apt install python{version}-venv"
        )
    print(f"making a virtual environment in {VENV} ...", file=sys.stderr, flush=True)
    try:
        venv.create(VENV, with_pip=True, clear=VENV.exists(), symlinks=os.name != "nt")
    except (OSError, subprocess.CalledProcessError) as error:
        return fail(f"the virtual environment in {VENV} could not be made: {error}")
    return 0


def python_works() -> bool:
    """Whether .venv has a Python that starts, is new enough and has pip."""
    probe = f"import sys, importlib.util as u; sys.exit(sys.version_info < {MINIMUM} or u.find_spec('pip') is None)"
    try:
        return subprocess.run([environment_python(), "-c", probe], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def fingerprint() -> str:
    """Return a text that changes when what has to be installed changes."""
    digest = hashlib.sha256(str(ROOT).encode())
    for name in ("pyproject.toml", "constraints.txt"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def read_stamp() -> str:
    """Return the fingerprint of the last successful installation, "" when there was none."""
    try:
        return STAMP.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def environment_python() -> str:
    """Return the path of the environment's Python."""
    return str(VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def run(*arguments: str, stdout_to_stderr: bool = False) -> int:
    """Run the environment's Python in the project's folder and return its exit code."""
    sys.stdout.flush()
    output = sys.stderr if stdout_to_stderr else None
    return subprocess.run([environment_python(), *arguments], cwd=ROOT, check=False, stdout=output).returncode


def start(*arguments: str) -> subprocess.Popen[str]:
    """Start the environment's Python in the project's folder; its error stream is joined with its output."""
    return subprocess.Popen(
        [environment_python(), *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )


def fail(message: str) -> int:
    """Print what is wrong and return the exit code for it."""
    print(f"dev.py: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
