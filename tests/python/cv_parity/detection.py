# SPDX-License-Identifier: Apache-2.0
import cv2
import numpy as np

from cv_parity import call, function, image, images


def options(random, channels):
    size = [None, (7, 5), (32, 24), (20, 60), (64, 64)][int(random.integers(5))]
    return {**({"size": size} if size else {}), "scalefactor": [1.0, 1 / 255, 0.0173][int(random.integers(3))], "swapRB": bool(random.integers(2)),
            "crop": bool(random.integers(2)), **({"mean": tuple(random.uniform(0, 255, channels).tolist())} if random.integers(2) else {})}


@function("dnn.blobFromImage", within=1, relative=1e-4)
def blob(random):
    for _ in range(6):
        for picture in images(random, ((5, 7), (17, 31), (64, 65)), ("uint8", "float32"), (1, 3, 4), smooth=True):
            yield call(picture, **options(random, 4))
    yield call(image(random, 9, 8, 3, "uint8"), ddepth=cv2.CV_8U)
    yield call(image(random, 9, 8, 3, "uint8"), 0.5, ddepth=cv2.CV_8U)


@function("dnn.blobFromImage", relative=1e-5)
def blob_of_numbers(random):
    for dtype in ("uint16", "int16", "int32", "float64"):
        picture = image(random, 9, 12, 3, dtype, smooth=True)
        yield call(picture, 0.25, mean=(1.0, 2.0, 3.0))
        yield call(picture, 1 / 3, swapRB=True)


@function("dnn.blobFromImages", within=1, relative=1e-4)
def blobs(random):
    for _ in range(30):
        channels = int(random.choice([1, 3]))
        yield call([image(random, *random.integers(5, 60, 2).tolist(), channels, "uint8", True) for _ in range(3)], **{**options(random, channels), "size": (24, 20)})


@function("dnn.imagesFromBlob")
def pictures(random):
    for shape in ((1, 3, 5, 7), (2, 1, 4, 3), (3, 4, 6, 6)):
        yield call(random.random(shape).astype(np.float32))


def boxes(random, count, whole=False):
    corners = random.uniform(0, 100, (count, 2))
    sizes = random.uniform(0, 60, (count, 2)) * (random.random((count, 1)) > 0.05)
    values = np.concatenate([corners, sizes], 1)
    return (values.astype(int) if whole else values).tolist(), random.random(count).round(2).astype(np.float32).tolist()


@function("dnn.NMSBoxes")
def nms(random):
    for i in range(150):
        found, scores = boxes(random, int(random.integers(0, 60)) if i else 0, whole=i % 2 == 0)
        yield call(found, scores, random.uniform(0, 0.6), random.uniform(0, 0.8), [1.0, 0.8][i % 2], int(random.choice([0, 5, 20])))


@function("dnn.NMSBoxesBatched")
def batched(random):
    for i in range(80):
        found, scores = boxes(random, int(random.integers(1, 60)))
        yield call(found, scores, random.integers(0, 4, len(scores)).tolist(), random.uniform(0, 0.6), random.uniform(0, 0.8))


@function("dnn.NMSBoxesRotated")
def rotated(random):
    for i in range(60):
        found, scores = boxes(random, int(random.integers(1, 30)))
        turned = [((x, y), (w, h), random.uniform(-90, 90)) for x, y, w, h in found]
        yield call(turned, scores, random.uniform(0, 0.6), random.uniform(0, 0.8))


@function("dnn.softNMSBoxes", relative=1e-5)
def soft(random):
    for i in range(100):
        found, scores = boxes(random, int(random.integers(1, 40)), whole=True)
        yield call(found, scores, random.uniform(0, 0.6), random.uniform(0, 0.8), top_k=int(random.choice([0, 7])), sigma=random.uniform(0.2, 1), method=i % 2 + 1)
