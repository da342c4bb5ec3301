"""Every table says whose its rows are, or belongs to the installation."""

from emulator.app import _SCHEMAS
from emulator.lab.service import OBJECTS, OF_INSTALLATION, PARTS
from emulator.storage.database import Database
from emulator.storage.migration import migrate


def test_no_table_is_forgotten_when_an_account_is_removed():
    """A table names the account, the number of a world, or is listed."""
    database = Database(None)
    migrate(database, _SCHEMAS)
    names = {row[0] for row in database.read("SELECT name FROM sqlite_master WHERE type = 'table'")}
    columns = {name: {row[1] for row in database.read(f'PRAGMA table_info("{name}")')} for name in names}

    owned = {name for name in names if columns[name] & {"account", "world"}}

    assert names - {"sqlite_sequence"} == owned | set(PARTS) | set(OBJECTS) | OF_INSTALLATION
    assert not owned & (set(PARTS) | OF_INSTALLATION)
