"""How the documentation is built: `make docs`, or `sphinx-build -W docs docs/_build`."""

from penstock import __version__

project = "Penstock"
release = __version__
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"Penstock {__version__}"
myst_heading_anchors = 3
