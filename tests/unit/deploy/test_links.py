"""What deployment files read of the machine: links stay in the project, and no message repeats what a file holds."""

from io import BytesIO
from zipfile import ZipFile

import pytest

from emulator.deploy.model import FileProblems
from emulator.deploy.places import Findings, whole
from emulator.deploy.planner import read
from tests.unit.deploy.conftest import WORLD

PROJECT = """\
edition: 3.0.0
resources:
  api:
    component: fc3
    props: {functionName: api, runtime: python3.10, handler: index.handler, code: CODE}
"""
SECRET = "root:$6$very/secret:19000:0:99999:7:::"


@pytest.fixture
def place(tmp_path):
    """A project with a code folder, beside it a file that is nobody's business."""
    (tmp_path / "shadow").write_text(f"{SECRET}\nnobody:*:19000\n")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "index.py").write_text("x = 1\n")
    folder = tmp_path / "project"
    (folder / "code").mkdir(parents=True)
    (folder / "code" / "index.py").write_text("x = 1\n")
    return folder


def package_of(place, code="code"):
    found = read(whole(PROJECT.replace("CODE", str(code)), Findings()), WORLD, place, {}, {})
    with ZipFile(BytesIO(found.resources[0].package)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def problems_of(place, text):
    findings = Findings()
    with pytest.raises(FileProblems) as caught:
        read(whole(text, findings), WORLD, place, {}, {})
    return "\n".join(problem.text for problem in caught.value.problems)


@pytest.mark.parametrize("target", ["../../../shadow", "/etc/passwd"])
def test_link_out_of_the_project_is_refused_by_name(place, target):
    """The message names the link, not what it leads to holds."""
    (place / "code" / "lib").mkdir()
    (place / "code" / "lib" / "keys.txt").symlink_to(target)

    said = problems_of(place, PROJECT.replace("CODE", "code"))

    assert "code: lib/keys.txt: the link points outside the project" in said
    assert "root" not in said


def test_link_to_a_folder_outside_is_refused_by_name(place):
    """A folder counts as a file does."""
    (place / "code" / "vendor").symlink_to("../../shared")

    assert "vendor: the link points outside" in problems_of(place, PROJECT.replace("CODE", "code"))


@pytest.mark.parametrize("link", ["code", "archive.zip", "flow.yml"])
def test_named_path_that_is_a_link_out_of_the_project_is_refused(place, tmp_path, link):
    """Code, an archive and a definition alike."""
    (place / "code" / "index.py").unlink()
    (place / "code").rmdir()
    (place / link).symlink_to(tmp_path / ("shared" if link == "code" else "shadow"))
    flow = "edition: 3.0.0\nresources:\n  f: {component: fnf, props: {name: f, definition: flow.yml}}\n"

    said = problems_of(place, flow if link == "flow.yml" else PROJECT.replace("CODE", link))

    assert f"{link}: the link points outside the project" in said


def test_links_inside_the_project_are_packed(place):
    """Workspaces of package managers are made of them; one that leads to a folder around it ends there."""
    (place / "packages" / "lib").mkdir(parents=True)
    (place / "packages" / "lib" / "a.py").write_text("a = 1\n")
    (place / "code" / "lib").symlink_to("../packages/lib")
    (place / "code" / "again.py").symlink_to("index.py")
    (place / "code" / "self").symlink_to(".")

    assert package_of(place) == {"index.py": "x = 1\n", "again.py": "x = 1\n", "lib/a.py": "a = 1\n"}


def test_links_inside_the_repository_are_packed(place, tmp_path):
    """A repository of several projects is one project."""
    (tmp_path / ".git").mkdir()
    (place / "code" / "shared").symlink_to("../../shared")

    assert "shared/index.py" in package_of(place)


def test_folder_outside_that_the_file_names_is_packed(place):
    """Who writes a path means it; links in that folder lead no further."""
    assert package_of(place, "../shared") == {"index.py": "x = 1\n"}


@pytest.mark.parametrize(
    "props",
    [
        "{functionName: api, runtime: python3.10, handler: i.h, code: '${file(../shadow)}'}",
        "{functionName: api, runtime: python3.10, handler: i.h, code: code, '${file(../shadow)}': 1, x: 1}",
        "{functionName: api, runtime: python3.10, handler: i.h, code: code, timeout: '${file(../shadow)}'}",
        "{functionName: api, runtime: python3.10, handler: i.h, code: code, logConfig: '${json(file(../shadow))}'}",
        "{functionName: api, runtime: python3.10, handler: i.h, code: code,"
        " triggers: [{triggerName: t, triggerType: '${file(../shadow)}'}]}",
        "{functionName: api, runtime: python3.10, handler: i.h, code: code,"
        " triggers: [{triggerName: '${file(../shadow)}', triggerType: http},"
        " {triggerName: '${file(../shadow)}', triggerType: http}]}",
    ],
)
def test_no_problem_repeats_what_a_file_holds(place, props):
    """Whatever becomes of the text, its message names the file."""
    said = problems_of(place, f"edition: 3.0.0\nresources:\n  api:\n    component: fc3\n    props: {props}\n")

    assert "very/secret" not in said
    assert "root:$6" not in said


def test_file_that_is_extended_is_not_repeated_when_it_is_no_yaml(place):
    """Its name and place are said."""
    (place.parent / "shadow").write_text("a: b: secret-word\n")

    said = problems_of(place, "edition: 3.0.0\nextend: ../shadow\nresources: {}\n")

    assert "../shadow:1:5: not valid YAML" in said
    assert "secret-word" not in said


SHARED = "system-network:!*:20263:\nsystem-time:!*:20264:\nsystem-time:!*:20264:again\n"


@pytest.mark.parametrize("form", ["{}", "{!r}", "before {} after"])
def test_lines_that_begin_alike_are_all_concealed(form):
    """None is left over from another's beginning, and lines in a row are told once."""
    findings = Findings()
    findings.conceal("shadow", SHARED)

    said = findings.shown(form.format(SHARED))

    assert said.count("(contents of shadow)") == 1
    assert not any(part in said for part in ("system", "network", "time", "202", "again"))


def test_messages_of_services_are_shown_without_concealed_lines():
    """What an emulator answers goes through the same."""
    findings = Findings()
    findings.conceal("../shadow", f'{SECRET}\npass"word "quoted"\n')

    said = findings.shown(f"InvalidArgument: functionName '{SECRET}' is invalid; 'pass\\\"word \\\"quo'")

    assert said == "InvalidArgument: functionName '(contents of ../shadow)' is invalid; '(contents of ../shadow)'"
