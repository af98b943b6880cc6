# SPDX-License-Identifier: Apache-2.0
"""A line on a terminal for long work."""
from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Callable

from minnow import _minnow

#: Told the part of the work that is done, from 0 to 1; what it raises ends the work.
Callback = Callable[[float], object]


class Progress:
    """While it is entered: one line on stderr, where that is a terminal, for work that takes longer than half a second; it tells the part that
    is done and the time that remains. Where the caller gives a callback, that is told instead."""

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
