"""Every page of the site in a real browser: no console error, no missing picture, no sideways scrolling on a phone.

Skipped, with the reason, where the site was not built (`make docs`) or no browser can be driven.
"""

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

# Addresses, defaults that cannot be written, and docstrings that say nothing.
NOT_FOR_READERS = (" object at 0x", "=<factory>", "=<built-in", "Alias for field number")
# Functions and methods of the package without a link to their source; scikit-learn's own are left out.
WITHOUT_SOURCE = """[...document.querySelectorAll("dl.py:is(.function, .method, .class, .exception) > dt.sig")]
    .filter(one => !one.querySelector(".viewcode-link") && !/(get_feature_names_out|set_callbacks)$/.test(one.id))
    .map(one => one.id + " has no link to its source")"""


def problems(page, name, width):
    """What a reader would find wrong with the page that is open."""
    yield from page.evaluate(MISSING)
    if page.evaluate(WIDER) > 0:
        yield "it scrolls sideways"
    if name.parts[0] != "_modules":
        yield from page.evaluate(UNCLEAR)
        text = page.inner_text("body")
        yield from (f"it shows {sign}" for sign in NOT_FOR_READERS if sign in text)
        if name.parts[:2] == ("reference", "generated"):
            yield from page.evaluate(WITHOUT_SOURCE)
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


def test_every_page_links_the_words_of_the_glossary(browser, site_extension):
    words = list(site_extension("glossary_links").WORDS.items())
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
