"""The pytest plugin, run as a project would: in a folder of its own, by a pytest of its own."""

import re
import textwrap
from functools import partial
from pathlib import Path

import pytest

from tests.once import once
from tests.own_pytest import SUMMARY, failure, outcomes, outcomes_by_file, run_pytest

FLOW = '''
FLOW = """
version: v1
type: flow
steps:
  - type: wait
    name: rest
    duration: 3600
"""
'''


PASSING: dict[str, str] = {}
"""Files of one project, by name, whose tests pass. Each test below adds its own, and looks at what became of them."""

FROZEN: dict[str, str] = {}
"""The same of a project where the clock stands still and a baseline is made."""

FAILING: dict[str, str] = {}
"""The same of a project in which tests fail."""


def run_project(folder, *options, exit_code=0, anew=False, **files):
    """Write files (by name) and run pytest on them; returns what it printed."""
    for name, text in files.items():
        stem, _, ending = name.replace("__", "/").rpartition("_")
        path = folder / f"{stem}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    done = run_pytest(folder, "-p", "no:randomly", *options, anew=anew)
    assert done.returncode == exit_code, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def project(tmp_path):
    """Run pytest on the files of a project of the test's own."""
    return partial(run_project, tmp_path)


@pytest.fixture(scope="module")
def passing(tmp_path_factory):
    """What is printed about `PASSING`."""
    return once(tmp_path_factory, "passing", lambda: run_project(tmp_path_factory.mktemp("p"), SUMMARY, **PASSING))


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    """What is printed about `FROZEN`."""
    return once(tmp_path_factory, "frozen", lambda: run_project(tmp_path_factory.mktemp("p"), SUMMARY, **FROZEN))


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """What is printed about `FAILING`."""
    folder = tmp_path_factory.mktemp("p")
    return once(tmp_path_factory, "failing", lambda: run_project(folder, SUMMARY, exit_code=1, **FAILING))


FROZEN |= {
    "pytest_ini": "[pytest]\nlocalyun_clock = frozen\n",
    "conftest_py": """
        import pytest

        @pytest.fixture(scope="session")
        def localyun_baseline(localyun_baseline):
            localyun_baseline.queue("shared").send("from the baseline")
        """,
    "test_baseline_py": """
        import pytest

        times = set()

        @pytest.mark.parametrize("word", ["a/b", "ü", "x" * 300, "[]"])
        def test_alone(localyun, word):
            times.add(localyun.clock.now())
            assert len(times) == 1
            assert [message.body for message in localyun.queue("shared").messages] == ["from the baseline"]
            localyun.queue("shared").send("more")
            own = localyun.queue()
            assert len(own) == 0
            own.send("mine")
            localyun.topic()
            localyun.clock.advance("3d")
        """,
}


def test_state_and_clock_are_those_of_the_baseline_in_every_test(frozen):
    """What one test leaves behind, no other sees; what the baseline has made, all see."""
    assert outcomes_by_file(frozen)["test_baseline.py"] == {"passed": 4}


PASSING |= {
    "test_hour_py": FLOW
    + """
def test_wait(localyun):
    run = localyun.flow("rest", FLOW).start({"order": 7})
    assert run.status == "Running"
    localyun.clock.advance("1h")
    assert run.status == "Succeeded"
    assert run.history[0]["Type"] == "ExecutionStarted"

def test_skip(localyun):
    run = localyun.flow(definition=FLOW).start()
    localyun.skip_until(execution=run, limit="2h")
    assert run.wait().status == "Succeeded"
""",
}


def test_flow_of_an_hour_runs_at_once(passing):
    """Time is moved, waited for by condition, and read."""
    assert outcomes_by_file(passing)["test_hour.py"] == {"passed": 2}


PASSING |= {
    "functions__shop__greet__index_py": """
        import logging

        def handler(event, context):
            logging.getLogger().info("greeting %s", event.decode())
            return "hello " + event.decode()
        """,
    "tests__test_functions_py": """
        def test_call(localyun):
            done = localyun.invoke("shop/greet", "you")
            assert done.ok and done.text.strip('"') == "hello you", done
            assert "greeting you" in done.log
            localyun.settle()
            assert "greeting you" in localyun.logs("shop/greet")
        """,
}


def test_functions_beside_the_tests_are_served(passing):
    """The folder ``functions`` needs no option; results, errors and logs are at hand."""
    assert outcomes_by_file(passing)["tests/test_functions.py"] == {"passed": 1}


FAILING |= {
    "functions__shop__fail__index_py": """
        def handler(event, context):
            print("about to fail")
            raise ValueError("no stock")
        """,
    "test_report_py": """
            FLOW = '''
            version: v1
            type: flow
            steps:
              - type: task
                name: order
                resourceArn: acs:fc:::services/shop/functions/fail
            '''

            def test_before(localyun):
                localyun.queue("of-another-test")

            def test_reported(localyun):
                localyun.mock("shop/fale", returns=1)
                localyun.queue("empty").receive()
                localyun.clock.advance("2d")
                run = localyun.flow("ordering", FLOW).start({})
                localyun.skip_until(execution=run)
                assert run.status == "Succeeded"
            """,
}


def test_report_of_a_failing_test_tells_what_the_emulator_did(failing):
    """Requests, what they caused, function logs and the tree of the execution, of this test alone."""
    section = failure(failing, "test_reported").partition("- localyun -")[2]
    assert "StartExecution" in section
    assert "about to fail" in section
    assert "no stock" in section
    assert "execution ordering/" in section
    assert "order" in section
    assert "of-another-test" not in section
    assert "mocks that were not called\nshop/fale\n" in section
    assert "404 MessageNotExist" in section
    assert re.search(r"\n\d{4}-\d\d-\d\d\n", section)


PASSING |= {
    "test_kinds_py": """
        import unittest

        import pytest
        from emulator.testing import Emulator

        class ByHand(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                cls.emulator = Emulator()
                cls.localyun = cls.emulator.start().localyun
                cls.addClassCleanup(cls.emulator.stop)

            def test_queue(self):
                self.localyun.queue("q").send("one")
                self.assertEqual(self.localyun.queue("q").receive().body, "one")

        class ByFixture(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def kit(self, localyun):
                self.localyun = localyun

            def test_queue(self):
                self.assertEqual(len(self.localyun.queue("q")), 0)

        @pytest.mark.asyncio
        async def test_coroutine(localyun):
            localyun.queue("q").send("one")
            assert localyun.queue("q").receive(wait_s=1).body == "one"
        """,
}


def test_unittest_and_async_tests_work_too(passing):
    """A TestCase by hand or by fixture, and a coroutine."""
    assert outcomes_by_file(passing)["test_kinds.py"] == {"passed": 3}


def test_a_missing_extra_is_named(project):
    """Without requests the fixture says which extra brings it, and ends the emulator it has started."""
    text = project(
        anew=True,
        exit_code=1,
        conftest_py="""
            import subprocess
            import sys

            sys.modules["requests"] = None
            made = []

            class Noted(subprocess.Popen):
                def __init__(self, *arguments, **options):
                    super().__init__(*arguments, **options)
                    made.append(self)

            subprocess.Popen = Noted

            def pytest_unconfigure():
                print("started" if made else "idle", "left", [each.pid for each in made if each.poll() is None])
            """,
        test_it_py="def test_it(localyun):\n    pass\n",
    )

    assert "pip install 'localyun[testing]'" in text
    assert "started left []" in text


def test_plugin_costs_nothing_where_it_is_not_used(project):
    """Nothing of the package is imported, so that a project may have an ``emulator`` of its own."""
    text = project(
        anew=True,
        test_it_py="""
            import sys

            def test_imports():
                assert not [name for name in sys.modules if name.startswith("emulator")]

            def test_own_module():
                import emulator

                assert emulator.THEIRS
            """,
        emulator_py="THEIRS = True\n",
    )

    assert outcomes(text) == {"passed": 2}


def test_fixture_works_beside_a_module_of_the_packages_name(project):
    """One in the project's root, where ``python -m pytest`` looks first."""
    text = project(
        anew=True,
        test_it_py="def test_it(localyun):\n    assert localyun.queue('orders').peek() == []\n",
        emulator_py="THEIRS = True\n",
    )

    assert outcomes(text) == {"passed": 1}


def test_fixture_names_the_module_that_has_its_packages_place(project):
    """Tests that import their own ``emulator`` and use the fixture are told what to rename."""
    text = project(
        anew=True,
        exit_code=1,
        tests__test_it_py="import emulator\n\ndef test_it(localyun):\n    assert emulator.THEIRS\n",
        tests__emulator_py="THEIRS = True\n",
    )

    assert "localyun's own package is called emulator, and so is a module that is imported already" in text
    assert "tests/emulator.py): rename that one" in text


FAILING |= {
    "test_refusal_py": "def test_refused(localyun):\n    localyun.flow('order', 'type: nothing')\n",
}


def test_refusal_is_shown_at_the_line_of_the_test(failing):
    """The kit's own frames say nothing that the error does not."""
    section = failure(failing, "test_refused")
    assert "test_refusal.py:2: ApiError" in section
    assert "emulator/testing/" not in section


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("localyun_clock = sundial", "localyun_clock is real or frozen, not 'sundial'"),
        ("localyun_seed = x", "localyun_seed is a whole number, not 'x'"),
    ],
)
def test_wrong_options_are_refused(project, line, message):
    """By the names that the file has."""
    text = project(exit_code=1, pytest_ini=f"[pytest]\n{line}\n", test_it_py="def test_it(localyun):\n    pass\n")

    assert message in text


PASSING |= {
    "pytest_ini": "[pytest]\nlocalyun_config = localyun.yaml\n",
    "localyun_yaml": """
        queues: {kept: {VisibilityTimeout: 5}}
        topics: {wire: {MaximumMessageSize: 2048}}
        """,
    "test_taken_py": """
        def test_taken(localyun):
            orders = localyun.queue("kept")
            localyun.topic("wire").publish("extra")
            orders.send("one")
            assert orders.receive().body == "one"
            localyun.clock.advance("5s")
            assert orders.receive().dequeue_count == 2
        """,
}


def test_queues_and_topics_that_are_there_are_taken_as_they_are(passing):
    """Those of the configuration keep their own attributes."""
    assert outcomes_by_file(passing)["test_taken.py"] == {"passed": 1}


PASSING |= {
    "test_bodies_py": """
        import pytest
        from emulator.testing import NotJson, TestingError
        from mns.queue import Message

        def test_sdk_and_kit(localyun):
            orders = localyun.queue("orders")
            theirs = localyun.mns.get_queue("orders")
            orders.send({"order": "für 7"}, base64=True)
            theirs.send_message(Message('{"order": 8}'))

            assert theirs.peek_message().message_body.decode() == '{"order": "für 7"}'
            assert [each.json()["order"] for each in orders.peek(base64=True)] == ["für 7", 8]
            assert orders.receive(base64=True).json() == {"order": "für 7"}
            with pytest.raises(NotJson, match="receive.base64=True. decodes it"):
                orders.receive().json()

        def test_bodies_that_are_neither(localyun):
            orders = localyun.queue("orders")
            orders.send("plain words")
            with pytest.raises(NotJson, match="the body is not JSON: 'plain words'"):
                orders.peek()[0].json()
            with pytest.raises(TestingError, match="leave base64=True out"):
                orders.receive(base64=True)

        def test_sink(localyun):
            inbox = localyun.sink()
            news = localyun.topic("news")
            news.subscribe(inbox.url)
            news.publish({"a": 1}, base64=True)
            localyun.settle()
            with pytest.raises(NotJson, match="b64decode"):
                inbox.only().json()

        @pytest.mark.parametrize("content_format", [None, "XML", "JSON", "SIMPLIFIED"])
        def test_a_sink_reads_every_format(localyun, content_format):
            inbox, archive = localyun.sink(), localyun.queue("archive")
            chosen = {"content_format": content_format} if content_format else {}
            news = localyun.topic("news")
            assert news.subscribe(inbox.url, **chosen) == news.subscribe(inbox.url, **chosen)
            news.subscribe(f"acs:mns:{localyun.region}:{localyun.account_id}:queues/archive", **chosen)
            news.publish({"text": "für <7> & 8"})
            localyun.settle()
            pushed = inbox.only()
            assert pushed.json() == {"text": "für <7> & 8"}
            assert pushed.text == '{"text": "für <7> & 8"}'
            assert pushed.signature_valid
            assert (pushed.body == pushed.text) == (content_format == "SIMPLIFIED")
            if content_format in {None, "XML"}:
                assert "<Message>" in pushed.body
                with pytest.raises(NotJson, match="content_format=.SIMPLIFIED."):
                    archive.receive().json()
        """,
}


def test_bodies_in_base64_are_written_and_read(passing):
    """As the SDKs do, on demand; a reader that forgets is told what to do."""
    assert outcomes_by_file(passing)["test_bodies.py"] == {"passed": 7}


PASSING |= {
    "test_forms_py": """
        import pytest

        from localyun.testing import ApiError

        @pytest.mark.parametrize(("words", "members"), [
            (({"service": "mns", "operation": "SendMessage"}, {"throttle": True}), {}),
            ((), {"match": {"service": "mns", "from": "client"}, "do": {"error": "InternalError"}}),
            (({"match": {"operation": "SendMessage"}, "do": {"throttle": True}, "times": 1},), {}),
            (({"service": "mns"},), {"operation": "SendMessage", "throttle": True}),
        ], ids=["positions", "names", "body", "mixed"])
        def test_a_fault(localyun, words, members):
            orders = localyun.queue("orders")
            localyun.faults.add(*words, **{"times": 1, **members})
            with pytest.raises(ApiError):
                orders.send("lost")
            assert orders.send("sent")

        def test_a_skip(localyun):
            orders = localyun.queue("orders")
            orders.send("late", delay_s=600)
            assert localyun.skip_until({"queue": "orders", "visible": 1})["settled"]
            assert orders.receive().body == "late"

        def test_a_sink_as_a_subscriber(localyun):
            inbox = localyun.sink()
            localyun.topic("news").subscribe(inbox)
            localyun.topic("news").publish("hello")
            assert localyun.settle()["settled"] and inbox.only().text == "hello" and str(inbox) == inbox.url

        def test_a_result(localyun):
            localyun.mock("f", answers=[{"return": {"paid": True}}, {"return": "text"}])
            first = localyun.invoke("f")
            assert first == {"paid": True} == first.value and first != {"paid": False} and first == first
            assert first != localyun.invoke("f") and len({first, first}) == 1
            assert first == first.payload and first != b"{}"
            localyun.mock("shop/f.online", returns=2)
            assert localyun.invoke("shop/f.online") == localyun.invoke("shop/f", qualifier="online").value == 2

        def test_keys_of_the_environment(localyun):
            assert localyun.env["LOCALYUN_ACCESS_KEY_ID"] == localyun.access_key_id
            assert localyun.env["LOCALYUN_ACCESS_KEY_SECRET"] == localyun.access_key_secret
""",
}


def test_the_kit_takes_what_the_http_api_takes(passing):
    """Bodies of the admin API as they are, a sink where an address is wanted, a result in place of its value."""
    assert outcomes_by_file(passing)["test_forms.py"] == {"passed": 8}


PASSING |= {
    "test_mocks_py": """
        import pytest

        from localyun.testing import ApiError, TestingError

        class NoRoom(Exception):
            pass

        FULL = {"errorType": "NoRoom", "errorMessage": "full"}

        @pytest.mark.parametrize("answer", [{"returns": [1]}, {"return": [1]}], ids="".join)
        @pytest.mark.parametrize("place", ["named", "listed"])
        def test_returned(localyun, answer, place):
            localyun.mock("f", **answer) if place == "named" else localyun.mock("f", answers=[answer])
            assert localyun.invoke("f").json() == [1]

        @pytest.mark.parametrize("name", ["raises", "error"])
        @pytest.mark.parametrize("error", [NoRoom("full"), FULL, "full"], ids=["exception", "object", "text"])
        @pytest.mark.parametrize("place", ["named", "listed"])
        def test_raised(localyun, name, error, place):
            answer = {name: error}
            localyun.mock("f", **answer) if place == "named" else localyun.mock("f", answers=[answer])
            kind = "Error" if isinstance(error, str) else "NoRoom"
            assert localyun.invoke("f").json() == {**FULL, "errorType": kind}

        def test_a_mock_without_an_answer_returns_nothing(localyun):
            localyun.mock("f")
            assert localyun.invoke("f").json() is None

        def test_refused(localyun):
            with pytest.raises(ApiError, match="not both"):
                localyun.mock("f", returns=1, raises="no")
            with pytest.raises(ApiError, match="not both"):
                localyun.mock("f", answers=[{"return": 1, "returns": 2}])
            with pytest.raises(ApiError, match="'retruns'; it has return"):
                localyun.mock("f", retruns=1)
            with pytest.raises(TestingError, match="returns= is one answer"):
                localyun.mock("f", returns=1, answers=[{"return": 2}])
        """,
}


def test_mocks_take_both_spellings_in_both_places(passing):
    """What is returned and raised, by the names of arguments and of the HTTP API; a mixture is refused."""
    assert outcomes_by_file(passing)["test_mocks.py"] == {"passed": 18}


FAILING |= {
    "functions__shop__flood__index_py": """
        def handler(event, context):
            for number in range(400):
                print("line", number)
            raise ValueError("no stock of " + "red shoes and " * 30 + "the blue ones in the end")
        """,
    "test_flood_py": """
            FLOW = '''
            version: v1
            type: flow
            steps:
              - type: task
                name: order
                resourceArn: acs:fc:::services/shop/functions/flood
            '''

            def test_flooded(localyun):
                run = localyun.flow("ordering", FLOW).start({})
                localyun.skip_until(execution=run)
                assert run.status == "Succeeded"
            """,
}


def test_a_report_shows_the_cause_whole_however_much_was_logged(failing):
    """The lines of functions do not push out what failed, and a long cause is not cut."""
    section = failure(failing, "test_flooded").partition("- localyun -")[2]
    assert "StartExecution" in section
    assert "line 399" in section
    assert "line 3\n" not in section
    told = section.partition("execution ordering/")[2].split()
    assert "the blue ones in the end" in " ".join(told).partition("cause")[2].partition("start took step")[0]


FAILING |= {
    "functions__notify__function_yml": """
        triggers:
          - triggerName: news
            triggerType: mns_topic
            sourceArn: acs:mns:cn-hangzhou:1:/topics/order-news
            triggerConfig: {notifyContentFormat: STREAM}
        """,
    "functions__notify__index_py": "def handler(event, context):\n    return event\n",
    "test_trigger_py": """
        import pytest

        @pytest.mark.parametrize("turn", [1, 2])
        def test_called(localyun, turn):
            waiting = localyun.command("trigger", "list")
            localyun.topic("order-news").publish("hello")
            localyun.settle()
            assert "waits" in waiting and "the topic 'order-news' does not exist" in waiting
            assert [call.event for call in localyun.calls("notify")] == ["hello"]

        def test_not_called(localyun):
            assert localyun.calls("notify")
        """,
}


def test_a_function_waits_for_the_topic_of_its_trigger(failing):
    """A topic that a test makes calls the functions whose files name it, each time; a failing test's report tells."""
    assert outcomes_by_file(failing)["test_trigger.py"] == {"failed": 1, "passed": 2}
    assert "trigger news of notify: the topic 'order-news' does not exist" in failure(failing, "test_not_called")


SETTLING = {
    "functions__shop__worker__function_yml": """
        triggers:
          - {name: tasks, type: mns_queue, queue: tasks}
        """,
    "functions__shop__worker__index_py": "def handler(event, context):\n    return event\n",
    "test_settling_py": """
        import pytest

        def bodies(localyun):
            return [call.event["data"]["messageBody"] for call in localyun.calls("shop/worker")]

        @pytest.mark.parametrize("turn", [1, 2])
        def test_settle(localyun, turn):
            orders = localyun.queue("tasks")
            orders.send("at once")
            localyun.settle()
            assert bodies(localyun) == ["at once"]
            for number in range(20):
                orders.send(str(number))
            localyun.settle()
            assert len(bodies(localyun)) == 21
            assert len(orders) == 0

        def test_skip(localyun):
            localyun.queue("tasks").send("one", delay_s=600)
            localyun.skip_until(calls="shop/worker")
            assert bodies(localyun) == ["one"]

        def test_made_once_more(localyun):
            orders = localyun.queue("tasks")
            orders.send("one")
            localyun.settle()
            localyun.command("queue", "delete", "tasks")
            localyun.settle()
            localyun.queue("tasks").send("two")
            localyun.settle()
            assert sorted(bodies(localyun)) == ["one", "two"]
        """,
}
PASSING |= SETTLING
FROZEN |= SETTLING


@pytest.mark.parametrize("clock", ["passing", "frozen"])
def test_settling_waits_for_a_queue_that_a_trigger_reads(request, clock):
    """A message just sent counts as work, also where the queue was made a moment ago or is made once more."""
    assert outcomes_by_file(request.getfixturevalue(clock))["test_settling.py"] == {"passed": 4}


FAILING |= {
    "functions__worker__function_yml": "triggers:\n  - {name: orders, type: queue, queue: orders}\n",
    "functions__worker__index_py": "def handler(event, context):\n    return event\n",
    "flows__order_yml": FLOW.partition('"""\n')[2].partition('"""')[0],
    "test_mistakes_py": """
        from pathlib import Path

        def test_flows(localyun):
            for number, definition in enumerate(["flows/order.yml", Path("flows/order.yml")]):
                run = localyun.flow(f"order-{number}", definition).start({})
                localyun.skip_until(execution=run)
                assert run.status == "Succeeded"

        def test_called(localyun):
            localyun.queue("orders").send("hello")
            localyun.settle()
            assert localyun.calls("worker")

        def test_no_such_flow(localyun):
            localyun.flow("order", "flows/odrer.yml")
        """,
}


def test_mistakes_in_function_files_stand_in_the_report(failing):
    """A failing test's report names them with file and line; a flow may be given as a file, by a text too."""
    assert outcomes_by_file(failing)["test_mistakes.py"] == {"failed": 2, "passed": 1}
    section = failure(failing, "test_called")
    assert "\nproblems\n" in section
    assert "functions/worker/function.yml:2:5: the trigger 'orders' is left out: there is no type 'queue'; " in section
    assert "did you mean mns_queue?" in section
    missing = failure(failing, "test_no_such_flow")
    assert "there is no flows/odrer.yml in " in missing
    assert "; did you mean order.yml?" in missing


PAGE = (Path(__file__).parents[2] / "docs" / "functions.md").read_text(encoding="utf-8")
QUEUES = PAGE.partition("## A function that a queue calls")[2].partition("\n## ")[0]


@pytest.mark.parametrize("triggers", re.findall(r"```yaml\n(.*?)```", QUEUES, re.DOTALL))
def test_a_function_is_called_by_a_queue_as_its_page_says(project, triggers):
    """The trigger in its short form and in its long one, which leaves out what its pattern does not choose."""
    text = project(
        functions__pack__function_yml=triggers,
        functions__pack__index_py=re.search(r"```python\n(.*?)```", QUEUES, re.DOTALL)[1],
        test_it_py="""
            def test_it(localyun):
                orders = localyun.queue("orders")
                orders.send("4711")
                orders.send("0815")
                localyun.settle()
                answers = [call.answer for call in localyun.calls("pack")]
                wanted = ["order 4711 is packed", "order 0815 is packed"]
                pattern = "prefix" in open("functions/pack/function.yml").read()
                assert answers == wanted[:1] if pattern else sorted(answers) == sorted(wanted)
                assert len(orders) == 0
            """,
    )

    assert outcomes(text) == {"passed": 1}
