"""Configurations as JSON for the store: only what differs from the defaults, under the attributes' own names."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from emulator.services.fc.model import FunctionConfig, ServiceConfig

C = TypeVar("C", ServiceConfig, FunctionConfig)

_encode = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


def _rows(kind: type[Any]) -> list[tuple[str, Any]]:
    rows = []
    for entry in fields(kind):
        default = entry.default_factory() if entry.default_factory is not MISSING else entry.default
        rows.append((entry.name, default))
    return rows


_DEFAULTS = {kind: _rows(kind) for kind in (ServiceConfig, FunctionConfig)}


def config_json(config: ServiceConfig | FunctionConfig) -> str:
    """Write *config*; equal configurations give equal texts."""
    values = {}
    for name, default in _DEFAULTS[type(config)]:
        value = getattr(config, name)
        if value != default:
            values[name] = value
    return _encode(values)


def parse_config(kind: type[C], text: str) -> C:
    """Read what `config_json` wrote."""
    return with_changes(kind, json.loads(text))


def with_changes(kind: type[C], values: Mapping[str, Any]) -> C:
    """Build a configuration from attribute values as JSON has them."""
    plain: dict[str, Any] = dict(values)
    if "layers" in plain:
        plain["layers"] = tuple(plain["layers"])
    return kind(**plain)


def changes_json(changes: Mapping[str, Any]) -> str:
    """Write some attributes of a configuration."""
    return _encode(dict(changes))


def parse_changes(text: str) -> dict[str, Any]:
    """Read what `changes_json` wrote."""
    return {name: tuple(value) if name == "layers" else value for name, value in json.loads(text).items()}
