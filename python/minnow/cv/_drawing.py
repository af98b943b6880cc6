# SPDX-License-Identifier: Apache-2.0
"""Lines, shapes and text drawn into pictures."""
from __future__ import annotations

from minnow.cv import _common

__all__ = _common.public(globals())
