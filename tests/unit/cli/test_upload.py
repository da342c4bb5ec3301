"""Packing an example's function."""

from base64 import b64decode
from io import BytesIO
from zipfile import ZipFile

from emulator.cli.tutorials import configuration, locate, zipped


def test_archive_holds_the_folder_s_files_without_caches(tmp_path):
    """Names are relative to the function's folder."""
    (tmp_path / "lib" / "__pycache__").mkdir(parents=True)
    (tmp_path / "index.py").write_text("x = 1")
    (tmp_path / "lib" / "a.py").write_text("y = 2")
    (tmp_path / "lib" / "__pycache__" / "a.pyc").write_bytes(b"\0")

    with ZipFile(BytesIO(b64decode(zipped(tmp_path)))) as archive:
        assert sorted(archive.namelist()) == ["index.py", "lib/a.py"]


def test_function_file_holds_the_configuration(tmp_path):
    """A folder without the file leaves everything to the defaults."""
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "function.yml").write_text("initializer: index.initialize\ntimeout: 5\n")

    assert configuration(tmp_path / "one") == {"initializer": "index.initialize", "timeout": 5}
    assert configuration(tmp_path) == {}


def test_examples_are_found():
    """The functions and the application of the polling tutorial are part of the installation."""
    samples = locate()

    assert (samples.functions / "fnf-demo" / "GetJobStatus" / "index.py").is_file()
    assert (samples.apps / "poll-for-task-status" / "flow.yml").is_file()
