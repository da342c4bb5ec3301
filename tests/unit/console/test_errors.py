"""What a page says when it cannot be made."""

import pytest
from flask import Flask, g

from emulator.console.app import POSTED_BY_SCRIPT, _failed, _refused
from emulator.console.forms import FormRefused
from emulator.kernel.errors import ServiceError

ERROR = "localyun.errors"


@pytest.fixture(params=["en", "zh"])
def language(request):
    """The request of a form that a script has posted, in a language."""
    application = Flask("test")
    with application.test_request_context("/new/bucket", headers={POSTED_BY_SCRIPT: "1"}, environ_base={ERROR: []}):
        g.language = request.param
        yield request.param


def test_a_bug_is_said_in_the_form(language):
    """Not passed over without a word, as if the form had been taken."""
    text, status, headers = _failed(KeyError("StorageClass"))

    assert (
        text
        == {
            "en": "KeyError: This is a bug of the emulator. Its log has the details.",
            "zh": "KeyError: 这是模拟器的缺陷，详情见其日志。",
        }[language]
    )
    assert (status, headers["Content-Type"]) == (500, "text/plain; charset=utf-8")


def test_a_refusal_of_the_console_is_translated(language):
    """One of a service as well, with the service's code."""
    own, _, _ = _refused(FormRefused("{name} must be a JSON object", name="input"))
    foreign, _, _ = _refused(ServiceError())

    assert (
        own
        == {
            "en": "InvalidArgument: input must be a JSON object",
            "zh": "InvalidArgument: input 必须是 JSON 对象",
        }[language]
    )
    assert (
        foreign
        == {
            "en": "InternalServerError: An internal error has occurred. Please retry.",
            "zh": "InternalServerError: 内部错误，请重试。",
        }[language]
    )
