"""What the services refuse of forms, on Chinese pages: in Chinese, behind the code."""

import http.client
import re
from functools import partial
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from emulator.console.language import translated
from emulator.console.refusals import SENTENCES, placed_sentence
from emulator.testing import Emulator
from tests.console.test_safety import token

REPOSITORY = Path(__file__).parents[2]
ROOT = "/_localyun/console"
FLOW = "version: v1\ntype: flow\nsteps:\n- {type: pass, name: only}\n"
HANDLER = {
    "name-function": "made",
    "runtime": "python3.10",
    "handler": "index.handler",
    "code": "def handler(a, b): 0\n",
}


@pytest.fixture(scope="module")
def post():
    """Post a form of a Chinese page of an emulator with a queue, a topic, a bucket and a flow; return what is said."""
    with Emulator() as kit:
        kit.queue("present").send("tea")
        kit.topic("present")
        kit.flow("present", FLOW).start(name="first").wait()
        address = urlsplit(kit.endpoint)
        session = {"Accept-Language": "zh-CN"}

        def ask(method, path, body=None, **headers):
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
            try:
                connection.request(method, path, body, session | headers)
                answer = connection.getresponse()
                return answer.status, answer.headers, answer.read().decode()
            finally:
                connection.close()

        _, headers, _ = ask("GET", kit.api.admin("POST", "console-link")["path"])
        session["Cookie"] = headers["Set-Cookie"].partition(";")[0]
        csrf = token(ask("GET", f"{ROOT}/new/queue")[2])

        def post(path, **fields):
            form = urlencode({"csrf": csrf, **fields})
            kind = {"Content-Type": "application/x-www-form-urlencoded", "X-Post": "1"}
            status, _, text = ask("POST", ROOT + path, form, **kind)
            return status, text

        yield post


@pytest.mark.parametrize(
    ("path", "fields", "refusal"),
    [
        ("/new/queue", {"name-queue": "no_queue!"}, "InvalidQueueName: 队列名称无效。"),
        ("/new/queue", {"name-queue": "present", "DelaySeconds": "7"}, "QueueAlreadyExist: 要创建的队列已存在。"),
        ("/queues/none/send", {"body": "x"}, "QueueNotExist: 没有这个队列。"),
        ("/queues/present/send", {"body": ""}, "InvalidArgument: XML 不符合规定的结构，原因：MessageBody。"),
        ("/queues/present/delete", {"handle": "abc"}, "ReceiptHandleError: 消息句柄无效。"),
        ("/new/subscription", {"in": "present", "name-subscription": "s"}, "MissingParameter: 必须给出 Endpoint。"),
        (
            "/new/function",
            {**HANDLER, "cpu": "7.123"},
            "InvalidArgument: cpu 7.123 无效：必须是 0.05 的倍数，从 0.05 到 16",
        ),
        (
            "/new/function",
            {**HANDLER, "environmentVariables": "[]"},
            "InvalidArgument: environmentVariables 必须是对象",
        ),
        ("/functions/none/call", {"event": "{}"}, "FunctionNotFound: 没有函数“none”"),
        ("/flows/none/start", {}, "FlowNotExists: 没有流程 none。"),
        (
            "/design",
            {"name": "made", "Type": "FDL", "Definition": "version: v1\ntype: flow\nsteps:\n- {type: tsk, name: a}\n"},
            "InvalidArgument: 参数错误：Definition：steps[0].type：未知的步骤类型；可用的有：task、pass、",
        ),
        ("/flows/present/start", {"input": "[]"}, "InvalidArgument: 参数错误：Input 必须是 JSON 对象：它是数组"),
        (
            "/flows/present/start",
            {"input": "x"},
            "InvalidArgument: 参数错误：Input 必须是 JSON 对象：第 1 行第 1 列（第 0 个字符）：此处应有值",
        ),
        (
            "/new/schedule",
            {"in": "present", "name-schedule": "s", "CronExpression": "x"},
            "InvalidArgument: 参数错误：CronExpression：cron 表达式有六个字段，第一个是秒；这里有 1 个。",
        ),
        ("/new/bucket", {"name-bucket": "A_"}, "InvalidBucketName: 存储空间名称无效。"),
        ("/new/role", {"name-role": "!"}, "InvalidParameter.RoleName.InvalidChars: 参数“RoleName”含有无效的字符。"),
        ("/delete/role/none", {}, "EntityNotExist.Role: 没有角色：none。"),
        ("/faults/remove", {"id": "none"}, "NotFound: 没有故障“none”。"),
        ("/accounts", {"account": "abc"}, "InvalidAccountId: 账号 ID 为 1 到 32 位数字。"),
        ("/clock", {"advance": "9999999d"}, "InvalidClock: 时钟最晚到 9999 年底"),
        ("/histories", {"history": "{}"}, "InvalidArgument: 其中没有事件"),
    ],
)
def test_refusal_of_a_service_is_in_chinese_behind_its_code(post, path, fields, refusal):
    """The code is as programs know it, and values as they were typed."""
    status, said = post(path, **fields)

    assert 400 <= status < 500
    assert said.startswith(refusal)


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        ("2: the trigger 'web' is left out: name is required", "2: 触发器“web”：未加载，原因：必须给出 name"),
        (
            "2: the trigger 'a b' is left out: methods[0] 'X' is invalid: it must be one of GET, PUT",
            "2: 触发器“a b”：未加载，原因：methods[0]“X”无效：必须是以下之一：GET、PUT",
        ),
        (
            "2: the trigger 'x' is left out: there is no type 'kafka'; the types are http, timer",
            "2: 触发器“x”：未加载，原因：没有类型 'kafka'；可用的类型：http、timer",
        ),
        (
            "2: the trigger 'x': the field 'que' is not known and ignored; did you mean queue?",
            "2: 触发器“x”：未知的字段 'que'，已忽略；是否想输入 queue\uff1f",
        ),
        ("1: timeout 0 is out of range: it must be from 1 to 86400", "1: timeout 0 超出范围：必须在 1 到 86400 之间"),
        ("1: memorySize must be a whole number", "1: memorySize 必须是整数"),
        (" 127.0.0.1:9 cannot be reached: Connection refused", " 无法连接 127.0.0.1:9：连接被拒绝"),
        (" it must hold fields with values", " 内容必须是带值的字段"),
    ],
    ids=["trigger", "choices", "types", "field", "range", "number", "push", "file"],
)
def test_mistakes_in_the_functions_folder_are_in_chinese_behind_their_place(mistake, said):
    """A path may hold anything, a colon too; a list has the comma of Chinese."""
    assert placed_sentence(f"/a: b/function.yml:{mistake}", partial(translated, "zh")) == f"/a: b/function.yml:{said}"


SOURCE = "".join(
    re.sub(r'"\s*\n\s*f?"', "", path.read_text(encoding="utf-8"))
    for path in (REPOSITORY / "emulator").rglob("*.py")
    if path.name != "refusals.py"
)
FOREIGN = re.compile(
    "Expecting|Extra data|Unterminated|Invalid control|Invalid .escape|Illegal trailing|: line "
    "|^Connection refused$|^No route to host$|^Network is unreachable$"
)
"""What Python's reader of JSON and the system say."""


def test_every_sentence_is_one_that_is_said():
    """One that no service says any longer would be translated for nobody."""
    own = [each for each in SENTENCES if not FOREIGN.search(each)]
    parts = [(each, part.strip()) for each in own for part in re.split(r"\{\w+\}", each)]

    assert [each for each, part in parts if part not in SOURCE and part.replace("'", "\\'") not in SOURCE] == []
