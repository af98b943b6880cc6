# SPDX-License-Identifier: Apache-2.0
"""The counterpart of numpy.lib."""
from minnow.numpy.lib import stride_tricks as stride_tricks
