"""Cases of flows: driven without an emulator, compared, told by line."""

import json
import re

import pytest

from emulator.services.workflow.languages.programs import read_program
from emulator.services.workflow.rehearsal.cases import read_suite, run_case
from emulator.services.workflow.rehearsal.coverage import Coverage, Item
from emulator.services.workflow.rehearsal.documents import CaseError
from emulator.services.workflow.rehearsal.proposals import propose
from emulator.services.workflow.rehearsal.replies import doubts_of_action
from emulator.wire.answers import read_script

ORDER = """
version: v1
type: flow
steps:
  - type: task
    name: Reserve
    resourceArn: acs:fc:::services/s/functions/hotel
    retry: [{errors: [NoRoom], intervalSeconds: 1, maxAttempts: 2, multiplier: 2}]
    catch: [{errors: [FnF.ALL], goto: Ask}]
    end: true
  - type: task
    name: Ask
    resourceArn: acs:mns:::/queues/q/messages
    pattern: waitForCallback
    timeoutSeconds: 60
    serviceParams: {MessageBody: $}
  - type: choice
    name: Answer
    inputMappings: [{target: ok, source: $local.ok}]
    choices: [{condition: $.ok == true, goto: Done}]
    default: {goto: Refused}
  - {type: fail, name: Refused, error: Refused, cause: said no}
  - {type: succeed, name: Done}
"""

MODEL = """
Type: StateMachine
Name: model
SpecVersion: v1
StartAt: ask
States:
  - Type: Task
    Name: ask
    Action: DashScope:QwenTextGeneration
    Parameters: {model: qwen-turbo}
    OutputConstructor: {text.$: $Output.output.text}
    Next: store
  - Type: Task
    Name: store
    Action: HTTP:Request
    Parameters: {url: "http://example.com", method: POST, body: {text.$: $Input.text}}
    OutputConstructor: {code.$: $Output.Code}
    End: true
"""


@pytest.fixture
def suite(tmp_path):
    """Returns a function that reads cases of a flow."""

    def read(cases, flow=ORDER):
        (tmp_path / "flow.yml").write_text(flow)
        file = tmp_path / "flow.test.yaml"
        file.write_text(f"flow: flow.yml\n{cases}")
        return read_suite(file)

    return read


def outcomes(read):
    coverage = Coverage(read.program)
    came = [run_case(read, case, coverage) for case in read.cases]
    for each in came:
        coverage.add(each.taken)
    return came, coverage


def test_a_case_goes_through_retries_a_callback_and_time_as_an_execution_does(suite):
    """Three calls, pauses of one and two seconds, a report after four: seven seconds of the emulator's time."""
    read = suite(
        """
cases:
  - name: the hotel is full
    input: {hotel: full}
    mocks:
      Reserve: {error: {errorType: NoRoom, errorMessage: full}}
      MNS:SendMessage: {return: {ok: false}, delay: 4s}
    expect:
      status: Failed
      error: Refused
      path: [Reserve, Ask, Answer, Refused]
      calls: {Reserve: 3, Ask: 1}
      sent: {Ask: {hotel: full}}
      lasts: 7s
"""
    )

    (came,), _ = outcomes(read)

    assert came.reasons == []


def test_an_action_of_a_product_that_is_not_here_and_a_call_over_http_are_mocked(suite):
    """By action or by step, with what the integration would return."""
    read = suite(
        """
mocks:
  dashscope:QwenTextGeneration: {return: {output: {text: hello}}}
cases:
  - name: stored
    mocks: {store: {return: {Code: 201, Header: {}, Body: ""}}}
    expect: {output: {code: 201}, sent: {store: {body: {text: hello}}}}
""",
        MODEL,
    )

    (came,), _ = outcomes(read)

    assert came.reasons == []


def test_what_came_otherwise_is_told(suite):
    """Each member of the expectation that does not fit is a reason."""
    read = suite(
        """
cases:
  - mocks: {s/hotel: {return: {room: 7}}}
    expect: {path: [Reserve, Done], calls: {Ask: 1}, output: {room: "8.."}, lasts: 1s}
"""
    )

    (came,), _ = outcomes(read)

    assert came.reasons == [
        "path: after Reserve comes the end, expected Done",
        "calls.Ask is 0, expected 1",
        'output.room is 7, expected "8.."',
        "lasts 0s, expected 1s",
    ]


def test_tasks_of_the_expected_path_need_no_mock_and_return_an_empty_object(suite):
    """A failed execution has no output, and an empty one is expected of it as of any other."""
    read = suite(
        """
cases:
  - name: the hotel has a room
    expect: {path: [Reserve], output: {}, calls: {Reserve: 1}}
  - name: nobody may go
    mocks: {Reserve: [{error: {errorType: NoRoom, errorMessage: full}}]}
    expect: {status: Failed, error: Refused, output: {}, path: [Reserve, Ask, Answer, Refused]}
  - name: a member of no output
    mocks: {Reserve: [{error: NoRoom}], Ask: [{return: {ok: false}}]}
    expect: {status: Failed, output: {a: 1}}
"""
    )

    came, _ = outcomes(read)

    told = ["output is not there, expected {'a': 1}; the status is Failed"]
    assert [each.reasons for each in came] == [[], [], told]


def test_a_task_without_a_mock_fails_the_case_and_says_what_to_write(suite):
    """Nothing real is called."""
    (came,), _ = outcomes(suite("cases: [{name: bare}]"))

    assert came.reasons == ["no mock is for the task 'Reserve', which calls s/hotel: give mocks: {Reserve: ...}"]


@pytest.mark.parametrize(
    ("cases", "line", "told"),
    [
        ("cases: []", 2, "at least one case"),
        ("cases:\n  - mocks: {Reserv: {return: 1}}", 3, "did you mean 'Reserve'?"),
        ("cases:\n  - mocks:\n      Reserve: {returned: 1}", 4, "an answer has no member 'returned'"),
        ("cases:\n  - mocks:\n      Reserve: {answers: [{return: 1}], then: real}", 4, "without an emulator"),
        ("cases:\n  - expect:\n      stauts: Failed", 4, "did you mean 'status'?"),
        ("cases:\n  - expect:\n      path: [Reserve, Don]", 4, "did you mean 'Done'?"),
        ("cases:\n  - use: [none]", 3, "there is no fixture 'none'"),
        ("cases:\n  - expect: {lasts: long}", 3, "lasts is a duration"),
        ("cases:\n  - {name: a}\n  - {name: a}", 4, "two cases called 'a'"),
    ],
)
def test_a_mistake_in_a_file_is_told_by_line_with_the_names_that_fit(suite, cases, line, told):
    """Whoever wrote it finds it at once."""
    with pytest.raises(CaseError, match=re.escape(told)) as caught:
        suite(cases)

    assert caught.value.line == line


@pytest.mark.parametrize(
    ("flow", "mock", "doubt"),
    [
        (MODEL, "store: {return: {Code: 200, Bodi: x}}", "HTTP:Request returns no member 'Bodi'; did you mean 'Body'?"),
        (MODEL, "store: {return: {Code: '200'}}", "Code of what HTTP:Request returns is a whole number"),
        (MODEL, "http:Request: {return: [1]}", "HTTP:Request returns a map with Code, Header, Body"),
        (MODEL, "store: {error: {errorType: MNS.QueueNotExist}}", "errors of HTTP:Request are called HTTP.NAME"),
        (
            ORDER,
            "Reserve: {return: 7}",
            "the mock must return a map: the task Reserve accepts nothing else from a function",
        ),
        (ORDER, "Ask: [{return: {ok: true}}, {return: yes}]", "what is reported of the task Ask is a map"),
    ],
)
def test_an_answer_that_an_integration_cannot_give_is_told_or_refused(suite, flow, mock, doubt):
    """A warning with its line, unless the file is strict."""
    cases = f"cases:\n  - mocks:\n      {mock}"

    told = suite(cases, flow)
    with pytest.raises(CaseError, match=re.escape(doubt)) as refused:
        suite(f"strict: true\n{cases}", flow)

    assert [doubt in each for each in told.doubts] == [True]
    assert ":4:7: " in told.doubts[0]
    assert refused.value.line == 5


def test_answers_that_integrations_give_are_not_doubted(suite):
    """What comes of an action of another product is not known; errors of the engine may come of everything."""
    told = suite(
        """
cases:
  - mocks:
      ask: {return: anything}
      store: [{error: {errorType: FnF.X}}, {error: {errorType: HTTP.Unknown}}, {return: {Header: {}}}, {never: true}]
""",
        MODEL,
    )

    assert told.doubts == ()


def test_fixtures_are_shared_by_the_cases_that_use_them(suite):
    """A case's own members come on top."""
    read = suite(
        """
fixtures:
  full:
    input: {hotel: full}
    mocks: {Reserve: {error: NoRoom}, Ask: {return: {ok: true}}}
cases:
  - {name: yes, use: full, expect: {status: Succeeded, sent: {Ask: {hotel: full, n: 1}}}, input: {n: 1}}
  - {name: no, use: [full], mocks: {Ask: {never: true}}, expect: {error: FnF.TaskTimeout, lasts: 63s}}
"""
    )

    came, _ = outcomes(read)

    assert [each.reasons for each in came] == [[], []]


REFERRING = """
version: v1
type: flow
steps:
  - {type: task, name: Pay, resourceArn: !Ref shop/pay}
  - {type: wait, name: Rest, duration: !Ref Pause}
"""


def test_a_definition_of_a_template_is_tested_with_parameters(tmp_path):
    """What it refers to is mocked by its name; values are those of the file, and of the caller before it."""
    (tmp_path / "flow.yml").write_text(REFERRING)
    file = tmp_path / "flow.test.yaml"
    file.write_text(
        "flow: flow.yml\nparameters: {Pause: 7}\ncases:\n  - {mocks: {shop/pay: {return: {}}}, expect: {lasts: 7s}}\n"
    )

    own, _ = outcomes(read_suite(file))
    given, _ = outcomes(read_suite(file, {"Pause": "8"}))

    assert (own[0].reasons, given[0].reasons) == ([], ["lasts 8s, expected 7s"])
    file.write_text("flow: flow.yml\ncases: [{name: one}]\n")
    with pytest.raises(CaseError, match=r"flow\.yml:6:\d+: !Ref has no value here"):
        read_suite(file)


LONG = """
version: v1
type: flow
steps:
  - type: pass
    name: limits
    outputMappings: [{target: limit, source: 500}]
  - type: task
    name: first
    resourceArn: acs:fc:::functions/first
    catch: [{errors: [FnF.ALL], goto: end}]
  - type: task
    name: look
    resourceArn: acs:fc:::functions/look
    outputMappings: [{target: state, source: $local.state}, {target: at, source: $local.at}]
    catch: [{errors: [FnF.ALL], goto: end}]
  - type: choice
    name: judge
    choices:
      - {condition: $.at != -1, goto: look}
      - {condition: $.size > $.limit, goto: large}
  - {type: succeed, name: small}
  - {type: pass, name: large}
  - {type: succeed, name: end}
"""


def test_a_way_through_loops_and_compared_paths_is_proposed():
    """A loop that an answer ends, and an input that has to be larger than what a step sets."""
    _, missing = propose(read_program(LONG), [])

    assert missing == []


def test_coverage_tells_what_no_case_has_taken(suite):
    """Ways, conditions both ways, retries to their end, time-outs."""
    _, coverage = outcomes(suite("cases: [{mocks: {Reserve: [{error: {errorType: NoRoom}}, {return: {}}]}}]"))

    assert coverage.taken[Item("retry", "Reserve", "NoRoom tried again")] == 1
    assert {(item.kind, item.step) for item in coverage.missing()} == {
        ("transition", "Reserve"), ("retry", "Reserve"), ("step", "Ask"), ("transition", "Ask"), ("timeout", "Ask"),
        ("step", "Answer"), ("transition", "Answer"), ("condition", "Answer"), ("step", "Refused"), ("step", "Done"),
        ("transition", "Done"),
    }  # fmt: skip


def test_what_is_covered_can_be_said_in_another_language(suite):
    """The names of steps and errors stay; English is what a file of cases has."""
    spoken = {"{errors} tried again": "{errors} 之后重试", "{step}: {what}": "{step}：{what}"}
    _, coverage = outcomes(suite("cases: [{mocks: {Reserve: [{error: {errorType: NoRoom}}]}}]"))
    item = next(each for each in coverage.items if each.what == "NoRoom tried again")

    assert item.said(lambda text: spoken.get(text, text)) == "Reserve：NoRoom 之后重试"
    assert item.text == "Reserve: NoRoom tried again"


def test_proposed_cases_take_everything_and_pass(suite, tmp_path):
    """What is proposed for a flow is a file of cases that holds."""
    program = suite("cases: [{name: any}]").program

    proposed, missing = propose(program, [])
    (tmp_path / "proposed.test.json").write_text(json.dumps({"flow": "flow.yml", "cases": proposed}))
    came, coverage = outcomes(read_suite(tmp_path / "proposed.test.json"))

    assert missing == []
    assert [each.reasons for each in came if each.reasons] == []
    assert coverage.percentage == 100


ANSWERED = """Type: StateMachine
SpecVersion: v1
Name: answered
StartAt: get
States:
  - {Type: Task, Name: get, Action: "HTTP:Request", TaskMode: RequestComplete, Next: sent,
     Parameters: {url: "http://localhost/", method: GET}}
  - Type: Choice
    Name: sent
    Branches: [{Condition: $Input.Code > 300, Next: send}]
    Default: end
  - {Type: Task, Name: send, Action: "MNS:SendMessage", TaskMode: RequestComplete, Next: checked,
     Parameters: {resourceArn: "acs:mns:::/queues/q/messages", message: {}}}
  - Type: Choice
    Name: checked
    Branches: [{Condition: $Input.n > 10, Next: end}]
    Default: end
  - {Type: Succeed, Name: end}
"""


def test_proposed_answers_are_some_that_the_integration_gives(tmp_path):
    """A branch on a member that a reply cannot have is said to be without a case."""
    (tmp_path / "flow.yml").write_text(ANSWERED)

    proposed, missing = propose(read_program(ANSWERED), [])
    cases = {"flow": "flow.yml", "strict": True, "cases": proposed}
    (tmp_path / "proposed.test.json").write_text(json.dumps(cases))
    came, _ = outcomes(read_suite(tmp_path / "proposed.test.json"))

    assert [each.reasons for each in came if each.reasons] == []
    assert {item.step for item in missing} == {"checked"}


@pytest.mark.parametrize(
    ("result", "is_doubted"),
    [
        ({"hotel": "Hilltop"}, False),
        ({"MessageId": "1"}, False),
        ({"MessageId": "1", "hotel": "Hilltop"}, True),
        ({"MessageID": "1"}, True),
        ({"MessageId": 1}, True),
        ([1], True),
    ],
)
def test_what_a_callback_may_report_is_no_doubtful_answer_of_an_action(result, is_doubted):
    """A mock of an action is for every task that uses it, those that wait for a callback too."""
    doubts = list(doubts_of_action("MNS:SendMessage", read_script([{"return": result}], "repeat")))

    assert bool(doubts) is is_doubted
