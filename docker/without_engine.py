"""Build the image without a container engine and pass the polling tutorial in it.

    python3 dev.py image [--arch ARCH] [--base TAR]

Run it as root, with Debian's buildah, bubblewrap and, without --base, mmdebstrap. ``mmdebstrap`` makes a root file
system with Python in place of the public base image, ``buildah`` runs the Dockerfile on it, and ``bwrap`` starts the
result as the image's user would be: namespaces of its own, a fresh state folder, the entry point as first process. Then
the health check has to pass inside, the tutorial outside through the official SDK, and SIGTERM has to end it in order.
Everything is below .image/, which can be deleted.

The image of another architecture (amd64, arm64) is built and started by this machine when its kernel hands foreign
programs to an emulator: Debian's qemu-user-static, binfmt-support and arch-test.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / ".image"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
SUITE = "bookworm"
TOOLS = {"buildah": "buildah", "bwrap": "bubblewrap", "nsenter": "util-linux", "mmdebstrap": "mmdebstrap"}
"""The programs that do it, each with its package in Debian; the last one only makes a base where none is given."""
TRUST = Path("/etc/ssl/certs")
"""The machine's authorities, mounted while pip runs: a network may have its own."""
HEALTH_S = 120
"""How long the start may take, on another architecture's emulator too."""
END_S = 30


def main() -> int:
    """Build, start, try, stop; 0 when all of it went well."""
    parser = argparse.ArgumentParser(prog="dev.py image", description="Build and try the image without an engine.")
    parser.add_argument("--base", type=Path, metavar="TAR", help="a root file system with python3 and venv")
    parser.add_argument(
        "--arch", choices=ARCHITECTURES.values(), default=ARCHITECTURES.get(platform.machine()), help="default: this machine's"
    )
    given = parser.parse_args()
    needed = [tool for tool in TOOLS if tool != "mmdebstrap" or given.base is None]
    missing = [tool for tool in needed if shutil.which(tool) is None]
    if missing:
        packages = " ".join(TOOLS[tool] for tool in missing)
        print(f"dev.py image: {', '.join(missing)} missing; on Debian: apt install {packages}")
        return 2
    WORK.mkdir(exist_ok=True)
    base, tag = f"localhost/python-base:{given.arch}", f"localhost/localyun:{given.arch}"
    make_base(base, given.arch, given.base)
    build(tag, base, given.arch)
    container = buildah("from", "--arch", given.arch, tag)
    try:
        return attempt(Path(buildah("mount", container)), configuration(tag))
    finally:
        buildah("rm", container)


def buildah(*words: str, quiet: bool = True) -> str:
    """Run buildah with a store of its own and return what it prints."""
    store = ["--root", str(WORK / "store"), "--runroot", str(WORK / "run"), "--storage-driver", "vfs"]
    output = subprocess.PIPE if quiet else None
    return (subprocess.run(["buildah", *store, *words], cwd=ROOT, check=True, text=True, stdout=output).stdout or "").strip()


def make_base(base: str, arch: str, tar: Path | None) -> None:
    """Have an image to begin from, of *tar* or of Debian's packages."""
    if tar is None:
        if base in buildah("images", "--format", "{{.Name}}:{{.Tag}}").splitlines():
            return
        tar = WORK / f"base-{arch}.tar"
        packages = "--include=python3,python3-venv,ca-certificates"
        skip = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale")]
        subprocess.run(["mmdebstrap", f"--arch={arch}", "--variant=minbase", packages, *skip, SUITE, str(tar)], check=True)
    container = buildah("from", "scratch")
    buildah("add", container, str(tar), "/")
    buildah("config", "--arch", arch, container)
    buildah("commit", "--rm", container, base)


def build(tag: str, base: str, arch: str) -> None:
    """Run the Dockerfile."""
    options = ["--isolation", "chroot", "--network", "host", "--format", "docker", "--build-arg", f"PYTHON={base}"]
    options += ["--arch", arch]
    if TRUST.is_dir():
        options += ["--volume", f"{TRUST}:{TRUST}:ro"]
    buildah("bud", *options, "--tag", tag, "--file", "docker/Dockerfile", ".", quiet=False)
    print(f"{tag} has {json.loads(buildah('images', '--json', tag))[0]['size']}")


def configuration(tag: str) -> dict:
    """Return how the image wants to be run."""
    return json.loads(buildah("inspect", "--type", "image", tag))["Docker"]["config"]


def attempt(root: Path, config: dict) -> int:
    """Start the image and use it; 0 when it is healthy, passes the tutorial and ends in order."""
    data = fresh("data")
    ports = {name: str(free_port()) for name in ("LOCALYUN_PORT", "LOCALYUN_HTTPS_PORT")}
    variables = dict(each.split("=", 1) for each in config["Env"]) | ports
    user, _, group = config["User"].partition(":")
    binds = [("--bind", data, "/data"), ("--bind", fresh("trust"), "/trust"), ("--ro-bind", ROOT / "functions", "/functions")]
    command = [
        "bwrap", "--bind", root, "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", *sum(binds, ()),
        "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--uid", user, "--gid", group,
        "--chdir", config["WorkingDir"], "--clearenv",
        *(word for name, value in variables.items() for word in ("--setenv", name, value)),
        "--as-pid-1", *config["Entrypoint"], *config["Cmd"],
    ]  # fmt: skip
    with (WORK / "server.log").open("wb") as log:
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        address = f"http://127.0.0.1:{ports['LOCALYUN_PORT']}"
        if not eventually(lambda: process.poll() is not None or answers(f"{address}/_localyun/health")) or process.poll():
            print((WORK / "server.log").read_text(errors="replace"))
            return 1
        first = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])
        inside = ["nsenter", "--target", str(first), "--user", "--mount", "--pid", "--preserve-credentials", "env", "-i"]
        inside += [f"{name}={value}" for name, value in variables.items()]
        check = [*inside, *config["Healthcheck"]["Test"][1:]]
        if not eventually(lambda: subprocess.run(check, check=False).returncode == 0):
            return 1
        print("the health check passes")
        subprocess.run(
            [sys.executable, "-m", "emulator", "tutorial", "run", "poll-for-task-status", "--state", data],
            env=os.environ | {"LOCALYUN_ENDPOINT": address}, cwd=ROOT, check=True,
        )  # fmt: skip
        os.kill(first, signal.SIGTERM)
        code = process.wait(END_S)
        print(f"SIGTERM ended it with {code}")
        return int(code not in (0, 128 + signal.SIGTERM))
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(END_S)


def fresh(name: str) -> Path:
    """Return a new, empty folder."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def free_port() -> int:
    """Return a port that is free at the moment."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def answers(address: str) -> bool:
    """Whether *address* answers with success."""
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except OSError:
        return False


def eventually(condition: Callable[[], bool]) -> bool:
    """Wait until *condition* holds, as the engine does for a container to become healthy; False when it does not."""
    until = time.monotonic() + HEALTH_S
    while not (held := condition()) and time.monotonic() < until:
        time.sleep(0.2)
    return held


if __name__ == "__main__":
    sys.exit(main())
