# SPDX-License-Identifier: Apache-2.0
"""What kind of file is it? python file_type.py model.onnx config.json FILE...

Magika's network looks at the first and the last kilobyte. Model and configuration lie in the package magika, in magika/models/standard_v3_3.
"""
import json
import sys
from pathlib import Path

import minnow
from minnow import expr

model = minnow.load(sys.argv[1])
config = json.loads(Path(sys.argv[2]).read_text())
labels: list[str] = config["target_labels_space"]
size, block, padding = config["beg_size"], config["block_size"], config["padding_token"]

for path in sys.argv[3:]:
    data = Path(path).read_bytes()
    begin, end = list(data[:block].lstrip()[:size]), list(data[-block:].rstrip()[-size:])
    tokens = begin + [padding] * (size - len(begin)) + [padding] * (size - len(end)) + end
    scores = model(minnow.Var([tokens], "int32"))[0]
    best = int(expr.arg_max(scores, keepdims=0))
    print(f"{Path(path).name}: {labels[best]} ({float(scores[best]):.0%})")
