"""Names and single values are taken or refused as the API's tables say."""

from typing import Any

import pytest

from emulator.services.fc.catalog import domain_fields, fields
from emulator.services.fc.codec import BODY, check_name
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.kinds import check_alias_name, check_version_id
from emulator.services.fc.model import FunctionConfig, hook_of, initializer_of, listen_port


@pytest.mark.parametrize("name", ["a", "_a", "a-b_C9", "x" * 128])
def test_good_names_are_taken(name: str):
    """Letters, digits, underscore and hyphen, 1 to 128 of them, starting with a letter or underscore."""
    assert check_name(name, "serviceName") == name


@pytest.mark.parametrize("name", ["", None, 7, "9a", "-a", "a.b", "a/b", "a b", "..", "ä", "a\n", "x" * 129])
def test_bad_names_are_refused(name: Any):
    """Everything else is an invalid argument that names the field."""
    with pytest.raises(InvalidArgument, match="serviceName"):
        check_name(name, "serviceName")


def test_alias_must_not_be_called_latest():
    """LATEST is the head's own name."""
    with pytest.raises(InvalidArgument, match="LATEST"):
        check_alias_name("LATEST", "aliasName")


@pytest.mark.parametrize(("value", "kept"), [("1", "1"), ("007", "7"), (12, "12"), ("9999999999", "9999999999")])
def test_version_ids_are_numbers_as_text(value: Any, kept: str):
    """A version id is one to ten digits."""
    assert check_version_id(value, "versionId") == kept


@pytest.mark.parametrize("value", ["", "a", "1.0", "-1", "12345678901", None, True, "\u0661"])
def test_other_version_ids_are_refused(value: Any):
    """Anything but ASCII digits is refused."""
    with pytest.raises(InvalidArgument):
        check_version_id(value, "versionId")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("timeout", 0), ("timeout", 86_401), ("timeout", "60"), ("timeout", True), ("timeout", 1.5),
        ("memorySize", 100), ("memorySize", 64), ("memorySize", 32_832), ("memorySize", "256"),
        ("cpu", 0.07), ("cpu", 17), ("cpu", "1"), ("diskSize", 1000),
        ("instanceConcurrency", 0), ("instanceConcurrency", 201), ("instanceType", "e9"),
        ("runtime", "python9"), ("handler", ""), ("handler", "h" * 129),
        ("description", "d" * 257), ("initializationTimeout", 301), ("caPort", 70_000),
        ("environmentVariables", {"1A": "x"}), ("environmentVariables", {"FC_X": "x"}),
        ("environmentVariables", {"accessKeyID": "x"}), ("environmentVariables", {"A": 1}),
        ("environmentVariables", {"A": "x" * 4096}), ("environmentVariables", ["A"]),
        ("layers", ["a"] * 6), ("layers", "a"), ("layers", [1]),
        ("customHealthCheckConfig", {"periodSeconds": 0}), ("instanceLifecycleConfig", {"preStop": {"timeout": 91}}),
        ("customRuntimeConfig", {"command": "x"}), ("gpuMemorySize", 1000),
    ],
)  # fmt: skip
def test_values_out_of_range_are_refused(field: str, value: Any):
    """A value of the wrong type or out of its range is refused, not coerced; the message names the field."""
    with pytest.raises(InvalidArgument, match=f"(?i){field}"):
        BODY.read(fields.FUNCTION_2, {field: value})


def test_refused_size_of_the_disk_names_every_size_there_is():
    """A caller learns of the largest one too."""
    with pytest.raises(InvalidArgument, match="it must be one of 512, 10240, 61440"):
        BODY.read(fields.FUNCTION_3, {"diskSize": 1000})


def test_null_counts_as_absent_and_names_match_in_any_case():
    """Official clients send explicit nulls and, in one place, a capital letter."""
    values = BODY.read(
        fields.FUNCTION_2, {"description": None, "InstanceConcurrency": 3, "unknownField": 1, "memorySize": 512}
    )

    assert values == {"instance_concurrency": 3, "memory_mb": 512}


@pytest.mark.parametrize("name", ["accessKeyID", "accessKeySecret", "securityToken", "topic"])
def test_some_names_of_variables_are_reserved_in_the_older_generation_only(name: str):
    """2.0 keeps the old names of its own variables for itself; 3.0 keeps nothing but FC_*."""
    body = {"environmentVariables": {name: "x"}}

    kept = BODY.read(fields.FUNCTION_3, body)

    assert kept == {"environment": {name: "x"}}
    with pytest.raises(InvalidArgument, match=f"reserved name '{name}'"):
        BODY.read(fields.FUNCTION_2, body)


def test_structures_keep_their_fields_under_the_canonical_names():
    """Known fields of a structure are kept, spelled canonically; unknown ones and nulls go."""
    values = BODY.read(
        fields.SERVICE, {"vpcConfig": {"vpcId": "v", "vswitchIds": ["a"], "role": None, "other": 1}, "role": "r"}
    )

    assert values == {"vpc_config": {"vpcId": "v", "vSwitchIds": ["a"]}, "role": "r"}


@pytest.mark.parametrize(
    ("config", "wrong"),
    [
        ({"cpu": 2.0, "memory_mb": 1024}, "ratio"),
        ({"cpu": 0.05, "memory_mb": 512}, "ratio"),
        ({"instance_soft_concurrency": 3, "instance_concurrency": 2}, "instanceSoftConcurrency"),
        ({"runtime": "custom-container"}, "image"),
        ({"handler": ""}, "handler"),
    ],
)
def test_values_that_do_not_fit_each_other_are_refused(config: dict[str, Any], wrong: str):
    """Rules over several fields hold too."""
    with pytest.raises(InvalidArgument, match=wrong):
        fields.check_together(FunctionConfig(**{"runtime": "python3", "handler": "a.b", **config}))


@pytest.mark.parametrize("size", [1024, 65_536])
def test_any_multiple_of_a_gigabyte_is_a_size_of_a_graphics_memory(size: int):
    """The service names no highest size; cards grow."""
    older = BODY.read(fields.FUNCTION_2, {"gpuMemorySize": size})
    newer = BODY.read(fields.FUNCTION_3, {"gpuConfig": {"gpuType": "fc.gpu.ada.1", "gpuMemorySize": size}})

    assert (older, newer["gpu_config"]["gpuMemorySize"]) == ({"gpu_memory_mb": size}, size)


@pytest.mark.parametrize(
    ("given", "port"),
    [
        ({"custom_container": {"image": "i", "webServerMode": False}}, None),
        ({"custom_container": {"image": "i", "webServerMode": False}, "ca_port": 8000}, 8000),
        ({"custom_container": {"image": "i", "webServerMode": True}}, 8000),
        ({"description": "a container without a web server"}, 8000),
    ],
)
def test_a_change_that_turns_the_web_server_off_forgets_its_port(given: dict[str, Any], port: int | None):
    """A port that the same change names stays, and so does one that is set afterwards."""
    config = FunctionConfig(
        **{
            "runtime": "custom-container",
            "handler": "a.b",
            "ca_port": 8000,
            "custom_container": {"image": "i"},
            **given,
        }
    )

    assert fields.check_together(config, given).ca_port == port


def test_initializer_is_found_in_either_form():
    """The two generations name the initializer differently; what runs is the same."""
    old = FunctionConfig(runtime="python3", handler="a.b", initializer="a.i", initialization_timeout_s=30)
    new = FunctionConfig(
        runtime="python3", handler="a.b", lifecycle={"initializer": {"handler": "a.i", "timeout": 30}, "preStop": {}}
    )

    assert initializer_of(old) == initializer_of(new)
    assert hook_of(new, "preStop") is None


def test_port_comes_from_whatever_names_one():
    """The port of a custom runtime stands in different places in the generations; 9000 is the default."""
    plain = FunctionConfig(runtime="custom", handler="")

    assert listen_port(plain) == 9000
    assert listen_port(FunctionConfig(runtime="custom", handler="", ca_port=8080)) == 8080
    assert listen_port(FunctionConfig(runtime="custom", handler="", custom_runtime={"port": 8081})) == 8081


@pytest.mark.parametrize(
    ("tags", "reason"),
    [
        ([], "1 to 20"),
        ({}, "1 to 20"),
        ({f"k{index}": "" for index in range(21)}, "1 to 20"),
        ({"": "v"}, "key"),
        ({"k" * 129: "v"}, "key"),
        ({"k": 1}, "'k'"),
        ({"k": "v" * 257}, "'k'"),
    ],
    ids=["list", "none", "too many", "empty key", "long key", "number", "long value"],
)
def test_bad_tags_are_refused(tags: Any, reason: str):
    """A call sets 1 to 20 tags; their keys and values are texts of bounded length."""
    with pytest.raises(InvalidArgument, match=reason):
        fields.check_tags(tags)


def test_a_rewrite_rule_needs_both_parts_and_a_pattern_that_compiles():
    """A rule that is compared as it stands may hold anything."""
    rules = [{"match": "(", "replacement": "/"}]

    read = BODY.reader(domain_fields.ROUTE)({"rewriteConfig": {"equalRules": rules}}, "route")

    assert read["rewriteConfig"]["equalRules"] == rules
    with pytest.raises(InvalidArgument, match="regular expression"):
        BODY.reader(domain_fields.ROUTE)({"rewriteConfig": {"regexRules": rules}}, "route")
    with pytest.raises(InvalidArgument, match="must have match and replacement"):
        BODY.reader(domain_fields.ROUTE)({"rewriteConfig": {"equalRules": [{"match": "/"}]}}, "route")
