# SPDX-License-Identifier: Apache-2.0
"""A line on a terminal for long work."""
from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Callable

from minnow import _minnow

#: Called with the finished part of the work, from 0 to 1; an exception from it ends the work.
Callback = Callable[[float], object]


class Progress:
    """Inside this context, work that takes longer than half a second shows a line on stderr, if that is a terminal: the finished part and
    the remaining time. If the caller passes a callback, that is called instead."""

    def __init__(self, what: str, callback: Callback | None = None) -> None:
        self._what = what if len(what) <= 36 else what[:what.find(" ") + 1] + "..." + what[-18:]
        self._callback = callback
        self._part = 0.0
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def tell(self, part: float) -> None:
        """The part that is done, from 0 to 1."""
        self._part = part
        if self._callback is not None:
            self._callback(part)

    def __enter__(self) -> Progress:
        if self._callback is None and sys.stderr is not None and sys.stderr.isatty():
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def _show(self) -> None:
        start = time.monotonic()
        shown = False
        while not self._done.wait(0.1 if shown else 0.5):
            shown = True
            sys.stderr.write(f"\r{_minnow.progress_line(self._what, self._part, time.monotonic() - start)}\033[K")
            sys.stderr.flush()
        if shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()


__all__ = ["Callback", "Progress"]
