"""The table of the benchmarks with its floors, and the stacks that flame graphs are drawn from."""

import subprocess
import sys

import pytest

from benchmarks.flames import Profile, parsed, write_graphs
from benchmarks.harness import BEGIN, END, Row, run, summary, write_between
from benchmarks.server import Program
from tests.waiting import until


def a_row(**given):
    """Return a row of constant samples."""
    row = Row(name="a start", unit="ms", measure=lambda: 30, **given)
    run([row], 3)
    return row


def test_floor_is_told_beside_the_figure_and_in_units_of_the_reference():
    """So that it can be compared with the goal."""
    assert summary([a_row(reference=lambda: 10, floor=lambda: 20, goal=1.5)]).splitlines()[-1] == (
        "| a start | 30 ms | 30 - 30 | - | 10 ms | 3.00x | <= 1.5x | **missed** | 20 ms (2.00x) | 1.50x |"
    )


def test_floor_has_a_reference_of_its_own_where_it_needs_one():
    """The figure's reference would say nothing about how the floor grows."""
    row = a_row(reference=lambda: 10, floor=lambda: 20, floor_reference=lambda: 5)

    assert row.least == "20 ms (4.00x)"


def test_table_of_a_page_is_replaced_between_its_marks(tmp_path):
    """What stands around it stays, other tables among it."""
    one, other = BEGIN.format("one"), BEGIN.format("other")
    page = tmp_path / "page.md"
    page.write_text(f"# Figures\n\n{one}an old table\n{END}\n## More\n\n{other}another table\n{END}")

    write_between(page, "one", "a new table\n")

    assert page.read_text() == f"# Figures\n\n{one}a new table\n{END}\n## More\n\n{other}another table\n{END}"


def test_stacks_have_neither_the_import_system_nor_waiting_threads():
    """Lines are those of ``py-spy record --format raw``."""
    lines = [
        "main (a.py:1);_find_and_load (<frozen importlib._bootstrap>:5);<module> (b.py:2) 3",
        "main (a.py:1);EpollSelector.select (selectors.py:9) 7",
        "Thread._bootstrap (threading.py:1);wait (threading.py:2) 7",
        "Thread._bootstrap (threading.py:1);_WorkItem.run (thread.py:2);work (c.py:1) 2",
    ]

    assert parsed(lines) == {
        ("main (a.py)", "<module> (b.py)"): 3,
        ("Thread._bootstrap (threading.py)", "_WorkItem.run (thread.py)", "work (c.py)"): 2,
    }


def test_graph_leaves_narrow_frames_out(tmp_path):
    """One in a thousand samples is no place to look at."""
    stacks = parsed(["wide (emulator/a.py:1) 999", "narrow (emulator/b.py:1) 1"])

    told = write_graphs(tmp_path / "graph.svg", "load", {"today": Profile(stacks, 12.0)})

    drawn = (tmp_path / "graph.svg").read_text()
    assert told == "graph.svg: today 12 us"
    assert "wide (emulator/a.py): 99.9%" in drawn
    assert "narrow" not in drawn


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are looked at as Linux shows them")
async def test_a_program_that_waits_for_a_processor_is_not_taken_for_quiet():
    """Without processor time it may rest, or be kept waiting by others; the system says which."""
    program = Program.__new__(Program)
    text = "import sys\nsys.stdin.read(1)\nprint(end='.', flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            program.process = process
            await until(lambda: not program.is_running())
            process.stdin.write(b".")
            process.stdin.flush()
            process.stdout.read(1)
            assert program.is_running()
        finally:
            process.kill()
