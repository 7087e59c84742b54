"""Every page of the site in a real browser: no console error, no missing picture, no sideways scrolling on a phone.

Skipped, with the reason, where the site was not built (`make docs`) or no browser can be driven.
"""

import importlib.util
import re
from pathlib import Path

import pytest

SITE = Path(__file__).parent.parent / "site"
pytestmark = pytest.mark.skipif(not (SITE / "index.html").exists(), reason="the site is not built: make docs")
# The theme lets the middle of a page scroll sideways, where the page itself does not.
WIDER = """Math.max(...[document.documentElement, ...document.querySelectorAll(".page, .main, .content")]
    .map(one => one.scrollWidth - one.clientWidth))"""
MISSING = "[...document.images].filter(image => !image.naturalWidth).map(image => image.src)"
# What needs scrolling on a screen of 1280 pixels: code, tables and formulae that are wider than the text.
CUT = """[...document.querySelectorAll("article pre, article .table-wrapper, article .math-block")]
    .filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.innerText.slice(0, 200))"""
# Levels of headings that are left out; pictures without alternative text, but for thumbnails beside their title.
UNCLEAR = """(() => {
    const levels = [...document.querySelectorAll("article :is(h1, h2, h3, h4, h5)")].map(one => +one.tagName[1]);
    const wrong = levels.filter((level, at) => level > (at ? levels[at - 1] : 0) + 1).map(level => "h" + level);
    const mute = [...document.querySelectorAll("article img:not([alt]), article img[alt='']")];
    return wrong.concat(mute.filter(one => !one.closest(".sphx-glr-thumbcontainer")).map(one => one.src));
})()"""


def problems(page, name, width):
    """What a reader would find wrong with the page that is open."""
    yield from page.evaluate(MISSING)
    if page.evaluate(WIDER) > 0:
        yield "it scrolls sideways"
    if name.parts[0] != "_modules":
        yield from page.evaluate(UNCLEAR)
        if " object at 0x" in page.inner_text("body"):
            yield "it shows the address of an object"
        if width >= 1280:
            yield from page.evaluate(CUT)


# Words of the glossary that a page uses in its text, and to which none of its links leads.
UNLINKED = """words => words.filter(([word, pattern]) => {
    const used = new RegExp(pattern, "i");
    const prose = [...document.querySelectorAll("article p")].map(paragraph => {
        const text = paragraph.cloneNode(true);
        text.querySelectorAll("a:not(.glossary-link), code, em, cite, .math, math").forEach(one => one.remove());
        return text.innerText;
    });
    return prose.some(text => used.test(text)) && !document.querySelector(`a[href$="#term-${word.replace(" ", "-")}"]`);
}).map(([word]) => word)"""


def glossary_words():
    """The words that the site links, with their patterns; those of the extension itself."""
    spec = importlib.util.spec_from_file_location("glossary_links", SITE.parent / "docs" / "_ext" / "glossary_links.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.WORDS.items())


def test_every_page_links_the_words_of_the_glossary(browser):
    pytest.importorskip("docutils", reason="what the site is made with (extra `docs`)")
    words = glossary_words()
    assert len(words) == 7
    page = browser.new_page()
    missing = {}
    for path in sorted(SITE.rglob("*.html")):
        name = path.relative_to(SITE)
        if name.parts[0] == "_modules" or name.stem in {"glossary", "search", "genindex"}:
            continue
        page.goto(path.as_uri())
        if found := page.evaluate(UNLINKED, words):
            missing[str(name)] = found
    page.close()
    assert not missing


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_page_is_whole(browser, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    errors, asked = [], []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    pages = sorted(SITE.rglob("*.html"))
    assert len(pages) > 60
    wrong = {}
    for path in pages:
        page.goto(path.as_uri())
        name = path.relative_to(SITE)
        if found := [*problems(page, name, width), *errors]:
            wrong[str(name)] = found
        errors.clear()
    assert not wrong
    assert all(url.startswith(("file://", "data:")) for url in asked)
    context.close()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gallery/rows_on_disk", ["candidates"]),
        ("results", ["posterior", "overlap-similarity", "coverage", "candidates", "queries"]),
    ],
)
def test_the_first_use_of_a_word_leads_to_the_glossary(name, words):
    links = re.findall(
        r'class="glossary-link[^>]*#term-([a-z-]+)"', (SITE / f"{name}.html").read_text(encoding="utf-8")
    )
    assert links[: len(words)] == words


def test_search_works_from_disk(browser):
    page = browser.new_page()
    page.goto((SITE / "search.html").as_uri() + "?q=imputer")
    page.wait_for_selector("#search-results li", timeout=20_000)
    assert page.locator("#search-results li").count() >= 2
    page.close()
