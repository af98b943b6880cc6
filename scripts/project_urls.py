# SPDX-License-Identifier: Apache-2.0
"""The wheel's project URLs, for scikit-build-core: of the repository that it is built from, so that a fork names itself.

MINNOW_PROJECT_URL names the repository's page; without it the remote "origin" of git does, where that is an address of the web. Elsewhere
(an archive without git, a clone of a folder) the metadata has no URLs.
"""
from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any, Mapping

ROOT = Path(__file__).resolve().parent.parent


def origin() -> str:
    if not (ROOT / ".git").exists():
        return ""
    try:
        return subprocess.run(["git", "-C", str(ROOT), "remote", "get-url", "origin"], capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def page_of(address: str) -> str:
    """"https://host/owner/name" of any form of a repository's address, without a user's name or password; "" if it is none of the web."""
    match = re.fullmatch(r"(?:https?://(?:[^@/]*@)?|ssh://(?:[^@/]*@)?|[\w.-]+@)([\w-]+(?:\.[\w-]+)+)(?::\d+)?[:/](.+?)(?:\.git)?/?", address)
    return f"https://{match[1]}/{match[2]}" if match and not re.fullmatch(r"[\d.]+", match[1]) else ""


def urls(address: str) -> dict[str, str]:
    page = page_of(address)
    return {"Homepage": page, "Source": page, "Documentation": f"{page}/tree/main/docs", "Changelog": f"{page}/blob/main/CHANGELOG.md",
            "Issues": f"{page}/issues"} if page else {}


def dynamic_metadata(field: str, settings: Mapping[str, Any]) -> dict[str, str]:
    if field != "urls" or settings:
        raise RuntimeError("project_urls gives the field urls, and takes no settings")
    return urls(os.environ.get("MINNOW_PROJECT_URL") or origin())
