"""Problems of deployment files in the user's language: each remembers what it was made of."""

from argparse import Namespace
from pathlib import Path

import pytest

from emulator.cli.commands.deploy import listed
from emulator.cli.commands.export import _say_differences
from emulator.deploy.export.comparison import OTHER, THERE, THIS, Difference
from emulator.deploy.model import FileProblems, Resource
from emulator.deploy.places import Findings, whole
from emulator.deploy.planner import read
from tests.unit.deploy.conftest import WORLD

PROJECT = """edition: 3.0.0
name: shop
resources:
  worker:
    component: fc3
    props: {{region: cn-hangzhou, functionName: worker, handler: index.handler, code: ., {more}}}
"""


def findings_of(text, folder, environ=None):
    """Return what is wrong with a file, else what is noted of it."""
    findings = Findings()
    try:
        read(whole(text, findings), WORLD, folder, {}, environ or {})
    except FileProblems as error:
        return error.problems
    return findings.notes


@pytest.mark.parametrize(
    ("more", "english", "shown"),
    [
        ("runtim: python3.10, runtime: python3.10", "there is no such property; did you mean runtime?",
         "没有这个属性\uff1b是否想输入 runtime\uff1f"),
        ("runtime: python3.10, memorySize: much", "must be a number",
         "必须是数字"),
        ("runtime: '${env(NONE)}'",
         "the environment variable NONE is not set: export NONE=... sets it",
         "没有设置环境变量 NONE\uff1a请用 export NONE=... 设置"),
        ("runtime: python3.10, vpcConfig: {vpcId: vpc-1}", "there is no VPC here; stored, without effect",
         "模拟器没有专有网络\uff1b该配置只保存\uff0c不起作用"),
    ],
    ids=["misspelt", "value", "variable", "note"],
)  # fmt: skip
def test_problems_and_notes_are_told_in_chinese(more, english, shown, tmp_path, request):
    """With place and hint; the text itself stays English, as JSON has it."""
    (found,) = findings_of(PROJECT.format(more=more), tmp_path)
    plain = listed(Path("s.yaml"), [found])

    request.getfixturevalue("chinese")
    told = listed(Path("s.yaml"), [found])

    assert plain.endswith(f": {english}")
    assert told.endswith(f": {shown}")
    assert told.startswith(f"s.yaml:6:{found.column}: resources.worker.props")
    assert found.text.isascii()


def test_a_concealed_line_stays_concealed_in_every_part_of_a_problem():
    """A phrase whose fields repeat it has the file's name in its place, and can still be translated."""
    findings = Findings()
    findings.conceal("shadow", "secret-word of a file\n")
    root = whole("a: 1\n", findings)

    root.member("secret-word of a file").problem("must be a map")

    (problem,) = findings.problems
    assert "secret" not in problem.text
    assert problem.text.endswith("must be a map")


def test_the_sides_of_a_difference_are_named_in_chinese(chinese, capsys):
    """Where the words are those of the command; a property's value is shown as it is."""
    queue = Resource(logical="jobs", type="mns queue", kind="mns.queue", identity=("jobs",), properties={})
    found = [
        Difference(resource=queue, file=THERE),
        Difference(resource=queue, path="Comment", file="there", running="other"),
        Difference(resource=queue, path="code", file=THIS, running=OTHER, files={"index.py": (True, True)}),
    ]

    _say_differences(Namespace(json=False), found)

    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [row[2:] for row in rows] == [
        ["jobs", "-", "有", "-"],
        ["jobs", "Comment", "there", "other"],
        ["jobs", "code:", "index.py", "此版本", "另一版本"],
    ]


def test_values_of_a_difference_are_written_as_in_the_file(capsys):
    """Below them stands what the columns are."""
    function = Resource(logical="f", type="fc3 function", kind="fc3.function", identity=("f",), properties={})
    found = [
        Difference(resource=function, path="internetAccess", file=False, running=True),
        Difference(resource=function, path="customDNS", file={"nameServers": ["é"]}, running=None),
        Difference(resource=function, path="handler", file="a", running=5),
    ]

    _say_differences(Namespace(json=False), found)

    table, legend = capsys.readouterr()
    assert [" ".join(line.split()[3:]) for line in table.splitlines()[1:]] == [
        "internetAccess false true",
        'customDNS {"nameServers": ["é"]} -',
        "handler a 5",
    ]
    assert "what the file says and what the emulator has; - stands for nothing" in " ".join(legend.split())


@pytest.mark.usefixtures("chinese")
def test_why_a_file_is_no_yaml_is_told_in_chinese(tmp_path):
    """The parser's reason too."""
    (found,) = findings_of("a: ]", tmp_path)

    assert listed(Path("s.yaml"), [found]).startswith("s.yaml:1:4: 不是有效的 YAML\uff1a此处应有内容")
