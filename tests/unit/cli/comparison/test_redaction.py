"""What `compare --redact` leaves: nothing that is its owner's, and all that a comparison needs."""

import base64
import json
import random
from urllib.parse import quote, urlencode

import pytest

from emulator.cli.comparison.calls import call_of
from emulator.cli.comparison.recordings import Exchange, Message, read, write
from emulator.cli.comparison.redaction import Redaction, plain_code, vocabulary

PLANTED = 50
FORM = "application/x-www-form-urlencoded"
LETTERS = "abcdefghijkmnpqrstuvwxyz"


def words(number, *, digits="", length=12):
    """Return words that nothing else holds, the same each time."""
    draws = random.Random(number)
    return ["".join(draws.choices(LETTERS + digits, k=length)) for _ in range(PLANTED)]


FORMS = {
    "account": ["1" + "".join(random.Random(f"account{n}").choices("0123456789", k=15)) for n in range(PLANTED)],
    "access key": [f"LTAI5t{word}" for word in words(1, digits="0123456789", length=18)],
    "secret": words(2, digits="0123456789ABCDEFG", length=30),
    "token": [f"CAIS{word}" for word in words(3, digits="0123456789", length=60)],
    "name": [f"{one}-{other}" for one, other in zip(words(4), words(5), strict=True)],
    "mail": [f"{one}@{other}" for one, other in zip(words(6), words(7), strict=True)],
    "phone": ["13" + "".join(random.Random(f"phone{n}").choices("0123456789", k=9)) for n in range(PLANTED)],
    "host": [f"{word}internal" for word in words(8)],
    "address": [f"10{n}77{n}" for n in range(10, 10 + PLANTED)],
    "text": words(9),
    "code": words(10, digits="0123456789", length=40),
}


def json_request(secret):
    body = {
        "functionName": secret,
        "description": f"for {secret} only",
        "runtime": "python3.10",
        "timeout": 30,
        "role": f"acs:ram::{secret}:role/{secret}",
        "environmentVariables": {secret: secret, "timeout": secret},
        "code": {"zipFile": base64.b64encode(secret.encode() * 9).decode()},
        secret: {"deep": [secret]},
    }
    headers = (("Authorization", f"FC {secret}:{secret}"), ("Content-Type", "application/json"), ("X-Own", secret),
               ("x-fc-security-token", secret), ("User-Agent", secret), ("Cookie", secret))  # fmt: skip
    url = f"https://{secret}.cn-hangzhou.fc.aliyuncs.com/2016-08-15/services/{quote(secret)}/functions?prefix={quote(secret)}"
    answer = {"functionName": secret, "functionId": secret, "createdTime": "2025-05-05T05:05:05Z", "codeSize": 4242}
    return Exchange(
        method="POST", url=url, request=Message(headers=headers, body=json.dumps(body).encode()), status=200,
        answer=Message(headers=(*headers, ("x-fc-request-id", secret)), body=json.dumps(answer).encode()), began="2025",
    )  # fmt: skip


def xml_request(secret):
    inner = f"<MessageBody>{secret}</MessageBody><Own>{secret}</Own>"
    sent = f'<?xml version="1.0"?><Message xmlns="{secret}">{inner}</Message>'
    got = f"<Message><MessageId>{secret}</MessageId><ReceiptHandle>{secret}</ReceiptHandle></Message>"
    headers = (
        ("Authorization", f"MNS {secret}:{secret}"),
        ("x-mns-version", "2015-06-06"),
        ("Content-Type", "text/xml"),
    )
    return Exchange(
        method="POST", url=f"http://{secret}.mns.cn-hangzhou.aliyuncs.com/queues/{quote(secret)}/messages",
        request=Message(headers=headers, body=sent.encode()), status=201,
        answer=Message(headers=(("Location", f"http://h/queues/{secret}"),), body=got.encode()), began=secret,
    )  # fmt: skip


def form_request(secret):
    form = {
        "Action": "CreateFlow", "Version": "2019-03-15", "Name": secret, "AccessKeyId": secret, "Signature": secret,
        "SecurityToken": secret, "Definition": f"type: flow\nsteps:\n  - type: pass\n    name: {secret}\n# {secret}",
        "Input": json.dumps({secret: secret}), secret: secret,
    }  # fmt: skip
    answer = {"Name": secret, "RequestId": secret, "Output": f'{{"a": "{secret}"}}', "Message": f"flow {secret} exists"}
    return Exchange(
        method="POST", url=f"https://cn-hangzhou.fnf.aliyuncs.com/?{urlencode({secret: secret})}",
        request=Message(headers=(("content-type", FORM),), body=urlencode(form).encode()), status=400,
        answer=Message(headers=(), body=json.dumps(answer).encode()), began="",
    )  # fmt: skip


def plain_request(secret):
    event = f"payload of {secret}".encode()
    sent = (("Content-Type", f"application/vnd.{secret}+json"),)
    got = (("Content-Type", f"{secret}/x"), ("X-Fc-Log-Result", base64.b64encode(event).decode()))
    url = "https://1.cn-hangzhou.fc.aliyuncs.com/2016-08-15/services/s/functions/f/invocations"
    return Exchange(
        method="POST", url=url, request=Message(headers=sent, body=event), status=200,
        answer=Message(headers=got, body=event), began="",
    )  # fmt: skip


def spellings(secret):
    """Return how a secret could stand in a file: as it is, escaped, and in the three ways base64 can fall."""
    yield from {secret, quote(secret, safe=""), json.dumps(secret)[1:-1]}
    for shift in range(3):
        core = base64.b64encode(b"." * shift + secret.encode()).decode()
        yield core[4 * (shift > 0) : len(core) // 4 * 4 - 4]


@pytest.mark.parametrize("form", FORMS)
def test_no_secret_of_fifty_of_each_form_is_left(form):
    """In paths, queries, headers, JSON, XML, forms, definitions, payloads; as text, escaped or in base64."""
    secrets = FORMS[form]
    recorded = [make(secret) for secret in secrets for make in (json_request, xml_request, form_request, plain_request)]

    text = write(Redaction().redacted(recorded), "redacted")

    assert len(read(text)) == 4 * PLANTED
    lowered = text.lower()
    left = [secret for secret in secrets for each in spellings(secret) if each.lower() in lowered]
    assert left == []


def redacted(exchange):
    return Redaction().redacted([exchange])[0]


def test_what_a_comparison_needs_is_left():
    """The operation, names of attributes, kinds and numbers; what belonged together still does."""
    clean = redacted(json_request("acme-billing"))
    body, answer = json.loads(clean.request.body), json.loads(clean.answer.body)

    assert call_of(clean).operation == "CreateFunction"
    assert (body["runtime"], body["timeout"]) == ("python3.10", 30)
    assert body["functionName"] == answer["functionName"]
    assert f"/services/{body['functionName']}/functions" in clean.url
    assert base64.b64decode(body["code"]["zipFile"]) == plain_code()
    assert answer["codeSize"] == len(plain_code())
    assert {name for name, _ in clean.request.headers} == {"content-type"}


def test_redacting_again_changes_nothing():
    """So a file can be checked; values of maps get no quotes of their own."""
    clean = redacted(json_request("acme-billing"))

    assert redacted(clean) == clean
    assert list(json.loads(clean.request.body)["environmentVariables"].values()) == ["name0001", "name0001"]


def test_definitions_keep_their_structure():
    """Indents, keywords and lists of YAML."""
    clean = redacted(form_request("acme-step"))

    assert b"type%3A%20flow%0Asteps%3A%0A%20%20-%20type%3A%20pass%0A" in clean.request.body
    assert call_of(clean).operation == "CreateFlow"


def test_requests_of_others_are_left_out():
    """A recording of a browser has much that is no call."""
    page = Exchange(
        method="GET", url="https://acme.example/private", request=Message(headers=(), body=b""), status=200,
        answer=Message(headers=(), body=b"secret"), began="",
    )  # fmt: skip

    assert Redaction().redacted([page]) == []


@pytest.mark.parametrize("word", ["QueueNotExist", "VisibilityTimeout", "StartExecution", "python3.10", "2015-06-06"])
def test_the_vocabulary_is_the_interface(word):
    """Read from the emulator itself."""
    assert word in vocabulary()
