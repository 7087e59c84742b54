"""The page while the service is slow: what somebody does before the first sample has come is not undone by it."""

import re
import time
from contextlib import contextmanager

import pytest

from serve.live import running
from serve.test_browser import expect, hidden, opened, pixel
from simcomplete._serve.demo import demo_service
from simcomplete._serve.shown import Samples

SECONDS = 1.5  # that samples take


class SlowSamples(Samples):
    """Samples that are long on their way."""

    def some(self, served, start, count):
        time.sleep(SECONDS)
        return super().some(served, start, count)


@contextmanager
def slowly(browser, kind):
    """A page whose first sample has not come yet; when the block ends it has."""
    service = demo_service(kind)
    service.samples = SlowSamples(service.samples.rows, service.samples.names)
    with running(service) as port, opened(browser, f"http://127.0.0.1:{port}/") as page:
        yield page


def test_what_was_typed_stays(browser):
    with slowly(browser, "wine") as page:
        with page.expect_response(re.compile("/v1/samples")):
            page.get_by_label("alcohol", exact=True).fill("13.5")
        page.wait_for_timeout(300)
        expect(page.get_by_label("alcohol", exact=True)).to_have_value("13.5")
        expect(page.get_by_label("hue", exact=True)).to_have_value("")
        page.get_by_role("button", name="Next").click()  # samples can be picked all the same
        expect(page.get_by_text("2 of 40")).to_be_visible()


def test_what_was_hidden_stays(browser):
    with slowly(browser, "digits") as page:
        with page.expect_response(re.compile("/v1/samples")):
            page.mouse.click(*pixel(page, 2, 3))
        page.wait_for_timeout(300)
        assert hidden(page) == 1


@pytest.mark.parametrize("kind", ["wine", "digits"])
def test_a_page_that_nobody_touched_shows_the_first_sample(browser, kind):
    with slowly(browser, kind) as page:
        expect(page.locator("#by-posterior li, #by-posterior tbody tr")).to_have_count(10, timeout=20_000)
        assert page.get_by_text("1 of 40").is_visible() or page.locator('.samples [aria-pressed="true"]').count() == 1
