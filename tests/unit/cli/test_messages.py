"""Translations: complete, filled in like the originals, compiled, and spoken when the locale asks for them."""

import re
from pathlib import Path

import pytest

from emulator.cli.commands import lab
from emulator.cli.output import DOMAIN, FOLDER
from tests.catalogue import SAMPLES, compiled, read, sample_texts, texts, unknown_phrases, untranslated

CATALOGUES = [
    *sorted(Path(FOLDER).glob(f"*/LC_MESSAGES/{DOMAIN}.po")),
    *sorted(SAMPLES.glob("locale/*/LC_MESSAGES/samples.po")),
]


def fields(text):
    """Return what is filled into a text: {names}, and the %(names)s of argparse."""
    braces = sorted(re.findall(r"\{(\w+)[!:}]", text)) if "%" not in text else []
    return braces, sorted(re.findall(r"%\(\w+\)[rs]|%[rs]", text))


def test_nothing_is_printed_past_the_catalogue():
    """Every text of the commands and of the samples is looked up."""
    assert list(untranslated()) == []


def test_every_mistake_has_a_text_that_can_be_looked_up():
    """Those of definitions and cases of flows are phrases with fields, not put together."""
    assert list(unknown_phrases()) == []


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: f"{path.stem}-{path.parts[-3]}")
def test_catalogue_is_complete(path):
    """`python -m tests.catalogue` adds new texts; each has its translation."""
    translations = read(path)

    assert set(translations) == set(texts() if path.stem == DOMAIN else sample_texts())
    assert [text for text, translation in translations.items() if not translation] == []


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: f"{path.stem}-{path.parts[-3]}")
def test_translations_have_the_fields_of_their_texts(path):
    """A translation that forgets a name, or has one too many, would lose it or fail."""
    wrong = [text for text, translation in read(path).items() if fields(text) != fields(translation)]

    assert wrong == []


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: f"{path.stem}-{path.parts[-3]}")
def test_compiled_catalogue_is_that_of_the_source(path):
    """The .mo file, which the wheel holds, is what the .po file says."""
    assert path.with_suffix(".mo").read_bytes() == compiled(read(path), path.parts[-3])


def test_command_speaks_chinese_when_the_locale_does(program):
    """Help, argparse's own words, messages and headings."""
    chinese = {"LC_ALL": "zh_CN.UTF-8", "PYTHONUTF8": "1"}

    help_text = program.run("--help", **chinese).stdout
    assert "停止模拟器" in help_text
    assert "\n选项：\n" in help_text
    assert "缺少参数：QUEUE, BODY" in program.run("queue", "send", **chinese).stderr
    assert "没有模拟器响应\uff1a连接被拒绝" in program.run("status", **chinese).stderr


@pytest.mark.parametrize(
    "env", [{"LC_ALL": "fr_FR.UTF-8"}, {"LC_ALL": "zh_CN.UTF-8", "PYTHONIOENCODING": "ascii"}], ids=["french", "ascii"]
)
def test_command_speaks_english_otherwise(program, env):
    """A language without a catalogue, and a terminal that cannot show Chinese characters."""
    assert "stop the emulator" in program.run("--help", **env).stdout


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (
            "auth: strict\n",
            "localyun.yaml:1:1: auth 的值 'strict' 无效\uff0c应为\uff1averify 或 lenient",
        ),
        ("prt: 1\n", "localyun.yaml:1:1: 没有名为 'prt' 的设置项\uff1b是否想写 port\uff1f"),
        ("port: [\n", "localyun.yaml:1:7: 不是有效的 YAML\uff1a括号 [ 没有闭合"),
        ("port: 1\nport: 2\n", "localyun.yaml:2:1: port 给出了两次"),
    ],
    ids=["value", "name", "bracket", "repeated"],
)
def test_settings_are_refused_in_chinese(program, text, refused):
    """By every command, with the place in the file."""
    (program.folder / "localyun.yaml").write_text(text, encoding="utf-8")

    done = program.run("config", LC_ALL="zh_CN.UTF-8", PYTHONUTF8="1")

    assert (done.returncode, done.stderr) == (2, f"localyun: {refused}\n")


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("queues: {a: {VisibilityTimeout: 0}}\n", "VisibilityTimeout 的取值范围是 1 到 43200 秒。"),
        ("flows: {a: none.yml}\n", "none.yml\uff08没有这个文件或目录\uff09"),
        ("schedules: {s: {FlowName: b, CronExpression: '@every 1m'}}\n", "没有流程 b。"),
        ("faults: [{match: {service: mmns}, do: {error: X}}]\n", "没有服务 'mmns'\uff1b有 fc、fnf、mns"),
    ],
    ids=["range", "file", "service", "fault"],
)
def test_declarations_are_refused_in_chinese(program, text, refused):
    """What a service refuses of ``localyun.yaml`` too: it is the emulator itself that reads the file."""
    (program.folder / "localyun.yaml").write_text(text, encoding="utf-8")

    done = program.run("start", LC_ALL="zh_CN.UTF-8", PYTHONUTF8="1")

    assert done.returncode == 2
    assert refused in done.stderr
    assert done.stderr.startswith("localyun: localyun.yaml:1:")


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (("flow", "test", "a.test.yaml"), "a.test.yaml:1:1: 用例文件要有 flow 和 cases"),
        (("flow", "test", "b.test.yaml"), "b.test.yaml: 无法读取文件\uff1a没有这个文件或目录"),
        (("flow", "replay", "a.test.yaml"), "不是执行历史\uff1a第 1 行第 1 列\uff08第 0 个字符\uff09\uff1a此处应有值"),
        (("fault", "add"), "故障需要以下选项之一\uff1a--error、--throttle、--drop、--function、--delay"),
        (("mock", "add", "shop/pay"), "mock 需要以下选项之一\uff1a--returns、--raises、--answers"),
        (("mock", "add", "shop/pay", "--returns", "{x"), "--returns 不是 JSON\uff1a第 1 行第 2 列"),
    ],
    ids=["cases", "no-file", "no-history", "fault", "mock", "mocked-json"],
)
def test_what_a_command_lacks_is_told_in_chinese(program, words, refused):
    """Of its files and its options, before any emulator is asked."""
    (program.folder / "a.test.yaml").write_text("cases: [{name: x}]\n", encoding="utf-8")

    done = program.run(*words, LC_ALL="zh_CN.UTF-8", PYTHONUTF8="1")

    assert done.returncode == 2
    assert refused in done.stderr


@pytest.mark.parametrize(
    ("work", "said"),
    [
        ({"kind": "call", "resource": "to", "for": "the end of call 7"}, "调用 to: 调用 7 结束"),
        (
            {"kind": "recurring", "resource": "report", "for": "schedule nightly, again and again"},
            "周期 report: 定时调度 nightly\uff0c周期性触发",
        ),
        (
            {"kind": "waiting", "resource": "f/e", "for": "a report of the task token of step ask"},
            "等待中 f/e: 步骤 ask 的任务令牌的报告",
        ),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
@pytest.mark.usefixtures("chinese")
def test_what_is_waited_for_is_said_in_chinese(work, said, capsys):
    """As the clock, settle and skip list it."""
    lab._note([{**work, "since": None}])

    assert capsys.readouterr().err == f"  {said}\n"
