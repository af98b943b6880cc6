#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of SciPy and scikit-learn that take Vars by the array API standard, beside their results for arrays of NumPy."""
import os
import subprocess
import sys
import unittest
import warnings
from pathlib import Path

os.environ["SCIPY_ARRAY_API"] = "1"
try:
    import numpy
    import sklearn
    from scipy import fft, integrate, interpolate, ndimage, signal, special, stats
    from scipy.cluster import vq
    from scipy.optimize import elementwise
    from sklearn import decomposition, discriminant_analysis, linear_model, metrics, mixture, model_selection, naive_bayes, preprocessing

    import minnow.numpy as np
    from minnow import Var
except ImportError as error:
    print(error)
    sys.exit(77)

SOURCE = Path(os.environ["MINNOW_SOURCE_DIR"])


def arrays(xp):
    """A matrix, a vector with a trend, classes and targets, the same numbers in both modules."""
    random = numpy.random.default_rng(3)
    x = random.normal(size=(60, 4))
    return {"x": xp.asarray(x), "v": xp.asarray(numpy.linspace(0.1, 2, 32) + random.uniform(size=32)), "c": xp.asarray((x[:, 0] > x[:, 1]).astype("int64")),
            "y": xp.asarray(x @ [1.0, -2.0, 0.5, 0.0] + 0.1), "xp": xp}


def fitted(model, x, y, method):
    return getattr(model.fit(x) if y is None else model.fit(x, y), method)(x)


SCIPY = {
    "special.logsumexp": lambda x, **_: special.logsumexp(x, axis=1),
    "special.softmax": lambda x, **_: special.softmax(x, axis=1),
    "special.ndtr": lambda v, **_: special.ndtr(v),
    "stats.pearsonr": lambda v, **_: stats.pearsonr(v, v * v).statistic,
    "stats.zscore": lambda x, **_: stats.zscore(x, axis=0),
    "stats.ttest_ind": lambda v, **_: stats.ttest_ind(v, v + 0.1).pvalue,
    "stats.skew": lambda v, **_: stats.skew(v),
    "fft.dct": lambda v, **_: fft.dct(v),
    "fft.rfft": lambda v, **_: fft.rfft(v),
    "signal.fftconvolve": lambda v, **_: signal.fftconvolve(v, v[:5]),
    "signal.detrend": lambda v, **_: signal.detrend(v),
    "signal.resample": lambda v, **_: signal.resample(v, 12),
    "ndimage.gaussian_filter": lambda x, **_: ndimage.gaussian_filter(x, 1.5),
    "ndimage.zoom": lambda x, **_: ndimage.zoom(x, 2),
    "cluster.vq.whiten": lambda x, **_: vq.whiten(x),
    "cluster.vq.vq": lambda x, **_: vq.vq(x, x[:3, :])[1],
    "integrate.tanhsinh": lambda xp, **_: integrate.tanhsinh(lambda z: z * z, xp.asarray(0.0), xp.asarray(1.0)).integral,
    "interpolate.PchipInterpolator": lambda v, xp, **_: interpolate.PchipInterpolator(xp.cumulative_sum(v), v)(xp.asarray([2.5, 4.0])),
    "optimize.elementwise.find_root": lambda xp, **_: elementwise.find_root(lambda z: z * z - 2, (xp.asarray(0.0), xp.asarray(2.0))).x,
}
SKLEARN = {
    "preprocessing.StandardScaler": lambda x, **_: fitted(preprocessing.StandardScaler(), x, None, "transform"),
    "preprocessing.MinMaxScaler": lambda x, **_: fitted(preprocessing.MinMaxScaler(), x, None, "transform"),
    "preprocessing.PolynomialFeatures": lambda x, **_: fitted(preprocessing.PolynomialFeatures(), x, None, "transform"),
    "decomposition.PCA": lambda x, **_: abs(fitted(decomposition.PCA(n_components=2, svd_solver="full"), x, None, "transform")),
    "linear_model.Ridge": lambda x, y, **_: fitted(linear_model.Ridge(solver="svd"), x, y, "predict"),
    "linear_model.RidgeCV": lambda x, y, **_: fitted(linear_model.RidgeCV(), x, y, "predict"),
    "linear_model.LogisticRegression": lambda x, c, **_: fitted(linear_model.LogisticRegression(), x, c, "predict_proba"),
    "discriminant_analysis.LinearDiscriminantAnalysis": lambda x, c, **_: fitted(discriminant_analysis.LinearDiscriminantAnalysis(), x, c, "predict"),
    "naive_bayes.GaussianNB": lambda x, c, **_: fitted(naive_bayes.GaussianNB(), x, c, "predict_proba"),
    "mixture.GaussianMixture": lambda x, **_: fitted(mixture.GaussianMixture(2, init_params="random", random_state=0), x, None, "predict_proba").sum(axis=1),
    "metrics.pairwise.rbf_kernel": lambda x, **_: metrics.pairwise.rbf_kernel(x, x),
    "metrics.pairwise.euclidean_distances": lambda x, **_: metrics.pairwise.euclidean_distances(x, x),
    "metrics.confusion_matrix": lambda c, **_: metrics.confusion_matrix(c, c),
    "model_selection.cross_val_predict": lambda x, y, **_: model_selection.cross_val_predict(linear_model.Ridge(solver="svd"), x, y),
}


class Libraries(unittest.TestCase):
    def compare(self, cases):
        for name, function in cases.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made, wanted = function(**arrays(np)), function(**arrays(numpy))
                self.assertIsInstance(made, Var)
                self.assertEqual(made.dtype, wanted.dtype.name)
                numpy.testing.assert_allclose(numpy.asarray(made), wanted, rtol=1e-6, atol=1e-7)

    def test_scipy(self):
        self.compare(SCIPY)

    def test_scikit_learn(self):
        with sklearn.config_context(array_api_dispatch=True):
            self.compare(SKLEARN)

    def test_scores_are_numbers(self):
        with sklearn.config_context(array_api_dispatch=True):
            x = arrays(np)
            self.assertAlmostEqual(metrics.r2_score(x["y"], x["y"] * 1.1), metrics.r2_score(x["y"].numpy(), x["y"].numpy() * 1.1))
            self.assertEqual(metrics.accuracy_score(x["c"], x["c"]), 1.0)

    def test_example(self):
        result = subprocess.run([sys.executable, SOURCE / "examples" / "python" / "array_api.py"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[-1], "Var", result.stdout)
        self.assertIn("slopes [ 1. -2.  0.  4.  0.  0.], intercept 0.50", result.stdout)


if __name__ == "__main__":
    unittest.main()
