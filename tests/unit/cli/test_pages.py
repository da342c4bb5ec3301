"""Pages of documentation: their words are found, in English and in Chinese."""

import pytest

from emulator.cli import pages
from emulator.cli.output import WrongUsage

PAGE = """# Queues

Messages wait.

## Dead letters

What is [received](x.md) too often goes there.

```sh
# no heading
localyun queue list
```
"""


def test_sections_end_at_headings_and_not_in_blocks():
    """A comment in a block looks like a heading."""
    found = list(pages.sections_of("queues", PAGE))

    assert [(each.page, each.heading) for each in found] == [("queues", "Queues"), ("queues", "Dead letters")]
    assert "# no heading" in found[1].text


def test_comments_of_a_page_are_left_out():
    """They mark the tables that a program writes, in the source of the page."""
    assert "<!--" not in pages.read("configuration")
    assert "| `QueueType` |" in pages.read("configuration")


def test_an_excerpt_is_the_line_with_the_words():
    """Without its links."""
    section = list(pages.sections_of("queues", PAGE))[1]

    assert pages.excerpt(section, "received often", 80) == "What is received too often goes there."
    assert len(pages.excerpt(section, "received often", 20)) <= 28


def test_an_excerpt_is_of_the_whole_sentence():
    """Where the source of a page ends its lines is of no interest; Chinese has no blanks there."""
    section = pages.Section(
        page="p", heading="p", text="- one\n- 死信队列存放\n  消息\n\n消息在那里\n等待处理。\n\n```\na\nb\n```"
    )

    assert pages.excerpt(section, "等待", 80) == "消息在那里等待处理。"
    assert pages.excerpt(section, "one", 80) == "- one"
    assert pages.excerpt(section, "b", 80) == "b"


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("breakpoints of an execution", "flows/debugging"),
        ("settings environment variable precedence", "configuration"),
        ("testcontainers", "containers"),
        ("presigned object storage bucket", "oss"),
        ("dead letter queue", "console"),
    ],
)
def test_english_words_lead_to_the_page(query, page):
    """It is among the first five."""
    assert page in [each.page for each in pages.search(query, limit=5)]


@pytest.mark.parametrize(
    ("query", "page", "heading"),
    [
        ("role", "words", "The cloud's terms"),
        ("what is a queue?", "words", "The cloud's terms"),
        ("queues", "words", "The cloud's terms"),
        ("doctor", "commands", "doctor, support"),
        ("how to stop", "commands", "stop, status, list"),
    ],
)
def test_a_term_or_a_command_leads_to_what_it_is(query, page, heading):
    """The words of a question do not count."""
    found = pages.search(query, limit=1)

    assert [(each.page, each.heading) for each in found] == [(page, heading)]


def test_a_query_of_nothing_but_common_words_is_searched():
    """There is nothing else to go by."""
    assert pages.search("how to") != []
    assert pages.search("怎样", chinese=True) != []


def test_words_of_an_example_count_for_less():
    """The example of this command is no answer."""
    assert [each.page for each in pages.search("dead letters", limit=3) if each.page == "commands"] == []


@pytest.mark.parametrize(
    ("query", "page"), [("对象存储", "oss"), ("断点", "flows/debugging"), ("权限 策略", "permissions")]
)
def test_chinese_words_lead_to_the_page(query, page):
    """There are no spaces between them."""
    assert page in [each.page for each in pages.search(query, chinese=True, limit=5)]


@pytest.mark.parametrize(
    ("query", "page"), [("怎样停止模拟器", "commands"), ("跳过时间", "words"), ("什么是队列", "words")]
)
def test_chinese_questions_lead_to_the_answer_first(query, page):
    """What only asks does not count."""
    assert pages.search(query, chinese=True, limit=1)[0].page == page


def test_nothing_is_found_for_words_that_no_page_has():
    """Instead of pages that do not fit."""
    assert pages.search("zyzzyva") == []


def test_a_page_that_is_english_only_is_read_in_english():
    """`admin-api` is generated from docstrings."""
    assert pages.read("admin-api", chinese=True) == pages.read("admin-api")
    assert pages.read("oss", chinese=True) != pages.read("oss")


@pytest.mark.parametrize("name", ["nothing", "../pyproject.toml", "/etc/passwd", "../README"])
def test_only_pages_are_read(name):
    """A path that leads out of the documentation is no page."""
    with pytest.raises(WrongUsage, match="localyun docs lists"):
        pages.read(name)


def test_a_page_is_read_by_its_place_on_the_site():
    """There the page of a folder is its index; for a wrong name the nearest is suggested."""
    assert pages.read("sdks/index.html") == pages.read("sdks/README")
    with pytest.raises(WrongUsage, match="did you mean words"):
        pages.read("wordz")
