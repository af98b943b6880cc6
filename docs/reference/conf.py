# SPDX-License-Identifier: Apache-2.0
"""Sphinx's configuration for `./dev docs`: the pages of docs/ and the references of the Python and C++ APIs."""
import os
import re
from pathlib import Path

BUILD = Path(os.environ["MINNOW_BUILD_DIR"])  # whose python/ has the package
DOXYGEN = os.environ["MINNOW_DOXYGEN"]  # Doxygen's XML of include/minnow

project = "Minnow"
author = "the Minnow authors"
version = release = re.search(r"project\(minnow VERSION ([\d.]+)", (Path(__file__).parents[2] / "CMakeLists.txt").read_text())[1]
extensions = ["sphinx.ext.autodoc", "breathe", "myst_parser"]
root_doc = "reference/index"
exclude_patterns = ["results/*"]
html_theme = "furo"
html_title = f"Minnow {version}"
breathe_projects = {"minnow": DOXYGEN}
breathe_default_project = "minnow"
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
# Links from pages to source files lead out of the documentation; each header declares the namespace again, and each module that has Var shows it.
suppress_warnings = ["myst.xref_missing", "duplicate_declaration.cpp", "ref.python"]
myst_heading_anchors = 3


def _escaped(line):
    return re.sub(r"([\\*`|_])", r"\\\1", line)


def _as_rst(app, what, name, obj, options, lines):
    """Docstrings are plain text: indented lines are code, and no character has a special meaning."""
    made, in_code = [], False
    for line in lines:
        is_code = (line.startswith("    ") and line.strip() != "") or (in_code and not line.strip())
        if is_code and not in_code:
            made += ["", "::", ""]
        elif in_code and not is_code:
            made.append("")
        in_code = is_code
        made.append(line if is_code else _escaped(line))
    lines[:] = made


def setup(app):
    app.connect("autodoc-process-docstring", _as_rst)
