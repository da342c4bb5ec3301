"""What a start prints."""

from pathlib import Path

from emulator.cli.background import lines
from emulator.config import Config

STATUS = {
    "version": "1.2.3",
    "pid": 42,
    "http": "http://127.0.0.1:1",
    "https": "https://127.0.0.1:2",
    "clock": {"now": "2026-01-01T00:00:00Z", "offset_ms": 0, "frozen": False},
    "account": "1234567890123456",
    "region": "cn-hangzhou",
    "functions": [],
}


def test_few_functions_are_named_and_many_are_counted():
    """The list stays one line."""
    many = lines(Config(), STATUS | {"functions": [f"s/f{number}" for number in range(9)]})

    assert any("s/f0, s/f1, s/f2, s/f3, s/f4, s/f5 and 3 more" in line for line in many)
    assert any("none yet" in line for line in lines(Config(), STATUS))


def test_settings_that_surprise_are_told():
    """A start that checks no signatures, or keeps nothing, says so."""
    told = "\n".join(lines(Config(auth="lenient", ephemeral=True, functions=Path("src")), STATUS))

    assert "any access key is accepted except keys of the cloud" in told
    assert "begins without resources and keeps none" in told
    assert "none yet; folder src" in told
    assert "any key" not in "\n".join(lines(Config(), STATUS))
