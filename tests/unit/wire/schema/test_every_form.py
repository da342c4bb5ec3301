"""Every attribute of a resource is stored, shown and set in every form that has it: a new row needs no test of its own.

The forms are read from the rows themselves, so whoever adds one to a table adds it to these cases.
"""

import json
from pathlib import Path

import pytest

import emulator
from emulator.deploy import fc_fields, seeds, service_fields
from emulator.deploy.declared import DECLARED
from emulator.deploy.localyun_yaml import FILE
from emulator.deploy.notation import members, spellings, written_members
from emulator.deploy.places import Findings, LocatedValue
from emulator.kernel.frozen import fields_of, replace
from emulator.services.fc.catalog import fields as functions
from emulator.services.fc.codec import BODY
from emulator.services.fc.model import FunctionConfig
from emulator.services.mns.codec import XML, read_attributes
from emulator.services.mns.management.codec import PARAMETERS
from emulator.services.mns.queues.model import QUEUE
from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC, ContentFormat, SubscriptionSettings
from emulator.services.ram import codec as ram
from emulator.services.ram.model import ROLE, Role
from emulator.services.workflow import codec as workflow
from emulator.services.workflow.model import FLOW, SCHEDULE, ScheduleSettings
from emulator.storage.database import Database
from emulator.storage.migration import Schema, migrate
from emulator.storage.rows import row_of
from emulator.wire.schema.command_line import option_of, options
from emulator.wire.schema.json_schema import SCHEMAS
from emulator.wire.schema.kinds import (
    ABSENT,
    Also,
    Flag,
    Items,
    Json,
    JsonText,
    MapOf,
    Noted,
    Number,
    OneOf,
    Shape,
    Text,
    Whole,
    bare,
)
from emulator.wire.schema.markdown import markdown_table
from emulator.wire.schema.texts import show

MESSAGING = {"mns_queues": QUEUE, "mns_topics": TOPIC, "mns_subscriptions": SUBSCRIPTION}
PARAMETERS_OF = {
    "queue": (QUEUE, PARAMETERS), "topic": (TOPIC, PARAMETERS), "subscription": (SUBSCRIPTION, PARAMETERS),
    "flow": (FLOW, workflow.PARAMETERS), "schedule": (SCHEDULE, workflow.PARAMETERS), "role": (ROLE, ram.PARAMETERS),
    "changed role": (ROLE, ram.CHANGES),
}  # fmt: skip
FILES = {
    "queue": service_fields.fields_of(QUEUE), "topic": service_fields.fields_of(TOPIC),
    "subscription": service_fields.fields_of(SUBSCRIPTION), "flow": service_fields.FLOW,
    "schedule": service_fields.RUNS, "role": service_fields.fields_of(ROLE),
    "function 2.0": fc_fields.FUNCTION_2, "function 3.0": fc_fields.FUNCTION_3, "service": fc_fields.SERVICE,
}  # fmt: skip
DIALECTS = {"2016-08-15, 2021-04-06": functions.FUNCTION_2, "2023-03-30": functions.FUNCTION_3}
STORED = {**MESSAGING, "workflow_flows": FLOW, "workflow_schedules": SCHEDULE, "ram_roles": ROLE}
EXAMPLES = {
    SUBSCRIPTION: SubscriptionSettings(endpoint="http://127.0.0.1/", content_format=ContentFormat.JSON),
    SCHEDULE: ScheduleSettings("@every 1m", enabled=False),
    ROLE: Role("r", "", "{}", 3600, 0, 0),
    functions.FUNCTION_2: FunctionConfig(runtime="python3", handler="a.b"),
    functions.FUNCTION_3: FunctionConfig(runtime="python3", handler="a.b"),
}
SPECIAL = {
    "memorySize": 512, "cpu": 0.5, "diskSize": 512, "gpuMemorySize": 2048, "gpuConfig": {"gpuType": "g"},
    "environmentVariables": {"A": "b"}, "runtime": "python3.10", "Type": "DEFAULT",
}  # fmt: skip
"""Values of fields that a rule judges as well, or whose last choice is the default."""


def value_of(field):
    """Return a value as JSON holds it that is not the default."""
    if field.name in SPECIAL:
        return SPECIAL[field.name]
    match bare(field.kind):
        case Whole(low=low, high=high):
            return 7 if low is None else low + 1 if low + 1 <= high else high
        case Number():
            return 1
        case Flag(words=words):
            return next(word for word, meaning in words.items() if meaning) if words else True
        case OneOf(choices=choices):
            return sorted(choices)[-1]
        case JsonText():
            return '{"a": 1}'
        case Text():
            return "text"
        case Items() as items:
            return [value_of(field._replace(kind=items.kind))]
        case MapOf():
            return {"a": "b"}
        case Json(only="object") | Json():
            return {"a": 1}
        case Shape() as shape:
            return {each.name: value_of(each) for each in shape}
    raise AssertionError(field)


def as_text(value):
    """Return what a parameter carries."""
    return value if isinstance(value, str) else json.dumps(value)


def cases(shapes, form):
    """Return a case for each field of some shapes that *form* sets, all members of flat ones beside each other."""
    return [
        pytest.param(shape, each, id=f"{name} {each.name}")
        for name, shape in shapes.items()
        for each in shape.of_form(form)
        if not each.flat
    ]


def part_of(value):
    """Return a place in a file, and what is found to be wrong with it."""
    findings = Findings()
    return LocatedValue(value, (), {}, findings), findings


@pytest.mark.parametrize(("shape", "field"), cases(MESSAGING, "xml"))
def test_xml_sets_and_shows_an_attribute(shape, field):
    """A document with the attribute is read, and the settings with it are written again."""
    value = value_of(field)
    document = f"<{shape.title}><{field.name}>{value}</{field.name}></{shape.title}>".encode()

    change = read_attributes(shape, document)
    settable = shape.without(*(each.name for each in shape if each.shown))
    answer = dict(show(settable, "xml", _settings(shape, change), None))

    assert list(change) == [field.attribute]
    assert str(answer[field.name]) == str(value)
    assert XML.value(field, None) is ABSENT


@pytest.mark.parametrize(("kind", "field"), [
    pytest.param(kind, each, id=f"{kind} {each.name}")
    for kind, (shape, notation) in PARAMETERS_OF.items()
    for each in shape.of_form(notation.form)
    if not each.flat
])  # fmt: skip
def test_parameters_set_an_attribute(kind, field):
    """Under the name that the management API, the workflow's or that of roles has for it."""
    shape, notation = PARAMETERS_OF[kind]
    given = {field.name_in(notation.form): as_text(value_of(field))}

    change = notation.read(shape, given.get)

    assert list(change) == [field.attribute]
    assert _settings(shape, change) != _settings(shape, {})


@pytest.mark.parametrize(("shape", "field"), cases(DIALECTS, "json"))
def test_each_dialect_of_functions_sets_and_shows_a_field(shape, field):
    """A body with the field is read, and the function with it shows the same."""
    value = value_of(field)

    change = BODY.read(shape, {field.name: value})
    answer = BODY.write(shape, replace(_settings(shape, {}), **change))

    assert list(change) == [field.attribute]
    assert answer[field.name] == value or field.members is not None


@pytest.mark.parametrize("capital", [True, False], ids=["template", "s.yaml"])
@pytest.mark.parametrize(("kind", "field"), [
    pytest.param(kind, each, id=f"{kind} {each.name}")
    for kind, table in FILES.items()
    for each in table
    if not isinstance(each.kind, Noted | Also)  # what has no effect, or another form, has tests of its own
])  # fmt: skip
def test_files_set_a_property_and_an_export_writes_it(kind, field, capital):
    """A template and s.yaml give it under their names; what is written is read again as the same."""
    usual = spellings(field, capital=capital)[0]
    optional = [each._replace(required=False) for each in FILES[kind]]

    part, findings = part_of(written_members(FILES[kind], {field.name: value_of(field)}, capital=capital))
    read = members(part, optional, capital=capital)

    assert list(part.value) == [usual]
    assert findings.problems == []
    assert read == {field.name: value_of(field)}


@pytest.mark.parametrize(("shape", "field"), cases(MESSAGING, "file"))
def test_localyun_yaml_sets_an_attribute_of_messaging(shape, field):
    """The file of settings has the names of the API."""
    assert FILE.value(field, as_text(value_of(field))) is not ABSENT


@pytest.mark.parametrize(("shape", "field"), cases(seeds.SHAPES, "file"))
def test_localyun_yaml_sets_an_attribute_of_other_resources(shape, field):
    """Values have the types of YAML; one of another type is a problem at its place."""
    value = value_of(field)
    part, findings = part_of({field.name: value})
    wrong, problems = part_of({field.name: 1.5})

    read = DECLARED.read(Shape("", (field._replace(required=False),)), part)
    DECLARED.read(Shape("", (field._replace(required=False),)), wrong)

    assert read == {field.name: value}
    assert findings.problems == []
    assert [problem.text.partition(":")[0] for problem in problems.problems] == [field.name]


@pytest.mark.parametrize(("shape", "field"), cases(MESSAGING, "xml"))
def test_the_command_line_has_an_option_in_both_languages(shape, field):
    """Its help stands in the row; an attribute without a line of help would be explained by its name."""
    english, chinese = (
        next(each for each in options(shape, "xml", chinese=language) if each.name == option_of(field))
        for language in (False, True)
    )

    assert english.flags == chinese.flags
    assert english.settings["help"] == field.help[0] != ""
    assert chinese.settings["help"] == field.help[1] != ""


@pytest.mark.parametrize(("table", "field"), [
    pytest.param(table, each, id=f"{table} {each.name}") for table, shape in STORED.items() for each in shape.stored
])  # fmt: skip
def test_the_store_has_a_column(table, field, columns):
    """Every attribute that is kept has its column, of the type that its kind has."""
    assert field.attribute in columns(table)


@pytest.mark.parametrize("shape", [QUEUE, TOPIC, SUBSCRIPTION, FLOW, SCHEDULE], ids=lambda shape: shape.title)
def test_settings_come_back_from_their_row(shape):
    """What is written into the columns is read as the same settings."""
    change = {each.attribute: _kept(shape, each) for each in shape.stored if not isinstance(each.kind, Shape | Items)}
    settings = _settings(shape, change)
    row = row_of(shape)

    assert row.item(row.values(settings)) == settings
    assert {each.name for each in fields_of(settings)} == set(row.names)


@pytest.mark.parametrize("chinese", [False, True], ids=["en", "zh"])
@pytest.mark.parametrize(("shape", "field"), cases({**MESSAGING, **seeds.SHAPES}, "file"))
def test_the_documentation_has_a_row(shape, field, chinese):
    """With a line that says what it is, in both languages."""
    table = markdown_table(shape, "file", chinese=chinese)
    row = next(line for line in table.splitlines() if f"| `{field.name}` " in line)

    assert field.help[chinese] in row
    assert field.help[chinese]


@pytest.mark.parametrize(("shape", "field"), cases({**MESSAGING, **DIALECTS, **seeds.SHAPES}, "schema"))
def test_a_json_schema_says_what_is_allowed(shape, field):
    """Editors and tools learn it from there."""
    assert isinstance(SCHEMAS.reader(Shape("", (field,)))["properties"][field.name], dict)


def _settings(shape, change):
    example = EXAMPLES.get(shape)
    return shape.record(**change) if example is None else replace(example, **change)


def _kept(shape, field):
    if isinstance(field.kind, Flag):
        return True
    if isinstance(field.kind, OneOf) and field.kind.members is not None:
        return field.kind.members(value_of(field))
    return value_of(field)


@pytest.fixture(scope="module")
def columns():
    """Return what tells the columns of a table in a new database."""
    database = Database(None)
    services = Path(emulator.__file__).parent / "services"
    migrate(database, [Schema(name, services / name / "schema") for name in ("mns", "workflow", "ram")])

    def of(table):
        return {row[1] for row in database.read(f"PRAGMA table_info({table})")}

    yield of
    database.close()
