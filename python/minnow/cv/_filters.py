# SPDX-License-Identifier: Apache-2.0
"""Filters, derivatives, thresholds and morphology."""
from __future__ import annotations

from minnow.cv import _common

__all__ = _common.public(globals())
