# SPDX-License-Identifier: Apache-2.0
"""Cameras, homographies and other geometry of points."""
from __future__ import annotations

from minnow.cv import _common

__all__ = _common.public(globals())
