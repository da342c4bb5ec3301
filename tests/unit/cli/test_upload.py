"""Packing an example's function."""

from base64 import b64decode
from io import BytesIO
from zipfile import ZipFile

from emulator.cli.samples import locate
from emulator.cli.upload import zipped


def test_archive_holds_the_folder_s_files_without_caches(tmp_path):
    """Names are relative to the function's folder."""
    (tmp_path / "lib" / "__pycache__").mkdir(parents=True)
    (tmp_path / "index.py").write_text("x = 1")
    (tmp_path / "lib" / "a.py").write_text("y = 2")
    (tmp_path / "lib" / "__pycache__" / "a.pyc").write_bytes(b"\0")

    with ZipFile(BytesIO(b64decode(zipped(tmp_path)))) as archive:
        assert sorted(archive.namelist()) == ["index.py", "lib/a.py"]


def test_examples_are_found():
    """The functions and the application of the polling tutorial are part of the installation."""
    samples = locate()

    assert (samples.functions / "fnf-demo" / "GetJobStatus" / "index.py").is_file()
    assert (samples.apps / "poll-for-task-status" / "flow.yml").is_file()
