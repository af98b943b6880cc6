# SPDX-License-Identifier: Apache-2.0
"""The cases of scripts/make_corner_cases.py, by class, and the decisions where the oracles differ."""
