# SPDX-License-Identifier: Apache-2.0
"""The generated calls of numpy_parity_test.py, a file for each subject of minnow.numpy."""
