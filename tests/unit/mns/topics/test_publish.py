"""Publishing through the XML API and for other services."""

import json
from hashlib import md5

import pytest

from emulator.services.mns.errors import MnsError
from emulator.services.mns.topics.model import ContentFormat


def message_xml(body="hello", inner=""):
    return f'<Message xmlns="http://mns.aliyuncs.com/doc/v1/"><MessageBody>{body}</MessageBody>{inner}</Message>'


def properties_xml(number=1, value="ack"):
    entry = "<PropertyValue><Name>case{}</Name><Value>{}</Value><Type>STRING</Type></PropertyValue>"
    return f"<UserProperties>{''.join(entry.format(item, value) for item in range(number))}</UserProperties>"


async def test_a_publisher_learns_id_and_digest(new_site):
    """And nothing else; without subscribers the message is accepted and gone."""
    async with new_site() as site:
        site.topic()
        root = site.xml("POST", "/topics/t/messages", message_xml("hello"))

        assert [child.name for child in root.children] == ["MessageId", "MessageBodyMD5"]
        assert root.text_of("MessageBodyMD5") == md5(b"hello").hexdigest().upper()
        assert len(root.text_of("MessageId")) == 32
        assert site.service.topics.view(site.tenant, "t").message_count == 0


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (message_xml(""), (400, "InvalidArgument")),
        ("<Message></Message>", (400, "InvalidArgument")),
        (message_xml("x" * 1025), (400, "InvalidArgument")),
        (message_xml("你" * 342), (400, "InvalidArgument")),
        (message_xml(inner=f"<MessageTag>{'a' * 17}</MessageTag>"), (400, "InvalidArgument")),
        (message_xml(inner="<MessageTag>a&#10;b</MessageTag>"), (400, "InvalidArgument")),
        (message_xml(inner=properties_xml(51)), (400, "InvalidArgument")),
        (message_xml(inner=f"<MessageAttributes><A>{'x' * 65536}</A></MessageAttributes>"), (400, "InvalidArgument")),
        ("<Messages></Messages>", (400, "InvalidArgument")),
        ("hello", (400, "MalformedXML")),
        ("", (400, "MalformedXML")),
    ],
)
async def test_messages_that_are_refused(new_site, body, expected):
    """And nobody gets anything."""
    async with new_site() as site:
        site.topic(maximum_message_size=1024)
        site.queue()
        site.to_queue()

        assert site.error("POST", "/topics/t/messages", body) == expected
        assert site.bodies() == []


async def test_tags_choose_subscribers(new_site):
    """Equal tag or no filter; with a filter nothing untagged."""
    async with new_site() as site:
        site.topic()
        for queue, tag in (("all", None), ("red", "red"), ("blue", "blue")):
            site.queue(queue)
            site.to_queue(queue, name=queue, filter_tag=tag)
        site.call("POST", "/topics/t/messages", message_xml("1", "<MessageTag>red</MessageTag>"))
        site.call("POST", "/topics/t/messages", message_xml("2"))

        assert [site.bodies("all"), site.bodies("red"), site.bodies("blue")] == [["1", "2"], ["1"], []]


async def test_a_subscriber_gets_what_is_published_after_it_came(new_site):
    """Nothing older."""
    async with new_site() as site:
        site.topic()
        site.queue()
        site.publish("before")
        site.to_queue()
        site.publish("after")

        assert site.bodies() == ["after"]


async def test_user_properties_go_to_the_queue_message(new_site):
    """Natively, next to the body."""
    async with new_site() as site:
        site.topic()
        site.queue()
        site.to_queue(content_format=ContentFormat.JSON)
        site.call("POST", "/topics/t/messages", message_xml(inner=properties_xml()))
        live = site.queues.find(site.tenant, "q")
        (message,) = site.queues.messages.receive(live, 1, 0, list)

        assert json.loads(message.user_properties) == [["case0", "ack", "STRING"]]
        assert json.loads(message.body)["Message"] == "hello"
        assert message.priority == 8


async def test_the_queue_s_own_delay_counts(new_site):
    """A notification is a message like any other."""
    async with new_site() as site:
        site.topic()
        site.queue(delay_s=5)
        site.to_queue()
        site.publish()
        early = site.bodies()
        await site.advance(5)

        assert (early, site.bodies()) == ([], ["hello"])


async def test_an_ordered_topic_needs_a_group_and_hands_it_on(new_site):
    """To an ordered queue; the publisher's answer has it too."""
    async with new_site() as site:
        site.topic(fifo=True)
        site.queue(fifo=True)
        site.to_queue()
        missing = site.error("POST", "/topics/t/messages", message_xml())
        root = site.xml("POST", "/topics/t/messages", message_xml(inner="<MessageGroupId>g</MessageGroupId>"))
        live = site.queues.find(site.tenant, "q")
        (message,) = site.queues.messages.receive(live, 1, 0, list)

        assert missing == (400, "FifoMissingMessageGroupId")
        assert root.text_of("MessageGroupId") == message.group_id == "g"


async def test_mails_and_short_messages_are_in_the_outbox(new_site):
    """With the attributes that say how they look, newest first; anonymous receivers come from the message."""
    attributes = (
        '<MessageAttributes><DirectMail>{"AccountName":"from@example.com","Subject":"Hi"}</DirectMail>'
        '<DirectSMS>{"FreeSignName":"sign","TemplateCode":"T1","Type":"multiContent",'
        '"SmsParams":"{\\"138\\":{\\"name\\":\\"a\\"},\\"139\\":{}}"}</DirectSMS></MessageAttributes>'
    )

    async with new_site() as site:
        site.topic()
        site.subscribe("mail:directmail:to@example.com", name="mail")
        site.subscribe("sms:directsms:anonymous", name="sms")
        site.subscribe("push:app", name="push")
        receipt = site.xml("POST", "/topics/t/messages", message_xml(inner=attributes))
        entries = {entry.kind: entry for entry in site.service.topic_store.outbox(site.tenant, 100)}

        mail, sms = entries["mail"], entries["sms"]
        assert (mail.address, mail.details["Subject"], mail.body) == ("to@example.com", "Hi", "hello")
        assert (sms.address, sms.details["FreeSignName"]) == ("138,139", "sign")
        assert (entries["push"].address, entries["push"].details) == ("app", {})
        assert {entry.message_id for entry in entries.values()} == {receipt.text_of("MessageId")}
        assert site.reports("mail")[0].state == "delivered"


async def test_the_outbox_keeps_the_newest(new_site, monkeypatch):
    """It does not grow for ever."""
    monkeypatch.setattr("emulator.services.mns.topics.carrier.OUTBOX", 3)

    async with new_site() as site:
        site.topic()
        site.subscribe("mail:directmail:to@example.com")
        for number in range(6):
            site.publish(f"m{number}")

        assert [entry.body for entry in site.service.topic_store.outbox(site.tenant, 100)] == ["m5", "m4", "m3"]


@pytest.mark.parametrize(
    ("attributes", "address"),
    [
        ('{"DYSMS": {"PhoneNumber": "138"}}', "138"),
        ('{"DirectSMS": "{\\"Receiver\\": \\"139\\", \\"Type\\": \\"singleContent\\"}"}', "139"),
        ('{"DirectSMS": "broken"}', "anonymous"),
        (None, "anonymous"),
    ],
)
async def test_attributes_of_other_services_are_json(new_site, attributes, address):
    """Objects or text inside, as a flow gives them."""
    async with new_site() as site:
        site.topic()
        site.subscribe("sms:directsms:anonymous")
        site.publish(attributes=attributes)

        assert [entry.address for entry in site.service.topic_store.outbox(site.tenant, 100)] == [address]


@pytest.mark.parametrize("attributes", ["[]", "{", '"text"'])
async def test_attributes_that_are_no_object_are_refused(new_site, attributes):
    """InvalidArgument."""
    async with new_site() as site:
        site.topic()
        with pytest.raises(MnsError, match=r"^InvalidArgument:"):
            site.publish(attributes=attributes)


async def test_bytes_and_broken_text_of_other_services_are_read_as_text(new_site):
    """What UTF-8 cannot hold is replaced."""
    async with new_site() as site:
        site.topic()
        site.queue()
        site.to_queue()
        site.publish(b"a\xff")
        site.publish("b\ud800")

        assert site.bodies() == ["a\ufffd", "b?"]


async def test_the_message_count_is_that_of_messages_on_their_way(new_site):
    """Counted with the tables, kept in step."""
    async with new_site() as site:
        receiver = await site.receiver(500, 204)
        site.topic()
        site.subscribe(receiver.url)
        site.service.topics.view(site.tenant, "t")
        site.publish("one")
        await site.settle()
        waiting = site.xml("GET", "/topics/t").text_of("MessageCount")
        await site.advance(20)

        assert (waiting, site.xml("GET", "/topics/t").text_of("MessageCount")) == ("1", "0")
