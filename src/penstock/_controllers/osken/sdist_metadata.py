"""A build backend that builds nothing: a source archive's metadata is the `PKG-INFO` that came with it.

pip asks for the metadata of all that it downloads, and for an archive without a pyproject.toml, like Ryu's,
it asks `setuptools.build_meta:__legacy__`.  That would run Ryu's setup.py, which no setuptools of today can.
`ryu_sources` puts this file in setuptools' place, for one call of `pip download`.
"""

from __future__ import annotations

import shutil
import sys
from email.parser import HeaderParser
from pathlib import Path
from typing import Any, Final


def prepare_metadata_for_build_wheel(metadata_directory: str, _settings: Any = None) -> str:
    """Copy the metadata of the archive in the present folder (PEP 517), and return where it was put."""
    source = Path("PKG-INFO")
    about = HeaderParser().parsestr(source.read_text(encoding="utf-8"))
    folder = Path(metadata_directory, f"{about['Name']}-{about['Version']}.dist-info")
    folder.mkdir()
    shutil.copyfile(source, folder / "METADATA")
    return folder.name


__legacy__: Final = sys.modules[__name__]
"""The name under which pip asks for setuptools' backend when a project names none."""
