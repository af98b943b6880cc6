# SPDX-License-Identifier: Apache-2.0
"""Threads and clocks."""
from __future__ import annotations

import time as _time

from minnow.cv import _common


def setNumThreads(nthreads: int) -> None:
    """The most threads that functions of pictures use, in the whole process: 0 or 1 for the caller's alone, less than 0 for one for each core, as at first.
    Models have their own number (`minnow.load(threads=)`). Raises InvalidType (a TypeError) for what is no integer."""
    _common.vision.set_most_threads(0 if nthreads < 0 else max(nthreads, 1))


def getNumThreads() -> int:
    """How many threads functions of pictures use at most: what setNumThreads() set, or the number of cores where that is less. Never fails."""
    return int(_common.vision.most_threads())


def getTickCount() -> int:
    """The time since some moment, of which getTickFrequency() make a second. Never fails."""
    return _time.perf_counter_ns()


def getTickFrequency() -> float:
    """How many of getTickCount()'s ticks a second has. Never fails."""
    return 1e9


class TickMeter:
    """Sums up the times between start() and stop().

    >>> meter = cv.TickMeter()
    >>> for _ in range(3):
    ...     meter.start()
    ...     meter.stop()
    >>> meter.getCounter()
    3
    """

    def __init__(self) -> None:
        self.reset()

    def start(self) -> None:
        """Begins an interval."""
        self._start = getTickCount()

    def stop(self) -> None:
        """Ends the interval, where one has begun."""
        if self._start:
            self._last = getTickCount() - self._start
            self._sum += self._last
            self._count += 1
            self._start = 0

    def reset(self) -> None:
        """Forgets all intervals."""
        self._start = self._last = self._sum = self._count = 0

    def getTimeTicks(self) -> int:
        """The sum of all intervals in ticks."""
        return self._sum

    def getTimeMicro(self) -> float:
        """The sum in microseconds."""
        return self._sum / 1e3

    def getTimeMilli(self) -> float:
        """The sum in milliseconds."""
        return self._sum / 1e6

    def getTimeSec(self) -> float:
        """The sum in seconds."""
        return self._sum / 1e9

    def getLastTimeTicks(self) -> int:
        """The last interval in ticks."""
        return self._last

    def getLastTimeMicro(self) -> float:
        """The last interval in microseconds."""
        return self._last / 1e3

    def getLastTimeMilli(self) -> float:
        """The last interval in milliseconds."""
        return self._last / 1e6

    def getLastTimeSec(self) -> float:
        """The last interval in seconds."""
        return self._last / 1e9

    def getCounter(self) -> int:
        """How many intervals there were."""
        return self._count

    def getFPS(self) -> float:
        """Intervals in a second; 0 before the first."""
        return self._count / self.getTimeSec() if self._sum else 0.0

    def getAvgTimeSec(self) -> float:
        """The mean interval in seconds; 0 before the first."""
        return self.getTimeSec() / self._count if self._count else 0.0

    def getAvgTimeMilli(self) -> float:
        """The mean interval in milliseconds; 0 before the first."""
        return self.getAvgTimeSec() * 1e3


__all__ = _common.public(globals())
