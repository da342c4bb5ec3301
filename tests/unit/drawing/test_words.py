"""Pictures in another language: every word but names, conditions and what goes into files of a project."""

import re

from emulator.drawing.execution_tree import Execution
from emulator.drawing.picture import picture
from emulator.drawing.words import WORDS

FLOW = """
version: v1
type: flow
steps:
- type: choice
  name: ask
  choices:
  - {condition: $.a == "default", goto: both}
- type: parallel
  name: both
  branches:
  - steps: [{type: pass, name: one}]
  - steps: [{type: wait, name: two, duration: 3}]
- type: task
  name: call
  resourceArn: acs:fc:::services/s/functions/f
  retry: [{errors: [FC.Unknown], maxAttempts: 3}]
"""


def said(text: str) -> str:
    """Return a text that no English one is equal to; its fields stay."""
    return re.sub("[a-zA-Z]+(?![a-z]*})", lambda word: word[0].upper() + "!", text)


def shown(svg: str) -> set[str]:
    """Return the texts of a picture, without those that the pointer brings up."""
    return set(re.findall(r"<text[^>]*>([^<]*)</text>", svg))


def test_every_word_of_a_picture_can_be_in_another_language() -> None:
    """Names of steps and conditions stay."""
    english = shown(picture(FLOW, "title", Execution(), "svg"))
    other = shown(picture(FLOW, "title", Execution(), "svg", said))

    kept = {"title", "ask", "both", "one", "two", "call", "s/f", "3 s"}
    assert {each for each in english & other if each not in kept} <= {'$.a == "default"', "$.a == &quot;default&quot;"}
    assert {"START!", "END!", "OTHERWISE!", "BRANCH! 0", "RETRY! 3", "NOT! ENTERED!", "CHOICE!"} <= other
    assert {"Start", "End", "branch 0", "retry 3", "not entered"} <= english & {*WORDS, "branch 0", "retry 3"}
    mermaid = picture(FLOW, "title", Execution(), "mermaid", said)
    assert all(each in mermaid for each in ('(["START!"])', '(["END!"])', "OTHERWISE!", "BRANCH! 0", "NOT! ENTERED!"))


def test_rules_of_a_retry_can_be_in_another_language() -> None:
    """The pointer brings them up; the names of errors stay."""
    text = FLOW.replace("maxAttempts: 3", "maxAttempts: 3, intervalSeconds: 2, multiplier: 1.5")

    assert "retry: FC.Unknown: 3 retries, first after 2 s, then x1.5" in picture(text, "title", None, "svg")
    assert "RETRY!: FC.Unknown: 3 RETRIES!, FIRST!" in picture(text, "title", None, "svg", said)
