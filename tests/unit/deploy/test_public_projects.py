"""What published projects of Serverless Devs say that is no plain component with plain values; names are made up."""

import pytest

from emulator.deploy.layers_used import without_foreign_layers
from emulator.deploy.model import FileProblems, Refused
from tests.unit.deploy.conftest import WORLD

FUNCTION = "functionName: NAME, runtime: python3.10, handler: index.handler, code: ./code"


def project(props, component="fc3", edition="3.0.0"):
    section = "services" if edition < "3" else "resources"
    head = f"edition: {edition}\nname: shop\naccess: '{{{{ access }}}}'\n{section}:\n"
    return f"{head}  api:\n    component: {component}\n    props: {props}\n"


def function(name="api", more=""):
    return "{" + FUNCTION.replace("NAME", name) + more + "}"


def problems_of(blueprint, text):
    with pytest.raises(FileProblems) as caught:
        blueprint(text)
    return [f"{each.line}: {each.text}" for each in caught.value.problems]


@pytest.mark.parametrize(
    ("name", "line"),
    [("'{{ functionName }}'", 7), ("start-{{functionName}}", 7), ("{{ functionName }}", 7), ("'{{- a.b -}}'", 7)],
)
def test_place_that_nobody_has_filled_in_is_refused_with_what_fills_it_in(blueprint, name, line):
    """In quotes, within a name, and bare, which is no YAML of the kind meant."""
    problems = problems_of(blueprint, project(function(name)))

    assert any(
        each.startswith(f"{line}: ") and "is a placeholder: create the project with s init" in each for each in problems
    )


def test_bare_places_are_reported_together_and_not_in_comments(blueprint):
    """Everything that has to be filled in is said at once."""
    text = (
        "edition: 1.0.0\n# {{ ignored }}\nvars:\n  region: {{ region }} # {{ too }}\n  name: {{ name }}\nservices: {}\n"
    )

    assert [each.partition(" is")[0] for each in problems_of(blueprint, text)] == ["4: {{ region }}", "5: {{ name }}"]


def test_texts_for_programs_may_hold_such_marks(resources):
    """A template of the program's own in its environment is none of the project."""
    found = resources(project(function(more=", environmentVariables: {MAIL: 'Dear {{ name }}'}")))

    assert found["fc3.function", "api"].properties["environmentVariables"]["MAIL"] == "Dear {{ name }}"


@pytest.mark.parametrize(
    "component",
    ["${path('../..')}", "${path(../..)}", "../../..", "${env('COMPONENT', path('../../../'))}", "/opt/components/x"],
)
def test_component_in_a_folder_is_known_by_its_properties(blueprint, component):
    """The examples of the components themselves name their own folder; a note says as what it is read."""
    found, notes = blueprint(project(function(), f'"{component}"'))

    assert [each.kind for each in found.resources] == ["fc3.function"]
    assert any("is read as fc3" in note.text for note in notes)


@pytest.mark.parametrize("component", ["${path('../..')}", "devsapp/nodejs-runtime", "fc-deploy@0.1"])
def test_older_components_are_read_as_fc(blueprint, component):
    """They took what it takes."""
    props = "{service: {name: s}, function: {name: f, runtime: nodejs12, handler: index.handler, codeUri: ./code}}"

    found, _ = blueprint(project(props, f'"{component}"', "1.0.0"))

    assert [each.kind for each in found.resources] == ["fc.service", "fc.function"]


def test_component_fc_asks_for_no_handler(resources):
    """The API does; those of custom runtimes have none that means anything."""
    props = "{service: {name: s}, function: {name: f, runtime: custom, codeUri: ./code}}"

    assert resources(project(props, "fc", "1.0.0"))["fc.function", "s/f"].properties["handler"] == "index.handler"


def test_component_in_a_folder_that_cannot_be_told_is_refused(blueprint):
    """No properties, no guess."""
    assert problems_of(blueprint, project("{}", "../.."))[0].endswith("name it, such as fc3")


def test_environment_has_a_name(blueprint):
    """A service is called after it in the component's own example."""
    props = (
        "{service: {name: 'svc-${environment.name}', vpcConfig: {vpcId: '${environment.outputs.vpcId}'}},"
        " function: {name: f, runtime: nodejs12, handler: index.handler, codeUri: ./code}}"
    )

    found, notes = blueprint(project(props, "fc", "1.0.0"))

    assert found.resources[0].identity == ("svc-testing",)
    assert any("testing is used" in note.text for note in notes)


@pytest.mark.parametrize(
    ("kind", "config", "source"),
    [
        ("tablestore", "{instanceName: abc, tableName: test}", "acs:ots:cn-hangzhou:123456:instance/abc/table/test"),
        ("log", "{logConfig: {project: p, logstore: l}}", "acs:log:cn-hangzhou:123456:project/p"),
        ("cdn_events", "{eventName: LogFileCreated, eventVersion: 1.0.0}", "acs:cdn:*:123456"),
    ],
)
def test_source_of_a_trigger_is_what_its_configuration_names(resources, kind, config, source):
    """Component fc has no sourceArn for these."""
    props = (
        "{service: {name: s}, function: {name: f, runtime: nodejs12, handler: index.handler, codeUri: ./code},"
        f" triggers: [{{name: t, type: {kind}, config: {config}}}]}}"
    )

    trigger = resources(project(props, "fc", "1.0.0"))["fc.trigger", "s/f/t"].properties

    assert trigger["sourceArn"] == source
    assert "instanceName" not in trigger["triggerConfig"]


def test_role_of_a_service_may_be_written_out(resources):
    """Component fc makes the role and its policies."""
    policy = "{name: own, statement: [{Effect: Allow, Action: a, Resource: b}]}"
    role = f"{{name: caller, policies: [AliyunFCFullAccess, {policy}]}}"
    props = (
        f"{{service: {{name: s, role: {role}}},"
        " function: {name: f, runtime: nodejs12, handler: index.handler, codeUri: ./code}}"
    )

    found = resources(project(props, "fc", "1.0.0"))

    assert found["fc.service", "s"].properties["role"] == "acs:ram::123456:role/caller"
    assert {kind for kind, _ in found} >= {"ram.role", "ram.policy", "ram.attachment"}


def test_functions_of_a_file_share_a_domain(resources):
    """Each brings its route."""
    domain = ", customDomain: {domainName: a.example.com, protocol: HTTP, route: {path: PATH}}"
    text = project(function("one", domain.replace("PATH", "/*")))
    text += "  two:\n    component: fc3\n    props: " + function("two", domain.replace("PATH", "/two")) + "\n"

    routes = resources(text)["fc3.domain", "a.example.com"].properties["routeConfig"]["routes"]

    assert [(each["functionName"], each["path"]) for each in routes] == [("one", "/*"), ("two", "/two")]


class Layers:
    """An API that has the layers of the *arns*."""

    def __init__(self, *arns):
        self.arns = arns

    def functions(self, method, path, content=None):
        if not any(path.endswith(arn.replace(":", "%3A").replace("/", "%2F")) for arn in self.arns):
            raise Refused(404, "LayerVersionNotFound", path)
        return {}


@pytest.mark.parametrize(
    ("arn", "kept", "foreign"),
    [
        ("acs:fc:cn-hangzhou:official:layers/Nodejs16/versions/1", True, None),
        ("acs:fc:cn-hangzhou:777:layers/theirs/versions/3", False, True),
        ("acs:fc:cn-beijing:123456:layers/mine/versions/1", False, True),
        ("acs:fc:cn-hangzhou:123456:layers/mine/versions/1", True, False),
        ("acs:fc:cn-hangzhou:777:layers/here/versions/1", True, None),
    ],
)
def test_layers_of_others_that_are_not_here_are_left_out(blueprint, arn, kept, foreign):
    """With a word, as those of the cloud itself; one's own is missing."""
    found, _ = blueprint(project(function(more=f", layers: ['{arn}']")))

    left, missing = without_foreign_layers(Layers("acs:fc:cn-hangzhou:777:layers/here/versions/1"), found, WORLD)

    assert left.resources[0].properties["layers"] == ([arn] if kept else [])
    assert [each.is_foreign for each in missing] == ([] if foreign is None else [foreign])
