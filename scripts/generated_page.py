# SPDX-License-Identifier: Apache-2.0
"""Shared by the scripts that generate pages of docs/."""
import sys
from pathlib import Path


def main(name, page, usage):
    """Writes docs/NAME as page(minnow) gives it; with --check, exits with a sentence where the page there is another."""
    if len(sys.argv) < 2:
        sys.exit(usage)
    path, text = Path(__file__).resolve().parent.parent / "docs" / name, page(sys.argv[1])
    if "--check" not in sys.argv:
        path.write_text(text)
    elif not path.exists() or path.read_text() != text:
        sys.exit(f"{name} is out of date; run scripts/{Path(sys.argv[0]).name} {sys.argv[1]}")
