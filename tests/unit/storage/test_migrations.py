"""Numbered schema files."""

import pytest

from emulator.storage.database import Database
from emulator.storage.migration import Schema, StateTooNew, migrate


def schema_in(folder, *scripts):
    folder.mkdir(exist_ok=True)
    for number, script in enumerate(scripts, 1):
        (folder / f"{number:04d}_step.sql").write_text(script, encoding="utf-8")
    return Schema("demo", folder)


def test_only_missing_steps_are_applied(tmp_path):
    """A file made by an older program gains what is new and keeps its rows."""
    database = Database(None)
    migrate(database, [schema_in(tmp_path / "s", "CREATE TABLE a (n);\nINSERT INTO a VALUES (1);\n")])

    migrate(database, [schema_in(tmp_path / "s", "-- applied before\n", "ALTER TABLE a ADD COLUMN m;\n")])

    assert database.read("SELECT n, m FROM a").fetchall() == [(1, None)]


def test_a_newer_file_is_refused_unchanged(tmp_path):
    """An older program does not touch what it does not know."""
    database = Database(None)
    migrate(database, [schema_in(tmp_path / "new", "CREATE TABLE a (n);", "CREATE TABLE b (n);")])

    with pytest.raises(StateTooNew, match="demo schema 2 is newer"):
        migrate(database, [schema_in(tmp_path / "old", "CREATE TABLE a (n);")])


def test_a_step_that_fails_half_way_leaves_nothing(tmp_path):
    """The next start can try again."""
    database = Database(None)

    with pytest.raises(Exception, match="syntax error"):
        migrate(database, [schema_in(tmp_path / "s", "CREATE TABLE a (n);\nCREATE NONSENSE;\n")])

    assert database.read("SELECT count(*) FROM sqlite_master WHERE name = 'a'").fetchone() == (0,)


def test_triggers_with_inner_semicolons_are_one_statement(tmp_path):
    """A schema may hold triggers."""
    database = Database(None)
    script = (
        "CREATE TABLE a (n);\nCREATE TABLE log (n);\n"
        "CREATE TRIGGER t AFTER INSERT ON a BEGIN\n  INSERT INTO log VALUES (new.n);\nEND;\nINSERT INTO a VALUES (7);\n"
    )

    migrate(database, [schema_in(tmp_path / "s", script)])

    assert database.read("SELECT n FROM log").fetchall() == [(7,)]


def test_a_column_that_is_there_is_not_added_again(tmp_path):
    """A state that has a column from elsewhere keeps its values, and the step counts as done."""
    database = Database(None)
    migrate(database, [schema_in(tmp_path / "s", "CREATE TABLE a (n, m);\nINSERT INTO a VALUES (1, 2);\n")])

    migrate(database, [schema_in(tmp_path / "s", "-- applied before\n", "-- Why.\nALTER TABLE a ADD COLUMN m;\n")])

    assert database.read("SELECT n, m FROM a").fetchall() == [(1, 2)]
    assert database.read("SELECT version FROM schema_versions").fetchall() == [(2,)]


def test_a_number_is_given_once(tmp_path):
    """Of two files with one number a state that stops between them would miss the second."""
    schema = schema_in(tmp_path / "s", "CREATE TABLE a (n);")
    (tmp_path / "s" / "0001_another.sql").write_text("CREATE TABLE b (n);")

    with pytest.raises(ValueError, match="twice"):
        schema.steps()
