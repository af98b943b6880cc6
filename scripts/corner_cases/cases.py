# SPDX-License-Identifier: Apache-2.0
"""All cases, in the order in which they are written."""

from . import casts, elementwise, layouts, networks, reductions, shapes, spatial


def all_cases():
    for part in (elementwise, casts, reductions, shapes, spatial, layouts, networks):
        for case in part.all_of():
            if case:  # operators do not all take all dtypes
                yield case
