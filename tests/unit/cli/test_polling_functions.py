"""The polling tutorial's functions, as the guide describes them."""

import importlib.util
import json
import logging
import uuid

import pytest

from emulator.cli.tutorials import locate


def load(name):
    path = locate().functions / "fnf-demo" / name / "index.py"
    spec = importlib.util.spec_from_file_location(f"fnf_demo_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_start_job_returns_a_fresh_uuid_and_logs_it(caplog):
    """Every call is another job."""
    module = load("StartJob")

    with caplog.at_level(logging.INFO):
        one, other = module.handler(b"{}", None), module.handler(b"{}", None)

    assert str(uuid.UUID(one["job_id"])) == one["job_id"]
    assert one["job_id"] != other["job_id"]
    assert one["job_id"] in caplog.text


@pytest.mark.parametrize(
    ("age_s", "event", "status"),
    [
        (20, {"delay": 20}, "running"),
        (21, {"delay": 20}, "success"),
        (60, {}, "running"),
        (61, {}, "success"),
    ],
)
def test_job_is_done_after_more_than_delay_seconds(age_s, event, status):
    """The age is that of the warm instance; 60 seconds hold when no delay is given."""
    module = load("GetJobStatus")
    module.start_time -= age_s

    answer = module.handler(json.dumps({"job_id": "j", **event}).encode(), None)

    assert answer == {"job_id": "j", "job_status": status, "try_count": 1}


def test_try_count_goes_up_by_one():
    """The flow passes the count back in."""
    answer = load("GetJobStatus").handler(b'{"job_id": "j", "try_count": 3, "delay": 100}', None)

    assert answer["try_count"] == 4
