# SPDX-License-Identifier: Apache-2.0
"""States that are followed over time."""
from __future__ import annotations

import sys as _sys
from typing import Any

from minnow._minnow import InvalidArgument, Var
from minnow.cv import _common
from minnow.cv import _structure
from minnow.cv._common import MatLike


def _matrix(rows: int, columns: int, dtype: str, diagonal: float = 0.0) -> Any:
    """A matrix with this diagonal: an array where NumPy is loaded, else a Var."""
    values = Var([[diagonal if row == column else 0.0 for column in range(columns)] for row in range(rows)], dtype)
    numpy = _sys.modules.get("numpy")
    return values if numpy is None else numpy.array(values.tolist(), dtype)


class KalmanFilter:
    """The filter of R. Kalman, "A new approach to linear filtering and prediction problems" (1960), with OpenCV's names. Its matrices are float32, or
    float64 with `type` CV_64F, and may be assigned: statePre and statePost [dynamParams, 1], transitionMatrix, processNoiseCov, errorCovPre and
    errorCovPost [dynamParams, dynamParams], controlMatrix [dynamParams, controlParams], measurementMatrix [measureParams, dynamParams],
    measurementNoiseCov [measureParams, measureParams], gain [dynamParams, measureParams].
    Raises InvalidArgument for numbers of parameters below 1, or another type.

    >>> filter = cv.KalmanFilter(2, 1)
    >>> filter.measurementMatrix = minnow.Var([[1.0, 0.0]])
    >>> filter.predict().shape
    (2, 1)
    """

    def __init__(self, dynamParams: int, measureParams: int, controlParams: int = 0, type: int = _common.CV_32F) -> None:
        dtype = {_common.CV_32F: "float32", _common.CV_64F: "float64"}.get(int(type))
        if dtype is None or dynamParams < 1 or measureParams < 1:
            raise InvalidArgument(f"KalmanFilter: at least 1 parameter of the state and of the measurement, and CV_32F or CV_64F, not {dynamParams}, {measureParams} and {type}")
        n, m, c = int(dynamParams), int(measureParams), max(int(controlParams), 0)
        self.statePre: Any = _matrix(n, 1, dtype)
        self.statePost: Any = _matrix(n, 1, dtype)
        self.transitionMatrix: Any = _matrix(n, n, dtype, 1)
        self.controlMatrix: Any = _matrix(n, c, dtype) if c else None
        self.measurementMatrix: Any = _matrix(m, n, dtype)
        self.processNoiseCov: Any = _matrix(n, n, dtype, 1)
        self.measurementNoiseCov: Any = _matrix(m, m, dtype, 1)
        self.errorCovPre: Any = _matrix(n, n, dtype)
        self.errorCovPost: Any = _matrix(n, n, dtype)
        self.gain: Any = _matrix(n, m, dtype)

    def predict(self, control: MatLike | None = None) -> Any:
        """The state before the next measurement, [dynamParams, 1]; `control` [controlParams, 1] acts on it.
        Raises InvalidArgument where matrices do not fit together."""
        gemm = _structure.gemm
        state = gemm(self.transitionMatrix, self.statePost, 1, None, 0)
        if control is not None and self.controlMatrix is not None:
            state = gemm(self.controlMatrix, control, 1, state, 1)
        moved = gemm(self.transitionMatrix, self.errorCovPost, 1, None, 0)
        self.errorCovPre = gemm(moved, self.transitionMatrix, 1, self.processNoiseCov, 1, flags=_structure.GEMM_2_T)
        self.statePre = self.statePost = state
        self.errorCovPost = self.errorCovPre
        return state

    def correct(self, measurement: MatLike) -> Any:
        """The state after a measurement [measureParams, 1]; [dynamParams, 1].
        Raises InvalidArgument where matrices do not fit together."""
        gemm = _structure.gemm
        seen = gemm(self.measurementMatrix, self.errorCovPre, 1, None, 0)
        spread = gemm(seen, self.measurementMatrix, 1, self.measurementNoiseCov, 1, flags=_structure.GEMM_2_T)
        gain = _structure.solve(spread, seen, flags=_structure.DECOMP_SVD)[1]
        self.gain = gain.T
        surprise = gemm(self.measurementMatrix, self.statePre, -1, measurement, 1)
        self.statePost = gemm(gain, surprise, 1, self.statePre, 1, flags=_structure.GEMM_1_T)
        self.errorCovPost = gemm(gain, seen, -1, self.errorCovPre, 1, flags=_structure.GEMM_1_T)
        return self.statePost


__all__ = _common.public(globals())
