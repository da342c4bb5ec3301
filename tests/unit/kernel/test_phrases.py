"""Sentences that remember what they were made of."""

import copy
import json
import pickle

from emulator.kernel.phrases import Phrase, alternatives, said, together

WORDS = {
    "{what} is {number}": "{number} ist {what}",
    "it": "es",
    "{others} or {last}": "{others} oder {last}",
    "no": "",
    "only {names}": "nur {names}",
    ", ": " und ",
}


def look_up(text):
    """Return a text in another language, or as it is."""
    return WORDS.get(text, text)


def test_phrase_is_its_english_text():
    """Wherever a text can be."""
    phrase = Phrase("{what!r} is {number}", what="a", number=1)

    assert phrase == "'a' is 1"
    assert f"{phrase}!" == "'a' is 1!"
    assert json.dumps(phrase) == "\"'a' is 1\""


def test_phrase_is_said_with_its_fields_in_another_language():
    """Those that are phrases are looked up too, others stay."""
    phrase = Phrase("{what} is {number}", what=Phrase("it"), number=alternatives(("1", "2")))

    assert said(phrase, look_up) == "1 oder 2 ist es"
    assert said("it", look_up) == "es"
    assert said("", lambda text: "the head of a catalogue") == ""


def test_list_of_names_has_the_comma_of_the_other_language():
    """A value that is no list keeps its own."""
    assert said(Phrase("only {names}", names="a, b"), look_up) == "nur a und b"
    assert said(Phrase("{what} is {number}", what="a, b", number=1), look_up) == "1 ist a, b"


def test_text_without_fields_keeps_its_braces():
    """It is no template."""
    phrase = Phrase("written {a}:{b}")

    assert phrase == "written {a}:{b}"
    assert said(phrase, look_up) == "written {a}:{b}"


def test_error_whose_argument_is_a_phrase_has_it_as_its_text():
    """So that a caller who knows no more than the error can say it."""
    error = ValueError(Phrase("{what} is {number}", what=Phrase("it"), number=1))

    assert said(str(error), look_up) == "1 ist es"


def test_phrase_comes_back_from_another_process_and_from_a_copy():
    """With what it was made of."""
    phrase = Phrase("{what} is {number}", what=Phrase("it"), number=1)

    for again in (pickle.loads(pickle.dumps(phrase)), copy.deepcopy(phrase)):
        assert again == phrase
        assert said(again, look_up) == "1 ist es"


def test_lists_end_with_a_word():
    """One name is itself."""
    assert alternatives(["a"]) == "a"
    assert alternatives(["a", "b", "c"]) == "a, b or c"
    assert together(("a", "b")) == "a and b"
