"""The words in pictures other than names, which a caller may have translated."""

from collections.abc import Callable
from typing import get_args

from emulator.drawing.model import Kind, Node, Scope
from emulator.drawing.states import State
from emulator.kernel.frozen import replace
from emulator.kernel.phrases import COMMA
from emulator.services.workflow.engine.outline import OTHERWISE

Say = Callable[[str], str]
"""Translates a text for the reader."""

_SEMICOLON = "; "

WORDS = (
    *dict.fromkeys((*get_args(Kind)[2:], *get_args(State))),
    *(OTHERWISE, "default", "Start", "End", "for each", "branch {number}", "{label} or"),
    *("caught", "retry {number}", "1 retry", "{number} retries", "{number} of {limit} retries"),
    *(COMMA, _SEMICOLON, "retry: {rules}", "{errors}: {number} retries, first after {seconds} s, then x{rate}"),
)
"""Every text that is translated, for the catalogue; of the kinds, the first two are ends of scopes and show none."""

_RETRY = "retry "


def spoken(scope: Scope, say: Say) -> Scope:
    """Return *scope* with its labels and badges translated by *say*."""
    edges = tuple(replace(edge, labels=tuple(_label(each, say) for each in edge.labels)) for edge in scope.edges)
    return replace(scope, nodes=tuple(_node(node, say) for node in scope.nodes), edges=edges)


def _node(node: Node, say: Say) -> Node:
    scopes = []
    for number, inner in enumerate(node.scopes):
        label = say("branch {number}").format(number=number) if node.kind == "parallel" else _label(inner.label, say)
        scopes.append(replace(spoken(inner, say), label=label))
    retry = node.retry
    if retry.startswith(_RETRY):
        retry = say("retry {number}").format(number=retry.removeprefix(_RETRY))
    return replace(node, scopes=tuple(scopes), retry=retry)


def retry_rules(node: Node, say: Say) -> str:
    """Return when and how often a step is retried, in words; "" if it never is."""
    rules = say(_SEMICOLON).join(
        say("{errors}: {number} retries, first after {seconds} s, then x{rate}").format(
            errors=say(COMMA).join(each.errors),
            number=each.max_attempts,
            seconds=f"{each.interval_s:g}",
            rate=f"{each.multiplier:g}",
        )
        for each in node.retries
    )
    return say("retry: {rules}").format(rules=rules) if rules else ""


def _label(label: str, say: Say) -> str:
    """Return a label translated; a condition or an error's name stays as it is."""
    return say(label) if label in {OTHERWISE, "default"} else label
