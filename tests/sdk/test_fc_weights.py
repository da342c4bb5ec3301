"""Aliases with weights, over a thousand real calls."""

import uuid
from collections import Counter

import pytest

pytestmark = pytest.mark.sdk

CALLS = 1000
WEIGHT = 0.2
SIX_SIGMA = 6 * (CALLS * WEIGHT * (1 - WEIGHT)) ** 0.5


def test_an_alias_draws_its_version_anew_for_every_call(emulator, tmp_path):
    """A fifth of the calls goes to the additional version, and each answer comes from the version it names."""
    client = emulator.fc2()
    service = f"s{uuid.uuid4().hex[:12]}"
    client.create_service(service)
    for number in (1, 2):
        code = tmp_path / str(number)
        code.mkdir()
        (code / "index.py").write_text(f"def handler(event, context):\n    return '{number}'\n")
        if number == 1:
            client.create_function(service, "f", "python3.10", "index.handler", codeDir=str(code))
        else:
            client.update_function(service, "f", codeDir=str(code))
        client.publish_version(service)
    client.create_alias(service, "prod", "1", additionalVersionWeight={"2": WEIGHT})

    answers = [client.invoke_function(service, "f", qualifier="prod") for _ in range(CALLS)]

    drawn = Counter(answer.data.decode() for answer in answers)
    assert all(answer.data.decode() == answer.headers["x-fc-invocation-service-version"] for answer in answers)
    assert set(drawn) == {"1", "2"}
    assert abs(drawn["2"] - CALLS * WEIGHT) < SIX_SIGMA
