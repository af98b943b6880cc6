# SPDX-License-Identifier: Apache-2.0
"""From any format to Minnow's own: python convert.py MODEL... OUT.minnow

Reads the model (Caffe: two files), fixes nothing and renames nothing unless told, checks that optimization kept its answers, and shows
what it is made of.
"""
import sys
import time

import minnow
from minnow import tools

*source, destination = sys.argv[1:]
try:
    minnow.convert(source, destination, verify=True)
except (minnow.InvalidModel, minnow.Unsupported, minnow.IoError) as error:
    sys.exit(f"not converted: {error}")
print(tools.inspect(destination))

begin = time.perf_counter()
model = minnow.load(destination)
print(f"loaded in {1e3 * (time.perf_counter() - begin):.1f} ms: {model}")
