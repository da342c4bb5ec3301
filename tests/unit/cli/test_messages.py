"""Translations: complete, filled in like the originals, compiled, and spoken when the locale asks for them."""

import re
from pathlib import Path

import pytest

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
    assert "缺少以下参数" in program.run("queue", "send", **chinese).stderr
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
        ("auth: strict\n", "localyun.yaml:1: auth 应为\uff1averify 或 lenient\uff0c而不是 'strict'\uff08第 1 列\uff09"),
        ("prt: 1\n", "localyun.yaml:1: 没有名为 'prt' 的设置项\uff1b是否想写 port\uff1f\uff08第 1 列\uff09"),
        ("port: 1\nport: 2\n", "localyun.yaml:2: port 给出了两次\uff08第 1 列\uff09"),
    ],
    ids=["value", "name", "repeated"],
)
def test_settings_are_refused_in_chinese(program, text, refused):
    """By every command, with the place in the file."""
    (program.folder / "localyun.yaml").write_text(text, encoding="utf-8")

    done = program.run("config", LC_ALL="zh_CN.UTF-8", PYTHONUTF8="1")

    assert (done.returncode, done.stderr) == (2, f"localyun: {refused}\n")
