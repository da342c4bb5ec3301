"""The server's log: its two forms, that a blocked stream never blocks the server, and a file that keeps its bound."""

import io
import json
import logging
import subprocess
import sys
from threading import Event

import pytest

from emulator.cli import server_log
from emulator.cli.server_log import LogFile, ServerLog


@pytest.fixture
def root():
    """The root logger, given back as it was."""
    logger = logging.getLogger()
    level = logger.level
    yield logger
    logger.setLevel(level)


def test_text_lines_have_time_level_logger_and_message(root):
    """One line per event."""
    stream = io.StringIO()
    log = ServerLog.open("text", "info", stream)

    logging.getLogger("emulator.access").info("%s done", "x")
    logging.getLogger("emulator.access").debug("not shown")
    log.close()

    time, rest = stream.getvalue().split(" ", 1)
    assert rest == "INFO emulator.access x done\n"
    assert len(time) == len("2026-01-01T00:00:00.000Z")


def test_json_lines_hold_one_object_each(root):
    """Programs read the log as JSON, tracebacks included."""
    stream = io.StringIO()
    log = ServerLog.open("json", "debug", stream)

    logging.getLogger("a").debug("first\nline")
    try:
        int("broken")
    except ValueError:
        logging.getLogger("b").exception("second")
    log.close()

    first, second = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert (first["level"], first["logger"], first["message"]) == ("debug", "a", "first\nline")
    assert "ValueError: invalid literal" in second["exception"]


def test_lines_of_one_second_differ_in_their_milliseconds(root):
    """The text of a second is kept; what comes after it is not."""
    stream = io.StringIO()
    log = ServerLog.open("text", "info", stream)
    for instant in (1_700_000_000.007, 1_700_000_000.999, 1_700_000_001.0):
        record = logging.makeLogRecord({"name": "a", "levelname": "INFO", "levelno": logging.INFO, "msg": "x"})
        record.created = instant
        log.handle(record)
    log.close()

    times = [line.split(" ")[0] for line in stream.getvalue().splitlines()]
    assert times == ["2023-11-14T22:13:20.007Z", "2023-11-14T22:13:20.999Z", "2023-11-14T22:13:21.000Z"]


def test_logging_module_is_given_back_as_it_was(root):
    """What records hold is cut down only while the server's log is open."""
    before = (logging.logThreads, logging.logProcesses, logging._srcfile)

    log = ServerLog.open("text", "info", io.StringIO())
    during = (logging.logThreads, logging.logProcesses, logging._srcfile)
    log.close()

    assert during == (False, False, None)
    assert (logging.logThreads, logging.logProcesses, logging._srcfile) == before


def test_blocked_stream_drops_lines_and_counts_them(root, monkeypatch):
    """Logging returns at once while nobody reads; what was lost is told."""
    monkeypatch.setattr(server_log, "LONGEST_BACKLOG", 3)
    reading = Event()
    written = Event()

    class HeldStream(io.StringIO):
        def write(self, text):
            written.set()
            assert reading.wait(10)
            return super().write(text)

    stream = HeldStream()
    log = ServerLog.open("text", "info", stream)
    logger = logging.getLogger("held")
    logger.info("line 0")
    assert written.wait(10)
    for number in range(1, 11):
        logger.info("line %d", number)
    reading.set()
    log.close()

    assert "line 3" in stream.getvalue()
    assert "line 4" not in stream.getvalue()
    assert "7 lines dropped" in stream.getvalue()


def test_stream_that_is_gone_ends_the_writer_quietly(root):
    """A closed pipe must not stop the server, at its end either."""
    stream = io.StringIO()
    log = ServerLog.open("text", "info", stream)
    stream.close()

    logging.getLogger("gone").info("nobody hears this")
    log.close()

    assert log not in root.handlers


def test_a_day_of_lines_takes_twice_the_bound_at_most(tmp_path):
    """The newest lines are there, without a gap at the change of files."""
    path = tmp_path / "logs" / "server.log"
    stream = LogFile(path, limit_bytes=10_000)
    lines = [f"line {number:06d} of the day\n" for number in range(5000)]

    for line in lines:
        stream.write(line)
        stream.flush()
    stream.close()

    earlier = path.with_name("server.log.1")
    assert path.stat().st_size <= 10_000
    assert earlier.stat().st_size <= 10_000
    kept = (earlier.read_text() + path.read_text()).splitlines(keepends=True)
    assert kept == lines[-len(kept) :]
    assert sorted(file.name for file in path.parent.iterdir()) == ["server.log", "server.log.1"]


def test_a_log_goes_on_where_an_earlier_run_has_ended(tmp_path):
    """Starting anew does not forget what was written."""
    path = tmp_path / "server.log"
    path.write_text("before\n")

    stream = LogFile(path)
    stream.write("naïve ✓\n")
    stream.close()

    assert path.read_text() == "before\nnaïve ✓\n"


def test_one_piece_larger_than_the_bound_is_written_whole(tmp_path):
    """A traceback is not cut."""
    path = tmp_path / "server.log"

    stream = LogFile(path, limit_bytes=100)
    stream.write("x" * 500 + "\n")
    stream.close()

    assert path.stat().st_size == 501


def test_standard_streams_that_lead_to_the_file_move_along(tmp_path):
    """What the interpreter says at its end is in the present file, not in one that was deleted."""
    path = tmp_path / "server.log"
    program = (
        "import sys; from pathlib import Path; from emulator.cli.server_log import LogFile\n"
        f"stream = LogFile(Path({str(path)!r}), limit_bytes=200)\n"
        "for _ in range(30): stream.write('x' * 50 + '\\n')\n"
        "print('last words', file=sys.stderr)\n"
    )
    with path.open("ab") as log:
        subprocess.run([sys.executable, "-c", program], stdout=log, stderr=log, check=True)

    assert path.read_text().endswith("last words\n")
