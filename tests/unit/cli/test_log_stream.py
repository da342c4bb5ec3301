"""A log file that keeps its bound."""

import subprocess
import sys

from emulator.cli.log_stream import LogFile


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
        "import sys; from pathlib import Path; from emulator.cli.log_stream import LogFile\n"
        f"stream = LogFile(Path({str(path)!r}), limit_bytes=200)\n"
        "for _ in range(30): stream.write('x' * 50 + '\\n')\n"
        "print('last words', file=sys.stderr)\n"
    )
    with path.open("ab") as log:
        subprocess.run([sys.executable, "-c", program], stdout=log, stderr=log, check=True)

    assert path.read_text().endswith("last words\n")
