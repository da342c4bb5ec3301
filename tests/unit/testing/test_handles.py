"""What the kit's handles do without an emulator: whether they are true, and the names they get by default."""

from emulator.testing.doubles import Sink
from emulator.testing.kit import Localyun, kit_of
from emulator.testing.resources import Queue

KEYS = {
    "accessKeyId": "a", "accessKeySecret": "s", "accountId": "1000000000000001", "region": "cn-hangzhou",
    "adminToken": "t",
}  # fmt: skip


def test_handles_of_empty_things_are_true(monkeypatch):
    """Python takes the length where nothing else is said: ``localyun.queue() or other`` would be the other one."""
    monkeypatch.setattr(Queue, "__len__", lambda queue: 0)
    monkeypatch.setattr(Sink, "__len__", lambda sink: 0)

    assert Queue.__new__(Queue)
    assert Sink.__new__(Sink)


def test_checkpoints_without_a_name_do_not_replace_each_other(monkeypatch):
    """The first has the test's name, and a repetition of the test begins anew."""
    kit = kit_of(KEYS, "http://127.0.0.1:1")
    asked = []
    monkeypatch.setattr(kit.api, "admin", lambda method, path, *body: asked.append(path))

    assert isinstance(kit, Localyun)
    names = [kit.checkpoint().name, kit.checkpoint().name, kit.checkpoint("own").name, kit.checkpoint().name]
    kit.begin_again(baseline="b")
    again = kit.checkpoint().name
    kit.close()

    assert names == [kit.name(), kit.name("2"), "own", kit.name("3")]
    assert again == kit.name()
    assert f"checkpoints/{names[1]}" in asked
