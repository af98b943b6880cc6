# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from . import row


@row("cvtColor BGR2RGB", most_used=True)
def bgr_to_rgb(cv, p):
    return lambda: cv.cvtColor(p.color, cv.COLOR_BGR2RGB)


@row("cvtColor BGR2GRAY", most_used=True)
def bgr_to_gray(cv, p):
    return lambda: cv.cvtColor(p.color, cv.COLOR_BGR2GRAY)


@row("resize linear, half the size + 1", most_used=True)
def resize_linear(cv, p):
    return lambda: cv.resize(p.color, (p.width // 2 + 1, p.height // 2 + 1), interpolation=cv.INTER_LINEAR)
