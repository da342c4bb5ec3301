"""A restore that fails half-way: the old state is back, and the emulator goes on."""

import asyncio
import io
import json
import tarfile

import pytest

from emulator.app import Emulator
from emulator.config import Config
from emulator.lab.errors import LabError


@pytest.fixture(params=["kept", "ephemeral"])
async def emulator(request, tmp_path):
    config = Config(state=tmp_path / "state", port=0, https_port=0, ephemeral=request.param == "ephemeral")
    running = Emulator(config)
    await running.start()
    yield running
    await running.stop()


def queues(emulator):
    return [each.name for each in emulator.services._messages.queue_store.all_queues()]


def add(emulator, name):
    emulator.services._messages.queue_store.add_queue(emulator.tenant, name, _settings(), 1_700_000_000_000)
    emulator._database.commit()


def _settings():
    from emulator.services.mns.queues.model import QueueSettings

    return QueueSettings()


async def test_what_the_services_cannot_go_on_with_is_taken_back(emulator, monkeypatch):
    """The queue made since the save is there, requests are answered again, and another try succeeds."""
    checkpoints = emulator._lab.checkpoints
    await checkpoints.save("empty")
    add(emulator, "since")
    go_on, failures = emulator.services.resume, [RuntimeError("cannot go on")]

    async def resume():
        if failures:
            raise failures.pop()
        await go_on()

    monkeypatch.setattr(emulator.services, "resume", resume)
    with pytest.raises(RuntimeError, match="cannot go on"):
        await checkpoints.restore("empty")
    after_failure = queues(emulator)
    kept = [each.name for each in emulator.config.state.glob("state.db.*")]
    await checkpoints.restore("empty")

    assert after_failure == ["since"]
    assert kept == []
    assert queues(emulator) == []
    assert emulator._entrance.loaded.done()


async def test_a_restore_whose_caller_goes_away_comes_to_its_end(emulator):
    """It is neither half done nor in the way of the next one."""
    checkpoints = emulator._lab.checkpoints
    await checkpoints.save("empty")
    add(emulator, "since")

    asked = asyncio.get_running_loop().create_task(checkpoints.restore("empty"))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await checkpoints.close()

    assert queues(emulator) == []
    await checkpoints.save("again")


async def test_one_bad_entry_does_not_break_the_list(emulator, tmp_path):
    """Nor do numbers that are none, dates that no calendar has, or a folder where the description should be."""
    checkpoints = emulator._lab.checkpoints
    await checkpoints.save("good")
    folder = checkpoints._store._folder
    text = (folder / "good" / "checkpoint.json").read_text()
    about = json.loads(text)
    documents = [
        text.replace(str(about["now"]), "1e999"),
        json.dumps(about | {"created_at": 2**62}),
        json.dumps(about | {"account": "x"}),
        "[" * 100_000,
        "\ud800",
    ]
    for number, changed in enumerate(documents):
        (folder / f"bad{number}").mkdir()
        (folder / f"bad{number}" / "checkpoint.json").write_text(changed, encoding="utf-8", errors="surrogatepass")
    (folder / "worse" / "checkpoint.json").mkdir(parents=True)

    assert [each.name for each in checkpoints.all()] == ["good"]
    with pytest.raises(LabError, match="InvalidCheckpoint"):
        await checkpoints.restore("bad0")


async def test_a_sparse_file_is_refused_and_leaves_nothing(emulator):
    """An archive of a kilobyte must not fill the disk with a terabyte of zeros."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("state.db")
        member.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(2**40)}
        content = b"1\n1099511627775\n1\n".ljust(512, b"\0") + b"x"
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    checkpoints = emulator._lab.checkpoints

    with pytest.raises(LabError, match="InvalidCheckpoint"):
        await checkpoints.unpack("sparse", 0, target.getvalue(), last=True)

    assert list(checkpoints._store._folder.iterdir()) == []
