# SPDX-License-Identifier: Apache-2.0
"""Contours, shapes, lines, components, features and matching."""
from __future__ import annotations

from minnow.cv import _common

__all__ = _common.public(globals())
