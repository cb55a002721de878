"""How the documentation is built: `make docs`, or `sphinx-build -W docs docs/_build`."""

from penstock._base.version import VERSION

project = "Penstock"
release = VERSION
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"Penstock {VERSION}"
myst_heading_anchors = 3
