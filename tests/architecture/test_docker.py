"""The image and the compose file agree with the program."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from emulator.config import OPTIONS, variable_of
from emulator.gateway.hosts import HostPolicy, facts

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))
SETTINGS = dict(
    line.split("=", 1) for line in (DOCKER / ".env.example").read_text().splitlines() if line and line[0] != "#"
)


def filled(text):
    """Put the values of .env.example, or defaults, in place of ${...}."""
    return re.sub(r"\$\{(\w+)(?::[-?]([^}]*))?\}", lambda match: SETTINGS.get(match[1], match[2] or ""), str(text))


def instructions(name):
    joined = DOCKERFILE.replace("\\\n", " ")
    return re.findall(rf"^{name} (.*)$", joined, re.MULTILINE)


def test_image_is_built_in_stages_and_runs_as_nobody_special():
    """What building needs stays behind; the last user is a number other than root's; its health is checked."""
    assert len(instructions("FROM")) == 2
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", instructions("USER")[-1])
    assert instructions("HEALTHCHECK")
    assert instructions("VOLUME") == ['["/data", "/functions", "/trust"]']


def test_everything_that_is_copied_is_there_and_not_ignored():
    """Each source of the build exists and is let through by the ignore file."""
    kept = {line[1:] for line in (DOCKER / "Dockerfile.dockerignore").read_text().splitlines() if line[:1] == "!"}
    sources = [word for line in instructions("COPY") if "--from" not in line for word in line.split()[:-1]]

    assert sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert source in kept, source


def test_health_check_is_executable():
    """The image runs it as a program."""
    assert (DOCKER / "healthcheck").stat().st_mode & stat.S_IXUSR


@pytest.mark.parametrize("left", [0, 1, None])
def test_container_is_healthy_once_nothing_is_left_to_do(tmp_path, left):
    """Whoever waits for it finds what localyun.yaml deploys; it is not healthy either where nothing answers."""
    ca, trust = tmp_path / "ca", tmp_path / "trust"
    for folder in (ca, trust):
        folder.mkdir()
    for name in ("ca.pem", "bundle.pem"):
        (ca / name).write_text(name)
    said = json.dumps({"functions": [], "hooks": left, "counts": {}}, indent=2)  # as `status` prints it
    (tmp_path / "localyun").write_text("#!/bin/sh\nexit 3\n" if left is None else f"#!/bin/sh\necho '{said}'\n")
    (tmp_path / "localyun").chmod(0o755)
    path = os.pathsep.join((str(tmp_path), os.environ["PATH"]))

    done = subprocess.run(
        [DOCKER / "healthcheck"],
        env={"PATH": path, "LOCALYUN_STATE": str(tmp_path), "LOCALYUN_TRUST_DIR": str(trust)},
        timeout=30,
    )

    assert (done.returncode == 0) is (left == 0)
    assert sorted(each.name for each in trust.iterdir()) == (["bundle.pem", "ca.pem"] if left == 0 else [])


@pytest.mark.parametrize(
    "text", [DOCKERFILE, (DOCKER / "compose.yaml").read_text(), (DOCKER / ".env.example").read_text()],
    ids=["Dockerfile", "compose.yaml", ".env.example"],
)  # fmt: skip
def test_variables_are_those_of_the_program(text):
    """No file sets a LOCALYUN_ variable that nothing reads."""
    known = {variable_of(option) for option in OPTIONS}

    assert set(re.findall(r"LOCALYUN_[A-Z_]+[A-Z]", text)) <= known


def test_every_alias_is_a_name_the_emulator_serves():
    """The names that lead to the emulator are of its services, in the account and region of the settings."""
    aliases = [filled(name) for name in COMPOSE["services"]["localyun"]["networks"]["default"]["aliases"]]
    policy = HostPolicy()

    found = {facts(name).service for name in aliases}

    assert all(policy.allows(name) for name in aliases)
    assert {"fc", "mns", "fnf", "sts", "mns-open", "oss"} <= found
    assert {facts(name).region for name in aliases} <= {SETTINGS["LOCALYUN_REGION"], ""}
    assert {facts(name).account for name in aliases} <= {SETTINGS["LOCALYUN_ACCOUNT_ID"], ""}


def test_emulator_listens_where_clients_call():
    """Inside the network the ports are the cloud's; outside they are published to this machine only."""
    emulator = COMPOSE["services"]["localyun"]

    assert (emulator["environment"]["LOCALYUN_PORT"], emulator["environment"]["LOCALYUN_HTTPS_PORT"]) == (80, 443)
    assert emulator["ports"] == ["127.0.0.1:8868:80", "127.0.0.1:8869:443"]
    assert emulator["sysctls"] == {"net.ipv4.ip_unprivileged_port_start": 0}


def test_neighbour_trusts_what_the_health_check_hands_out():
    """Every variable names the bundle, and no key of the authority is in reach."""
    from emulator.redirect.environment import VARIABLES

    app = COMPOSE["services"]["app"]

    assert {app["environment"][name] for name in VARIABLES} == {"/trust/bundle.pem"}
    assert app["volumes"] == ["trust:/trust:ro"]
    assert app["depends_on"]["localyun"]["condition"] == "service_healthy"


def test_neighbour_s_program_runs(emulator, tmp_path):
    """The program of the example reaches the emulator at the cloud's addresses."""
    pytest.importorskip("fc2")

    env = {name: value for name, value in os.environ.items() if not name.startswith("LOCALYUN_")}
    done = subprocess.run(
        [sys.executable, "-m", "emulator", "exec", "--state", str(emulator.state), "--",
         sys.executable, str(DOCKER / "example" / "app.py")],
        env=env | {"PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert 'function: {"name": "hello world"}' in done.stdout
    assert "flows: [" in done.stdout
