"""Names that are not there: commands propose the one that was probably meant, after the service's own words."""

import pytest

FLOW = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: w, duration: 86400}\n"
CODE = "def handler(event, context):\n    return event\n"
TRIGGER = "triggers: [{name: web, type: http, config: {authType: anonymous, methods: [GET]}}]\n"

NO_FLOW = "FlowNotExists: Flow greting does not exist."
NO_QUEUE = "QueueNotExist: The queue name you provided is not exist."
NO_TOPIC = "TopicNotExist: The topic you provided does not exist."
NO_EXECUTION = "ExecutionNotExists: Execution run-2 for flow greeting does not exist."
NO_FUNCTION = "FunctionNotFound: function 'chrage' does not exist in service 'shop'"
MISSPELT = {
    "flow start greting": f"{NO_FLOW} Did you mean greeting?",
    "flow history greting/run-1": f"{NO_FLOW} Did you mean greeting?",
    "flow describe greeting run-2": f"{NO_EXECUTION} Did you mean run-1?",
    "explore greting": f"{NO_FLOW} Did you mean greeting?",
    "skip --execution greting/run-1": f"{NO_FLOW} Did you mean greeting?",
    "console flows/greting": f"{NO_FLOW} Did you mean greeting?",
    "trace greting/run-1": "NotFound: There is no request, message, call or execution 'greting/run-1'. Did you mean "
    "greeting/run-1?",
    "queue send ordes one": f"{NO_QUEUE} Did you mean orders?",
    "reset -y --queue ordes": f"{NO_QUEUE} Did you mean orders?",
    "topic publish nws one": f"{NO_TOPIC} Did you mean news?",
    "topic deliveries news al": "SubscriptionNotExist: The subscription you provided is not exist. Did you mean all?",
    "invoke helo": "FunctionNotFound: function 'helo' does not exist; did you mean hello?",
    "invoke charge": "FunctionNotFound: function 'charge' does not exist; did you mean shop/charge?",
    "invoke f": "FunctionNotFound: function 'f' does not exist; did you mean shop/f?",
    "logs shop/chrage": f"{NO_FUNCTION}; did you mean shop/charge?",
    "invoke shp/charge": "ServiceNotFound: service 'shp' does not exist; did you mean shop?",
    "trigger fire hello wb": "TriggerNotFound: trigger 'wb' does not exist in function 'hello'; did you mean web?",
    "checkpoint restore befor": "NotFound: There is no checkpoint 'befor'. Did you mean before?",
}


@pytest.fixture
def full(program):
    """An emulator with one of each thing that has a name."""
    for name, settings in (("hello", TRIGGER), ("shop/charge", ""), ("shop/f", "")):
        folder = program.folder / "functions" / name
        folder.mkdir(parents=True)
        (folder / "index.py").write_text(CODE)
        (folder / "function.yml").write_text(f"runtime: python3\n{settings}")
    (program.folder / "flow.yml").write_text(FLOW)
    program.start()
    for line in ("flow create greeting flow.yml", "flow start greeting --name run-1", "queue create orders",
                 "topic create news", "topic subscribe news all queue:orders", "checkpoint save before"):  # fmt: skip
        done = program.run(*line.split())
        assert done.returncode == 0, done.stderr
    return program


def test_a_misspelt_name_is_answered_with_the_one_that_is_there(full):
    """Whatever kind of thing it is of; the exit code stays that of the refusal."""
    said = {}
    for line in MISSPELT:
        done = full.run(*line.split())
        said[line] = done.stderr.removeprefix("localyun: ").rstrip("\n")
        assert done.returncode == 1, line

    assert said == MISSPELT


OWN_WORDS = {
    "checkpoint restore befor": "NotFound: 没有检查点“befor”。是否想输入 before\uff1f",
    "fault add --service mns --operation SendMesage --error X": "InvalidParameter: mns 没有操作 'SendMesage'\uff1b"
    "是否想输入 SendMessage\uff1f",
    "skip --calls hello --limit 1s": "已到上限 1 秒\uff1b下一个事件\uff08greeting/run-1\uff1a等待结束\uff09在此之后"
    "\uff1b请用更大的上限\uff08limit=、--limit\uff09\uff0c例如 3h",
    "flow create broken broken.yml": "InvalidArgument: Definition\uff1asteps[0].type\uff1a未知的步骤类型\uff1b"
    "可用的有\uff1atask、pass、wait、choice、parallel、foreach、succeed、fail\uff08第 4 行\uff0c第 12 列\uff09",
}


def test_the_emulator_s_own_refusals_are_in_the_user_s_language(full):
    """Also what is wrong with a definition; codes stay, as people search for them."""
    (full.folder / "broken.yml").write_text("version: v1\ntype: flow\nsteps:\n  - {type: tsk, name: a}\n")
    said = {}
    for line in OWN_WORDS:
        done = full.run(*line.split(), LC_ALL="zh_CN.UTF-8", PYTHONUTF8="1")
        said[line] = done.stderr.removeprefix("localyun: ").rstrip("\n")
        assert done.returncode == 1, line

    assert said == OWN_WORDS


def test_a_proposal_is_in_the_user_s_language_and_none_is_made_without_a_near_name(full):
    """The service's own words stay as its clients know them."""
    chinese = full.run("queue", "send", "ordes", "one", LC_ALL="zh_CN.UTF-8", PYTHONUTF8="1")
    unlike = full.run("queue", "send", "zzz", "one")
    as_json = full.run("flow", "describe", "greting", "--json")

    assert NO_QUEUE in chinese.stderr
    assert "是否想输入 orders\uff1f" in chinese.stderr
    assert unlike.stderr == f"localyun: {NO_QUEUE}\n"
    assert (as_json.stdout, as_json.stderr) == ("", f"localyun: {NO_FLOW} Did you mean greeting?\n")


def test_a_checkpoint_that_takes_the_place_of_another_says_so(full):
    """The first of that name is gone; a new name is only saved."""
    again = full.run("checkpoint", "save", "before")
    other = full.run("checkpoint", "save", "after")

    assert again.stdout == "saved before, in the place of the earlier one\n"
    assert other.stdout == "saved after\n"


def test_a_version_of_a_function_without_a_service_is_called(full):
    """Its number or an alias stands behind the name, for calls of each kind."""
    version = full.folder / "functions" / "hello" / "versions" / "1"
    version.mkdir(parents=True)
    (version / "index.py").write_text("def handler(event, context):\n    return 'one'\n")

    called = full.run("invoke", "hello.1")
    later = full.run("invoke", "hello.1", "--async")
    missing = full.run("invoke", "hello.2")

    assert (called.stdout, later.stdout) == ("one\n", "one\n"), called.stderr + later.stderr
    assert missing.returncode == 1
    assert "VersionNotFound" in missing.stderr
