"""JSON values as pages show them."""

import sys

from emulator.console import values


def test_all_text_of_a_value_is_escaped():
    """Names of members too; what is no text is written as JSON."""
    shown = values.tree({"<b>": ["a & 'b'", 1.5, True, None, {}, []]})

    assert "<b>" not in shown
    assert '<span class="key">&lt;b&gt;</span>: ' in shown
    assert '<span class="string">&#34;a &amp; &#39;b&#39;&#34;</span>' in shown
    words = [f'<li><span class="{kind}">{text}</span></li>' for kind, text in (("number", "1.5"), ("word", "true"))]
    assert f'{"".join(words)}<li><span class="word">null</span></li><li>{{}}</li><li>[]</li>' in shown


def test_a_member_costs_a_few_calls():
    """A history shows a hundred values of up to a thousand members each."""
    value, calls = list(range(900)), 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        shown = values.tree(value)
    finally:
        sys.setprofile(before)

    assert shown.count("<li>") == len(value)
    assert calls <= 6 * len(value)
