# SPDX-License-Identifier: Apache-2.0
"""What surrounds detectors: blobs, letterboxes, suppression, decoding."""
from __future__ import annotations

from minnow.cv import _common

__all__ = _common.public(globals())
