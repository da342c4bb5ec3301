"""The long run under mixed load, for a few seconds: it works, and it notices what it is there to notice."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.endurance.__main__ import complaints_about
from benchmarks.endurance.chart import charts
from benchmarks.endurance.samples import Sample, growth, quantile_ms

ROOT = Path(__file__).resolve().parents[2]
QUIET = Sample(
    at_s=0, memory_mb=40, handles=70, threads=8, children=2, lag_p99_ms=1, state_mb=1, wal_mb=1, requests_per_s=100,
    cpu_share=0.2,
)  # fmt: skip


@pytest.mark.waits
def test_a_few_seconds_of_mixed_load_bring_the_expected_answers_only(tmp_path):
    """Every kind of client has done something, and each answer was one it can expect."""
    told = tmp_path / "told.json"

    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.endurance", "--minutes", "0.15", "--json", str(told)],
        cwd=ROOT, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip

    assert told.exists(), done.stderr
    figures = json.loads(told.read_text())
    assert figures["unexpected answers"] == {}
    assert figures["pushes taken"] > 0
    assert {
        "SendMessage", "ReceiveMessage (long poll)", "InvokeFunction", "InvokeFunction (async)", "StartExecution",
        "GetExecutionHistory", "DeleteFunction", "DeleteQueue",
    } <= set(figures["operations"])  # fmt: skip
    assert "Traceback" not in done.stderr
    assert figures["samples"]


def steadily(**growing):
    """Samples of half an hour; each named figure goes up by its number from one to the next."""
    return [
        QUIET._replace(
            at_s=5.0 * number, **{name: getattr(QUIET, name) + step * number for name, step in growing.items()}
        )
        for number in range(360)
    ]


@pytest.mark.parametrize(
    ("growing", "lag_ms", "told"),
    [
        ({}, 1, None),
        ({"memory_mb": 0.05}, 1, "memory"),
        ({"handles": 0.1}, 1, "handles"),
        ({"threads": 0.01}, 1, "threads"),
        ({"state_mb": 1}, 1, None),
        ({}, 25, "25.0 ms late"),
    ],
)
def test_growth_and_lateness_are_told(growing, lag_ms, told):
    """What is kept on disk may grow, what is held may not."""
    complaints = complaints_about(steadily(**growing), lag_ms)

    assert len(complaints) == (told is not None)
    assert told is None or told in complaints[0]


def test_growth_compares_the_ends():
    """One odd sample does not count."""
    samples = steadily()
    samples[0] = QUIET._replace(memory_mb=1)

    assert growth(samples, "memory_mb") == (40, 40)


def test_a_quantile_lies_in_the_bucket_that_has_it():
    """The line is drawn straight inside the bucket."""
    buckets = {0.001: 50, 0.01: 100, float("inf"): 100}

    assert quantile_ms(buckets, 0.5) == pytest.approx(1)
    assert quantile_ms(buckets, 0.75) == pytest.approx(5.5)
    assert quantile_ms({}, 0.99) == 0
    assert quantile_ms({0.001: 0, float("inf"): 10}, 0.99) == pytest.approx(1)


def test_the_drawing_has_a_panel_for_each_figure():
    """All points lie inside."""
    drawn = charts([1, 2, 3], {"memory <MB>": [1, 2, 3], "nothing": [0, 0, 0]}, 0.5)

    assert drawn.count("<polyline") == 2
    assert "memory &lt;MB&gt;" in drawn
    assert "3 minutes" in drawn
