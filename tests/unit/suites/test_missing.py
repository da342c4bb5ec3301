"""What a suite needs is asked for before it is run."""

from tests.suites.__main__ import missing
from tests.suites.makers import SUITES


def test_what_is_not_installed_is_named(tmp_path):
    """A library that its cases cannot begin without, with the words that install it; nothing once it is there."""
    suite = SUITES["mns-php"]._replace(tools=(), installed=("vendor/autoload.php", "vendor/other.php"))
    (tmp_path / "Tests").mkdir()
    (tmp_path / "Tests" / "TopicTest.php").touch()

    before = missing(suite, tmp_path)
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "other.php").touch()
    after = missing(suite, tmp_path)

    assert before.startswith("vendor/autoload.php or vendor/other.php is not there; the suite needs: apt-get install")
    assert after == ""
