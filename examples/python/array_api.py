# SPDX-License-Identifier: Apache-2.0
"""SciPy and scikit-learn on Vars: python array_api.py

Both take arrays of any library that conforms to the Python array API standard, once that is switched on, and give such arrays back.
"""
import os

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported

import sklearn  # type: ignore[import-not-found,import-untyped,unused-ignore]
from scipy import fft, ndimage, special, stats  # type: ignore[import-not-found,import-untyped,unused-ignore]
from sklearn.decomposition import PCA  # type: ignore[import-not-found,import-untyped,unused-ignore]
from sklearn.linear_model import Ridge  # type: ignore[import-not-found,import-untyped,unused-ignore]
from sklearn.preprocessing import StandardScaler  # type: ignore[import-not-found,import-untyped,unused-ignore]

import minnow.numpy as np

random = np.random.default_rng(1)
signal = np.sin(np.linspace(0, 20, 200)) + random.normal(scale=0.1, size=200)
scores = random.normal(size=(4, 10))

smooth = ndimage.gaussian_filter(signal, 3.0)
strongest = np.argmax(np.abs(fft.dct(smooth)))
probabilities = special.softmax(scores, axis=1)
correlation = stats.pearsonr(signal, smooth)
print(f"strongest frequency {strongest}, correlation with the smooth signal {correlation.statistic:.3f}")
print(f"most probable classes {np.argmax(probabilities, axis=1)}")

sklearn.set_config(array_api_dispatch=True)
data = random.normal(size=(500, 6)) * [5.0, 3.0, 1.0, 0.5, 0.1, 0.1]
target = data @ np.asarray([1.0, -2.0, 0.0, 4.0, 0.0, 0.0]) + 0.5

scaled = StandardScaler().fit_transform(data)
components = PCA(n_components=2, svd_solver="full").fit(data)
line = Ridge(alpha=1e-3, solver="svd").fit(data, target)
print(f"deviation after scaling {scaled.std(axis=0).round(3)}")
print(f"two components hold {components.explained_variance_ratio_.sum():.3f} of the variance")
print(f"slopes {line.coef_.round(2) + 0.0}, intercept {line.intercept_:.2f}")
print(", ".join(sorted({type(x).__name__ for x in (smooth, probabilities, correlation.statistic, scaled, components.components_, line.coef_)})))
