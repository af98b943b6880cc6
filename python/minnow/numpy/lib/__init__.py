# SPDX-License-Identifier: Apache-2.0
"""What NumPy keeps in numpy.lib."""
from minnow.numpy.lib import stride_tricks as stride_tricks
