# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on pictures, and measures of their elements."""
from __future__ import annotations

from minnow.cv import _common

__all__ = _common.public(globals())
