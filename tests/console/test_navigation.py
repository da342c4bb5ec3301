"""The frame of all pages: five groups, where theme and language are, narrow and very wide screens."""

import pytest
from selenium.webdriver.common.by import By

from emulator.console.app import THEME_COOKIE
from tests.console.browser import resize
from tests.console.walking import ROOT, eventually, opened, press, speak, texts

GROUPS = ["Run", "Messages", "Flows", "Functions", "Lab"]


@pytest.fixture
def sized(console):
    """Gives the page a width, and takes it back."""
    yield lambda width, theme="": resize(console, width, 900, theme)
    resize(console, 1280, 900)
    console.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def unchosen(console, localyun):
    """Forget which theme was chosen."""
    cookie = {"name": THEME_COOKIE, "url": f"{localyun.endpoint}{ROOT}/", "path": ROOT}
    console.execute_cdp_cmd("Network.deleteCookies", cookie)


@pytest.mark.parametrize(
    ("page", "group", "place"),
    [
        ("/", "Run", "Overview"),
        ("/queues/orders", "Messages", "Queues"),
        ("/topics/reminders/deliveries/inbox/{message}", "Messages", "Topics"),
        ("/flows/approve/executions/first", "Flows", "Flows"),
        ("/schedules", "Flows", "Schedules"),
        ("/triggers", "Functions", "Triggers"),
        ("/buckets", "Functions", "Buckets"),
        ("/requests/{refused}", "Run", "Requests"),
        ("/mocks", "Lab", "Mocks"),
        ("/new/queue", "Messages", "Queues"),
        ("/new/trigger?in=hello", "Functions", "Functions"),
        ("/design/approve", "Flows", "Flows"),
    ],
)
def test_each_page_stands_in_one_of_five_groups(console, localyun, page, group, place):
    """The group and the page in it are marked, for eyes and for screen readers."""
    speak(console, localyun, "en")

    opened(console, localyun, page)

    assert texts(console, "nav .groups a") == GROUPS
    assert texts(console, "nav .groups a[aria-current]") == [group]
    assert texts(console, "nav .pages a[aria-current=page]") == [place]


def test_language_and_theme_stand_at_the_top_and_are_kept(console, localyun):
    """Both are buttons of the header; the page stays the same."""
    speak(console, localyun, "en")
    opened(console, localyun, "/queues")

    press(console, "header form.theme.when-light button")
    assert eventually(console, lambda: console.find_element(By.TAG_NAME, "html").get_attribute("data-theme") == "dark")
    press(console, "header form.language button")
    assert eventually(console, lambda: texts(console, "h1") == ["队列"])
    press(console, "header form.theme.when-dark button")
    assert eventually(console, lambda: console.find_element(By.TAG_NAME, "html").get_attribute("data-theme") == "light")

    assert console.current_url.endswith("/queues")


@pytest.mark.parametrize(("scheme", "offered"), [("light", ["Dark"]), ("dark", ["Light"])])
@pytest.mark.parametrize("chosen", [False, True])
def test_only_the_other_theme_is_offered(console, localyun, sized, scheme, offered, chosen):
    """Whether the browser is set to the present one or the reader has chosen it against the browser."""
    speak(console, localyun, "en")
    unchosen(console, localyun)
    other = "light" if scheme == "dark" else "dark"
    sized(1280, other if chosen else scheme)
    opened(console, localyun, "/queues")
    if chosen:
        press(console, f"header form.theme.when-{other} button")
        assert eventually(
            console, lambda: console.find_element(By.TAG_NAME, "html").get_attribute("data-theme") == scheme
        )

    buttons = console.find_elements(By.CSS_SELECTOR, "header form.theme button")
    assert [each.text for each in buttons if each.is_displayed()] == offered
    unchosen(console, localyun)


def test_navigation_folds_on_a_telephone(console, localyun, sized):
    """It takes one line until its button is pressed."""
    speak(console, localyun, "en")
    sized(390)
    opened(console, localyun, "/queues")
    assert console.find_element(By.TAG_NAME, "header").size["height"] < 70
    assert texts(console, "nav .groups a") == [""] * 5

    press(console, "header .fold")

    assert eventually(console, lambda: texts(console, "nav .groups a") == GROUPS)
    console.find_element(By.LINK_TEXT, "Topics").click()
    assert eventually(console, lambda: console.current_url.endswith("/topics"))


def test_a_very_wide_screen_is_used(console, localyun, sized):
    """At 2,560 px tables reach from side to side, and the overview's sections stand beside each other."""
    sized(2560)
    opened(console, localyun, "/queues")
    assert console.find_element(By.CSS_SELECTOR, "main table").size["width"] > 2400

    opened(console, localyun, "/")

    needs = console.find_element(By.CSS_SELECTOR, "section[aria-labelledby=needs]").location
    latest = console.find_element(By.CSS_SELECTOR, "section[aria-labelledby=latest]").location
    assert abs(needs["y"] - latest["y"]) < 2
    assert latest["x"] > needs["x"] + 1000
