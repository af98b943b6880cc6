# SPDX-License-Identifier: Apache-2.0
"""Which pictures are alike? python nearest.py CLASSIFIER FEATURES PICTURE OTHER...

FEATURES names a value inside of the model, before its last layer (`minnow inspect CLASSIFIER` lists them all): the model is cut there,
and the angle between two feature vectors tells how much two pictures have in common.
"""
import sys
from pathlib import Path

import minnow.numpy as np
from minnow import Var, cv, nn

features = nn.load_module_from_file(sys.argv[1], outputs=[sys.argv[2]])


def embed(path: str) -> Var:
    picture = cv.cvtColor(cv.imread(path), cv.COLOR_BGR2RGB)
    vector: Var = features(cv.resize(picture, (224, 224)).astype("float32") / 127.5 - 1.0).reshape(-1)
    return vector / np.linalg.norm(vector)


wanted = embed(sys.argv[3])
likeness = np.stack([embed(path) for path in sys.argv[4:]]) @ wanted
for place in np.argsort(-likeness)[:5].tolist():
    print(f"{Path(sys.argv[4 + place]).name}: {float(likeness[place]):.2f}")
