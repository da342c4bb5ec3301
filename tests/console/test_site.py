"""The documentation site, opened as files, as from an unpacked archive: search, the choice of languages, pictures."""

import pytest
from selenium.webdriver.common.by import By

from tests import ready_site
from tests.console.browser import resize
from tests.console.walking import eventually

HIT = ".md-search-result__item a"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the site."""
    pytest.importorskip("material", reason="python3 dev.py docs installs what builds the site")
    return ready_site.built(tmp_path_factory).as_uri()


PAGES = {"english": "sdks/node.html", "chinese": "zh-CN/exec.html"}
_EMPTY = "arguments[0].value = ''; arguments[0].dispatchEvent(new KeyboardEvent('keyup', { bubbles: true }));"


@pytest.fixture(scope="module", params=PAGES)
def language(request):
    """A language of the site: the tests in one of them share the page that `search` opens."""
    return request.param


@pytest.fixture
def search(browser, site, language):
    """Searches from the page of a language, which makes its index once: a page takes a second for that."""
    address = f"{site}/{PAGES[language]}"
    resize(browser, 1280, 900)
    browser.get_log("browser")
    if browser.current_url.split("?")[0] != address:
        browser.get(address)
    box = browser.find_element(By.CSS_SELECTOR, "input.md-search__input")
    assert box.is_displayed()
    box.click()
    browser.execute_script(_EMPTY, box)
    assert eventually(browser, lambda: not browser.find_elements(By.CSS_SELECTOR, HIT))
    return box.send_keys


def test_search_finds_pages_without_a_server(browser, site, search, language):
    """The box is there, and what it lists leads to files of the site."""
    words, found = {"english": ("visibility timeout", "/commands.html"), "chinese": ("触发器", "/zh-CN/")}[language]

    search(words)
    assert eventually(browser, lambda: browser.find_elements(By.CSS_SELECTOR, HIT))

    hits = [each.get_attribute("href") for each in browser.find_elements(By.CSS_SELECTOR, HIT)]
    assert all(each.startswith(site) for each in hits)
    assert any(found in each for each in hits)


def test_search_keeps_to_the_language_of_the_page_and_to_whole_words(browser, search, language):
    """A word of two characters is not searched for by its first; the browser reports no error."""
    words = {"english": "settle", "chinese": "重试"}[language]

    def marks():
        return {each.get_attribute("textContent") for each in browser.find_elements(By.CSS_SELECTOR, f"{HIT} mark")}

    search(words)

    assert eventually(browser, lambda: marks() and all(words in each.lower() for each in marks()))
    hits = {each.get_attribute("href").split("?")[0] for each in browser.find_elements(By.CSS_SELECTOR, HIT)}
    assert {"/zh-CN/" in each for each in hits} == {language == "chinese"}
    assert browser.get_log("browser") == []


def test_search_for_a_pasted_message_begins_with_the_page_of_messages(browser, search):
    """Other pages have one of its words more often, but no section that has them all."""

    def first():
        return [each.get_attribute("href") for each in browser.find_elements(By.CSS_SELECTOR, HIT)][:1]

    search("Handler 'handle' is missing on module")

    assert eventually(browser, lambda: [each for each in first() if "/troubleshooting.html" in each])


@pytest.mark.parametrize(
    ("page", "tabs", "beside"),
    [
        ("exec.html", {"Start", "Testing", "中文"}, "Quick start"),
        ("zh-CN/exec.html", {"入门", "测试", "English"}, "部署"),
    ],
    ids=["english", "chinese"],
)
def test_tabs_are_in_the_language_of_the_page(browser, site, page, tabs, beside):
    """Those of Chinese pages are Chinese, but for the way back; the tab and the neighbours of the page are there."""
    resize(browser, 1400, 900)
    browser.get(f"{site}/{page}")

    shown = browser.find_elements(By.CSS_SELECTOR, ".md-tabs__link")
    active = browser.find_element(By.CSS_SELECTOR, ".md-tabs__item--active").text
    assert tabs <= {each.text for each in shown}
    assert any(each.text == "Start" for each in shown) is (page == "exec.html")
    assert active in {"Your project", "您的项目"}
    assert beside in browser.find_element(By.CSS_SELECTOR, ".md-sidebar--primary").get_attribute("textContent")


@pytest.mark.parametrize(
    ("page", "language", "there"),
    [("exec.html", "zh", "zh-CN/exec.html"), ("zh-CN/sdks/node.html", "en", "sdks/node.html")],
)
def test_choice_of_languages_leads_to_the_same_page(browser, site, page, language, there):
    """In the header, as at the top of the page."""
    browser.get(f"{site}/{page}")

    link = browser.find_element(By.CSS_SELECTOR, f".md-select__link[hreflang={language}]")

    assert link.get_attribute("href") == f"{site}/{there}"


def test_picture_of_a_flow_stands_without_its_source(browser, site):
    """Its file is there for who wants it, folded away."""
    browser.get(f"{site}/tutorials/callback.html")

    source = browser.find_element(By.XPATH, "//details[starts-with(summary, 'The flow as text')]")

    assert source.get_attribute("open") is None
    assert browser.find_element(By.CSS_SELECTOR, "img[src$='callback.svg']").is_displayed()
    assert "resourceArn" not in browser.find_element(By.TAG_NAME, "article").text
