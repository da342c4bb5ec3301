"""The Testcontainers module: what it asks of an engine, and the kit it hands out. No engine is needed."""

from types import SimpleNamespace

import pytest

pytest.importorskip("testcontainers.core.container")
from testcontainers.core.container import DockerContainer

from emulator.testing import TestingError
from emulator.testing.containers import LocalyunContainer


@pytest.fixture(autouse=True)
def no_engine(monkeypatch):
    """Testcontainers looks for an engine as soon as a container is described."""
    monkeypatch.setattr("testcontainers.core.container.DockerClient", lambda **how: None)


@pytest.fixture
def engine(emulator, monkeypatch):
    """An engine whose containers are the emulator of the tests; returns what is asked of it."""
    asked = []
    ports = {8868: emulator.port, 8869: emulator.https_port}
    monkeypatch.setattr(DockerContainer, "start", lambda self: asked.append("start"))
    monkeypatch.setattr(DockerContainer, "stop", lambda self, *words, **how: asked.append("stop"))
    monkeypatch.setattr(DockerContainer, "get_container_host_ip", lambda self: "127.0.0.1")
    monkeypatch.setattr(DockerContainer, "get_exposed_port", lambda self, port: ports[port])

    def execute(self, command):
        asked.append(command)
        return SimpleNamespace(exit_code=0, output=(emulator.state / "keys.json").read_bytes())

    monkeypatch.setattr(DockerContainer, "exec", execute)
    return asked


def test_container_publishes_the_ports_and_mounts_the_functions(tmp_path):
    """What the image listens on and where it looks for functions; it is ready when its health check says so."""
    container = LocalyunContainer("some/localyun:1", functions=tmp_path)

    assert set(container.ports) == {"8868", "8869"} or set(container.ports) == {8868, 8869}
    assert container.volumes == {str(tmp_path): {"bind": "/functions", "mode": "ro"}}
    assert type(container._wait_strategy).__name__ == "HealthcheckWaitStrategy"


def test_kit_speaks_to_the_container(engine):
    """Keys and token are read inside the container, address and port are the engine's."""
    with LocalyunContainer() as container:
        queue = container.localyun.queue("from-a-container")
        queue.send("one")

        assert queue.receive().body == "one"

    assert engine == ["start", ["cat", "/data/keys.json"], "stop"]
    with pytest.raises(TestingError, match="not been started"):
        _ = container.localyun


def test_foreign_image_is_named(engine, monkeypatch):
    """An image without the key file is none of localyun."""
    monkeypatch.setattr(DockerContainer, "exec", lambda self, command: SimpleNamespace(exit_code=1, output=b""))

    with pytest.raises(TestingError, match="is nginx an image of localyun"):
        LocalyunContainer("nginx").start()
