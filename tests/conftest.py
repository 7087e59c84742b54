"""Shared data and array libraries. Tests that look at real files find them in SIMCOMPLETE_DATA, or skip with a word."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

GOLDEN = Path(__file__).parent / "golden"
DOCS = Path(__file__).parent.parent / "docs"


def pytest_addoption(parser):
    parser.addoption("--require-torch", action="store_true", help="fail instead of skipping when torch is missing")


def pytest_configure(config):
    config.addinivalue_line("markers", "array_library: runs once per array library")


def pytest_collection_modifyitems(items):
    for item in items:  # whatever runs once per library can be chosen with -m array_library
        if "library" in getattr(item, "fixturenames", ()):
            item.add_marker("array_library")


@pytest.fixture(scope="module")
def browser():
    """The system's Chromium, or the one that SIMCOMPLETE_BROWSER names; what needs it is skipped elsewhere."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra `browser`)")
    found = os.environ.get("SIMCOMPLETE_BROWSER") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    flags = (
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    )
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=found, args=flags)
        yield made
        made.close()


@pytest.fixture(scope="session")
def site_extension():
    """Load an extension of the site by name; skipped where the site cannot be built."""

    def load(name):
        for needed in ("docutils", "sphinx", "latex2mathml"):
            pytest.importorskip(needed, reason="what the site is made with (extra `docs`)")
        spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session")
def golden():
    """Arrays from reference programs, by file name."""
    return lambda name: np.load(GOLDEN / f"{name}.npz")


class Library:
    """One array library (and device) to run a test in."""

    def __init__(self, name, device=None):
        self.name = name
        self.device = device

    def __repr__(self):
        return self.name if self.device is None else f"{self.name}-{self.device}"

    def module(self):
        return importlib.import_module(self.name)

    def array(self, values):
        xp = self.module()
        if self.name == "array_api_strict" and self.device:
            return xp.asarray(values, device=xp.Device(self.device))
        return xp.asarray(values)


LIBRARIES = [Library("numpy"), Library("array_api_strict"), Library("array_api_strict", "device1"), Library("torch")]


@pytest.fixture(params=LIBRARIES, ids=repr)
def library(request):
    """Every array library in turn; torch is skipped where it is not installed, unless it is required."""
    if not request.config.getoption("--require-torch"):
        pytest.importorskip(request.param.name)
    request.param.module()
    return request.param


@pytest.fixture(scope="session")
def digits():
    """Shuffled digits without zero rows, float64 (1797, 64)."""
    X = load_digits().data
    return X[np.random.default_rng(0).permutation(len(X))]


@pytest.fixture(name="hide", scope="session")
def hide_fixture():
    """A function: copy of X with that share of every row missing at random."""
    return hide


def hide(X, missing, seed=0):
    rng = np.random.default_rng(seed)
    X = np.array(X, dtype=float)
    for row in X:
        row[rng.choice(X.shape[1], round(missing * X.shape[1]), replace=False)] = np.nan
    return X


@pytest.fixture(scope="session")
def small(digits):
    """60 candidates, 20 queries with 70 percent missing, and the truth of the queries."""
    return digits[:60], hide(digits[60:80], 0.7), digits[60:80]


@pytest.fixture(scope="session")
def imagelike():
    """Non-negative, with a strong common direction: 900 candidates and 40 queries of 50 features."""
    rng = np.random.default_rng(1)
    base = 100 + rng.random((940, 1)) * 50
    X = base * (1 + 0.05 * rng.standard_normal((940, 8)) @ rng.standard_normal((8, 50))) + rng.random((940, 50))
    return X[:900], hide(X[900:], 0.7)
