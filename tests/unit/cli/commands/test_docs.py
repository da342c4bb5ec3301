"""``docs`` and ``explain``, which need no emulator."""

import json

from emulator.cli.main import main


def test_pages_are_listed_with_their_titles(capsys):
    """Those in Chinese are the same pages."""
    assert main(["docs"]) == 0
    shown = capsys.readouterr().out
    assert main(["docs", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)

    assert {"page": "errors", "title": "Error codes"} in listed
    assert "flows/debugging" in shown
    assert not [each for each in listed if each["page"].startswith("zh-CN")]


def test_a_query_prints_sections_and_how_to_go_on(capsys):
    """The first names the page to print."""
    assert main(["docs", "dead", "letters", "-n", "2"]) == 0

    shown = capsys.readouterr().out
    assert shown.count(" · ") == 2
    assert "localyun docs --page" in shown


def test_a_query_in_chinese_searches_chinese_pages(capsys):
    """Whatever the locale."""
    assert main(["docs", "死信队列", "--json"]) == 0

    assert "死信" in json.loads(capsys.readouterr().out)[0]["text"]


def test_words_that_are_nowhere_fail(capsys):
    """With what to do."""
    assert main(["docs", "zyzzyva"]) == 1

    assert "localyun docs lists all pages" in capsys.readouterr().err


def test_a_page_is_printed_as_it_is(capsys):
    """As Markdown."""
    assert main(["docs", "--page", "errors"]) == 0

    assert capsys.readouterr().out.startswith("# Error codes\n")


def test_a_code_is_explained_with_its_answers(capsys):
    """Each service that answers it, with status and text."""
    assert main(["explain", "EntityTooLarge"]) == 0
    shown = capsys.readouterr().out
    assert main(["explain", "entitytoolarge", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)

    assert "payload size exceeds maximum allowed size" in shown
    assert {each["service"] for each in told["answered"]} == {"fc", "fnf", "oss", "localyun"}
    assert told["code"] == "EntityTooLarge"
    assert told["remedy"]


def test_an_unknown_code_is_a_failure(capsys):
    """With those that are near."""
    assert main(["explain", "NoSuchBuckets"]) == 1

    assert "NoSuchBucket" in capsys.readouterr().err
