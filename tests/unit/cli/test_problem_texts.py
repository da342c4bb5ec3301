"""Problems of deployment files in Chinese, recognized by the texts of the readers."""

import re
from pathlib import Path

import pytest

from emulator.cli import output
from emulator.cli.problem_texts import PROBLEMS, problem_text
from emulator.deploy import model
from emulator.deploy.model import Problem


@pytest.fixture
def chinese(monkeypatch):
    """Texts in Chinese, whatever the streams of the tests can show."""
    monkeypatch.setenv("LANGUAGE", "zh_CN")
    monkeypatch.setattr(output, "_can_be_shown", lambda: True)
    output.catalogue.cache_clear()
    yield
    monkeypatch.undo()
    output.catalogue.cache_clear()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "resources.worker.props.handlr: there is no such property; did you mean handler?",
            "resources.worker.props.handlr: 没有这个属性\uff1b是否想输入 handler\uff1f\uff08第 7 列\uff09",
        ),
        ("resources.worker.props: runtime is missing", "resources.worker.props: 缺少 runtime\uff08第 7 列\uff09"),
        (
            "resources.worker.props.vpcConfig: there is no VPC here; stored, without effect",
            "resources.worker.props.vpcConfig: 这里没有专有网络\uff1b该配置只保存\uff0c不起作用\uff08第 7 列\uff09",
        ),
        ("there are no resources", "没有任何资源\uff08第 7 列\uff09"),
        ("a.b: an unusual problem: of two parts", "a.b: an unusual problem: of two parts\uff08第 7 列\uff09"),
    ],
)
def test_problems_are_told_in_chinese(chinese, text, shown):
    """With the place and the hint; a text that is not known stays as it is, in JSON all do."""
    problem = Problem(3, 7, text)

    assert problem_text(problem) == shown
    assert problem.text == text


def test_problems_are_told_in_english():
    """As the readers say them."""
    problem = Problem(3, 7, "a: must be a map; did you mean b?")

    assert problem_text(problem) == str(problem) == "a: must be a map; did you mean b? (column 7)"


@pytest.mark.parametrize("template", PROBLEMS)
def test_every_known_text_is_one_of_the_readers(template):
    """What stands between its fields is in their source."""
    folder = Path(model.__file__).parent
    source = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))

    parts = [part.strip("; ") for part in re.split(r"\{\w+\}", template)]

    assert [part for part in parts if part not in source] == []
