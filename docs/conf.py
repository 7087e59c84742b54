"""How the pages of this folder become a site: `make docs`.

Sphinx, because it reads numpydoc docstrings and executes examples (sphinx-gallery) without an adapter, and because its
search works from files on disk. Nothing is fetched from elsewhere, neither when the site is built nor when it is read.
"""

import sys
import warnings
from pathlib import Path

import matplotlib

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
matplotlib.use("agg")
# Sphinx changes how it reads domains; the copy button does not know yet.
warnings.filterwarnings("ignore", category=DeprecationWarning, module="sphinx")

import simcomplete  # noqa: E402

project = "simcomplete"
author = "the simcomplete developers"
copyright = author
release = simcomplete.__version__
version = ".".join(release.split(".")[:2])

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "code_blocks",
    "glossary_links",
    "mathml",
    "plain_docstrings",
    "reference_members",
    "repository_links",
    "source_links",
]
root_doc = "index"
exclude_patterns = ["_build", "_ext", "gallery/README.rst", "sg_execution_times.rst", "**/sg_execution_times.rst"]
nitpicky = False
smartquotes_action = "qe"  # two hyphens stay: they begin the options of commands
default_role = "code"  # what docstrings put into single backticks are names

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

# Types are in the docstrings, in words.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = True
autosummary_imported_members = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "furo"
pygments_dark_style = "github-dark"  # the theme's own underlines modules, as if they were links
html_title = f"simcomplete {version}"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Options are given by names, so that Sphinx can see whether they changed.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "gallery_order.key",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 3600,
    "abort_on_example_error": True,
    "matplotlib_animations": False,
    "remove_config_comments": True,
}
suppress_warnings = ["config.cache"]
