"""The page in a real browser: Chromium of the system, driven by Playwright.

Skipped, with the reason, where either is not installed: pip install 'simcomplete[browser]', apt-get install chromium.
SIMCOMPLETE_BROWSER names another browser of the kind.
"""

import re
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from serve.live import running
from simcomplete._serve.answers import Served
from simcomplete._serve.app import Service
from simcomplete._serve.demo import demo_service
from simcomplete._serve.shown import Samples
from simcomplete.estimators import PosteriorCompleter, PosteriorImputer

pytest.importorskip("uvicorn")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra `browser`)")

HOSTILE = "<img src=x onerror=\"document.title='broken'\">"
expect = playwright.expect


@pytest.fixture(scope="module")
def digits():
    with running(demo_service("digits")) as port:
        yield f"http://127.0.0.1:{port}/"


@pytest.fixture(scope="module")
def wine():
    with running(demo_service("wine")) as port:
        yield f"http://127.0.0.1:{port}/"


@contextmanager
def opened(browser, address, width=1280, scheme="light", **more):
    """A page that must neither complain nor ask anybody but the service."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **more)
    page = context.new_page()
    page.set_default_timeout(10_000)
    wrong, asked = [], []
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    try:
        yield page
        assert wrong == []
        assert all(url.startswith(address) for url in asked)
    finally:
        context.close()


def neighbours(page, which):
    return page.locator(f"#by-{which} .name, #by-{which} td:first-child").all_inner_texts()


def pixel(page, x, y, side=8):
    """Where the middle of a pixel of the drawing is on the screen."""
    box = page.locator("canvas.drawing").bounding_box()
    return box["x"] + box["width"] * (x + 0.5) / side, box["y"] + box["height"] * (y + 0.5) / side


def drag(page, start, end):
    page.mouse.move(*pixel(page, *start))
    page.mouse.down()
    page.mouse.move(*pixel(page, *end), steps=6)
    page.mouse.up()


def choose(page, word):
    page.get_by_role("radio", name=word, exact=True).check(force=True)


def hidden(page):
    return int(page.locator(".count").inner_text().split()[0])


def test_hiding_with_the_mouse_changes_neighbours(browser, digits):
    with opened(browser, digits) as page:
        expect(page.locator("#by-posterior li")).to_have_count(10)
        page.get_by_role("button", name="Show all").click()
        expect(page.locator("#verdict")).to_have_text(re.compile("overlap finds 10 and posterior 10"))
        assert neighbours(page, "overlap") == neighbours(page, "posterior")
        before, full = neighbours(page, "posterior"), page.locator("#confidence .number").inner_text()
        assert full == "100 %" and page.locator("#by-posterior .mark", has_text="true").count() == 10
        choose(page, "Square")
        drag(page, (0, 0), (7, 4))
        assert hidden(page) == 40
        expect(page.locator("#confidence .number")).not_to_have_text(full)
        expect(page.locator("#by-posterior .name")).not_to_have_text(before)
        assert neighbours(page, "posterior") != before
        assert neighbours(page, "posterior") != neighbours(page, "overlap")
        assert page.locator("#by-posterior .range").count() == 10 and page.locator("#by-overlap .range").count() == 0
        assert page.locator("#by-posterior .truth").count() == 10
        hits = page.locator("#by-posterior li.hit").count()
        expect(page.locator("#by-posterior .hits")).to_have_text(f"{hits} of 10 true")


def test_brush_stripes_random_and_drawing(browser, digits):
    with opened(browser, digits) as page:
        expect(page.locator("#by-posterior li")).to_have_count(10)
        page.get_by_role("button", name="Show all").click()
        drag(page, (0, 0), (5, 0))
        assert hidden(page) == 6
        choose(page, "Stripes")
        drag(page, (3, 2), (3, 3))
        assert hidden(page) == 6 + 16
        choose(page, "Show")
        drag(page, (3, 2), (3, 2))
        assert hidden(page) == 6 + 8
        page.get_by_label("Random").fill("50")
        assert hidden(page) == 32
        page.get_by_role("button", name="Blank picture").click()
        choose(page, "Brush")
        drag(page, (4, 1), (4, 6))
        expect(page.locator("#by-posterior .name").first).to_have_text(re.compile("^1 "))  # a stroke is a one
        page.locator(".samples button").nth(3).click()
        assert page.locator(".samples button").nth(3).get_attribute("aria-pressed") == "true"


def test_pictures_by_keyboard(browser, digits):
    with opened(browser, digits) as page:
        expect(page.locator("#by-posterior li")).to_have_count(10)
        page.get_by_role("button", name="Show all").click()
        page.locator("canvas.drawing").focus()
        for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Space", "ArrowRight", "Space"):
            page.keyboard.press(key)
        assert hidden(page) == 2
        expect(page.locator("#spoken")).to_have_text(re.compile("finds|Row 2, column 3: hidden"))
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowRight")  # radio buttons follow the arrows
        assert page.get_by_role("radio", name="Show", exact=True).is_checked()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_screen(browser, digits, wine, width, scheme):
    for address in (digits, wine):
        with opened(browser, address, width, scheme) as page:
            expect(page.locator("#by-posterior li, #by-posterior tbody tr")).to_have_count(10)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            # Everything that can be used has a name, and is in the order of the keyboard.
            unnamed = page.evaluate(
                """() => [...document.querySelectorAll("button, input, textarea, canvas[tabindex], a")].filter(
                     (each) => !(each.getAttribute("aria-label") || each.innerText?.trim() || each.labels?.length)
                   ).map((each) => each.outerHTML)"""
            )
            assert unnamed == []
            light = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(243, 245, 247)"
            assert light == (scheme == "light")


@pytest.mark.parametrize(
    ("kind", "width", "first"), [("digits", 390, "ol li"), ("digits", 1280, "ol li"), ("wine", 1280, "tr")]
)
def test_both_lists_begin_at_the_same_height(browser, kind, width, first, request):
    """Whatever the words above them are, and however many lines they take."""
    with opened(browser, request.getfixturevalue(kind), width=width) as page:
        tops = [page.locator(f"#by-{which} {first}").first.bounding_box()["y"] for which in ("overlap", "posterior")]
        assert tops[0] == pytest.approx(tops[1], abs=1)


def test_a_table_is_typed_slid_and_pasted(browser, wine):
    with opened(browser, wine) as page:
        expect(page.locator("#by-posterior tbody tr")).to_have_count(10)
        page.get_by_role("button", name="Show all").click()
        expect(page.locator("#verdict")).to_have_text(re.compile("overlap finds 10 and posterior 10"))
        page.get_by_role("button", name="Blank alcohol").click()
        expect(page.locator("#feature-0-expected")).to_have_text(re.compile("expected, ± "))
        assert float(page.locator("#feature-0").get_attribute("placeholder")) > 10
        page.get_by_label("alcohol", exact=True).fill("14,2")
        expect(page.locator("#feature-0-expected")).to_have_text("")
        page.get_by_label("alcohol, slider").fill("0")
        assert float(page.locator("#feature-0").input_value()) < 11.5
        before = neighbours(page, "posterior")
        page.get_by_label("Paste a row").fill("magnesium\tproline\tcolour of the label\n127\t1600\tred\n")
        page.get_by_role("button", name="Use this row").click()
        expect(page.locator("#verdict")).to_have_text(re.compile("is not known"))
        assert page.locator("#feature-4").input_value() == "127" and page.locator("#feature-0").input_value() == ""
        expect(page.locator("#by-posterior .mark")).to_have_count(0)
        assert neighbours(page, "posterior") != before
        page.get_by_role("button", name="Clear").click()
        expect(page.locator("#verdict")).to_have_text(re.compile("nothing to compare"))


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("a\tA\n1\t2", ["A", "a"], [2, 1]),
        ("B\tc\n1\t2", ["b", "C"], [1, 2]),
        ("B\tb\n1\t2", ["b", "c"], "b was pasted more than once"),
        ("AA\taa\n1\t2", ["Aa", "aA", "x"], "No feature is called"),
        ("\u22121.5\t2,5", ["a", "b"], [-1.5, 2.5]),
        ("1;;n/a", ["a", "b", "c"], [1, None, None]),
        ('"1.5","2"', ["a", "b"], [1.5, 2]),
        ("1\n2", ["a", "b"], [1, 2]),
        ("1e999\t2", ["a", "b"], "is no number"),
        ("1\t2\t3", ["a", "b"], "3 cells were pasted"),
    ],
)
def test_what_a_spreadsheet_gives(browser, wine, text, names, expected):
    with opened(browser, wine) as page:
        found = page.evaluate(
            """async ([text, names]) => {
                 const paste = await import("/page/paste.js");
                 try { return paste.readRow(text, names); } catch (error) { return error.message; }
               }""",
            [text, names],
        )
    assert found == expected if isinstance(expected, list) else expected in found


def test_hostile_text_is_shown_as_text(browser, wine):
    with opened(browser, wine) as page:
        expect(page.locator("#by-posterior tbody tr")).to_have_count(10)
        page.get_by_label("Paste a row").fill("\t".join([HOSTILE] * 13))
        page.get_by_role("button", name="Use this row").click()
        expect(page.locator("#paste-problem")).to_contain_text(HOSTILE[:40])
        page.get_by_label("alcohol", exact=True).fill(HOSTILE)
        expect(page.locator("#problem")).to_contain_text(HOSTILE[:40])
        page.get_by_label("alcohol", exact=True).fill("13")
        expect(page.locator("#problem")).to_be_hidden()
        assert page.title() == "simcomplete" and page.locator("main img").count() == 0


@pytest.mark.parametrize("kind", ["pictures", "table"])
def test_names_from_elsewhere_are_shown_as_text(browser, kind):
    rng = np.random.default_rng(0)
    T = rng.random((60, 6))
    ids = [f"{HOSTILE} {i}" for i in range(60)]
    model = PosteriorCompleter(effort="fast", shape=(2, 3) if kind == "pictures" else None).fit(T, ids=ids)
    names = None if kind == "pictures" else [f"{HOSTILE} {i}" for i in range(6)]
    payloads = {key: {"label": HOSTILE} for key in ids}
    service = Service(replace(Served.of(model, payloads=payloads), names=names), samples=Samples(T[:3], (HOSTILE,)))
    with running(service) as port, opened(browser, f"http://127.0.0.1:{port}/", 390) as page:
        expect(page.locator("#by-posterior li, #by-posterior tbody tr")).to_have_count(10)
        assert all(HOSTILE in name for name in neighbours(page, "posterior"))
        if kind == "table":
            assert page.locator(".features label").first.inner_text() == f"{HOSTILE} 0"
        assert page.title() == "simcomplete" and page.locator("main img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_token_is_asked_for_as_a_password(browser):
    token = "a-token-of-some-length"
    with running(demo_service("wine"), token=token) as port:
        known = {"http_credentials": {"username": "x", "password": token}}
        with opened(browser, f"http://127.0.0.1:{port}/", **known) as page:
            expect(page.locator("#by-posterior tbody tr")).to_have_count(10)


def test_the_page_of_an_imputer_fills_in(browser):
    rng = np.random.default_rng(0)
    T = rng.standard_normal((100, 1)) * [1.0, 10.0, 100.0] + 0.01 * rng.standard_normal((100, 3))
    service = Service(Served.of(PosteriorImputer(effort="fast").fit(T)))
    with running(service) as port, opened(browser, f"http://127.0.0.1:{port}/") as page:
        page.get_by_label("feature 1", exact=True).fill("1")
        expect(page.locator("#feature-1")).to_have_attribute("placeholder", re.compile(r"^(9|10)\."))
        expect(page.locator("#feature-1-expected")).to_have_text(re.compile("expected"))
        expect(page.locator("#neighbours")).to_be_hidden()


def test_a_service_that_has_gone_is_told(browser):
    with running(demo_service("wine")) as port:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{port}/")
        expect(page.locator("#by-posterior tbody tr")).to_have_count(10)
    page.get_by_label("alcohol", exact=True).fill("13")
    expect(page.locator("#problem")).to_have_text(re.compile("does not answer"))
    context.close()
