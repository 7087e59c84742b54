"""What the extensions of the site make of docstrings, code and links."""

import numpy as np
import pytest

import simcomplete as sc


@pytest.mark.parametrize(
    ("module", "name", "source", "defined"),
    [
        ("simcomplete", "Completion.similarity", "simcomplete._result.completion", "Completion.similarity"),
        ("simcomplete", "Completion.rank", "simcomplete._result.completion", "Completion.rank"),  # a property
        ("simcomplete", "Completion.to_frame", "simcomplete._result.frames", "to_frame"),  # a function elsewhere
        ("simcomplete", "Completion.quantile", "simcomplete._result.probabilities", "Probabilities.quantile"),
        ("simcomplete.stores", "FaissStore.put", "simcomplete.stores._store", "VectorStore.put"),
    ],
)
def test_members_lead_to_where_they_are_defined(site_extension, module, name, source, defined):
    links = site_extension("source_links")
    assert links.defining_module(None, module, name) == source
    code, lines = links.source_with_inherited(None, source)
    kind, first, _ = lines[name]
    assert (kind, lines[defined][1]) == ("def", first)
    assert f"def {name.split('.')[1]}(" in "".join(code.splitlines(keepends=True)[first - 1 : first + 2])


def test_members_of_other_packages_have_no_source_page(site_extension):
    links = site_extension("source_links")
    assert links.defining_module(None, "simcomplete.estimators", "PosteriorCompleter.set_callbacks") is None
    assert links.defining_module(None, "simcomplete", "complete") is None  # viewcode finds it by itself


def test_the_reference_has_no_docstrings_of_others(site_extension):
    members = site_extension("reference_members")

    def skipped(member):
        return members.skipped(None, "class", "any", member, False, None)

    assert skipped(np.asarray) and skipped(sc.stores.Hits.ids)
    assert skipped(sc.Completion.search) is None and skipped(sc.Completion.rank) is None


def test_signatures_that_cannot_be_written_are_left_out(site_extension):
    signature = site_extension("reference_members").signature_without_addresses
    assert signature(None, "class", "any", None, None, "(values, wrap=<built-in function asarray>)", None) == ("", None)
    assert signature(None, "class", "any", None, None, "(values, rank=None)", None) is None


def test_parameters_of_methods_are_code(site_extension):
    lines = ["- lr: variant='feature',", "  eps=0.001", "- fmc: variant='batch'", "", "- prose: with a colon"]
    wanted = ["- lr: ``variant='feature', eps=0.001``", "- fmc: ``variant='batch'``", "", "- prose: with a colon"]
    assert site_extension("plain_docstrings").with_code(lines) == wanted


def test_indented_examples_and_small_numbers(site_extension):
    finish = site_extension("code_blocks").finish
    from docutils.core import publish_doctree

    page = publish_doctree("Up to 1e-12 ::\n\n    >>> 1 + 1\n    2\n\n::\n\n    $ ls\n\nA ``1e-9``.")
    finish(None, page)
    blocks = [node for node in page.findall() if node.tagname == "literal_block"]
    assert [block.get("language") for block in blocks] == ["pycon", None]
    assert blocks[0].astext() == blocks[0].rawsource == ">>> 1 + 1\n2"
    assert [node.astext() for node in page.findall() if node.tagname == "inline"] == ["1e-12"]
