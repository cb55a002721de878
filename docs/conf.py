"""How the documentation is built: `make docs`, or `sphinx-build -W docs docs/_build`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from penstock import __version__

project = "Penstock"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click", "reference_from_code"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"Penstock {__version__}"
myst_heading_anchors = 3
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
default_role = "code"
suppress_warnings = ["ref.python"]
