# SPDX-License-Identifier: Apache-2.0
"""Pictures with known contents for the examples: frames of cameras, and a printed page."""
import numpy as np

from minnow import cv

WORDS = ("the network looks at cells of four sizes and tells for each how likely a part of a page has its middle there and how far its sides "
         "are away").split()
TABLE = (("Network", "Cells", "Classes", "Time"), ("PicoDet", "10105", "10", "21.5 ms"), ("YOLOX", "3549", "80", "40.2 ms"),
         ("SSD", "2268", "20", "33.1 ms"), ("FCOS", "8525", "80", "90.7 ms"))
# Where the parts of printed_page() lie, in pixels: left, top, right, bottom.
PARTS = {("title", (60, 58, 366, 88)), ("text", (60, 119, 684, 248)), ("figure", (155, 290, 605, 590)),
         ("figure_caption", (220, 604, 504, 618)), ("text", (60, 649, 678, 746)), ("table", (118, 779, 642, 962))}


def nv21(picture):
    """The bytes of an NV21 frame of a camera that took the picture, [height, width, 3] in BGR with even sides."""
    height, width = picture.shape[:2]
    light, blue, red = np.split(np.asarray(cv.cvtColor(picture, cv.COLOR_BGR2YUV_I420)).reshape(-1), [height * width, height * width * 5 // 4])
    return light.tobytes() + np.stack([red, blue], 1).tobytes()


def write(page, text, x, y, height=0.45, thickness=1):
    cv.putText(page, text, (x, y), cv.FONT_HERSHEY_COMPLEX, height, (0, 0, 0), thickness, cv.LINE_AA)


def paragraph(page, top, lines, seed):
    random = np.random.default_rng(seed)
    for line in range(lines):
        text = ""
        while cv.getTextSize(text, cv.FONT_HERSHEY_COMPLEX, 0.42, 1)[0][0] < 600:
            text += WORDS[random.integers(len(WORDS))] + " "
        write(page, text, 60, top + 16 * line, 0.42)


def printed_page(figure):
    """A page, uint8 [1000, 760, 3], with a title, two paragraphs, the picture `figure` with its caption, and a table."""
    page = np.full((1000, 760, 3), 255, np.uint8)
    write(page, "1  Parts of pages", 60, 80, 1.0, 2)
    paragraph(page, 130, 8, 1)
    page[290:590, 155:605] = cv.resize(figure, (450, 300), interpolation=cv.INTER_AREA)
    write(page, "Figure 1: A cup of coffee on a table", 220, 615)
    paragraph(page, 660, 6, 2)
    for y, thickness in ((780, 2), (816, 1), (960, 2)):
        cv.line(page, (120, y), (640, y), (0, 0, 0), thickness)
    for y, row in enumerate(TABLE):
        for x, text in enumerate(row):
            write(page, text, 130 + 130 * x, 804 + 36 * y)
    return page


def wrong_parts(found):
    """Which of the boxes that a program found on printed_page(), [(name, (left, top, right, bottom))], are none of its parts, and which parts have no box:
    nothing where each side of each box is within 16 pixels."""
    def same(a, b):
        return a[0] == b[0] and all(abs(x - y) <= 16 for x, y in zip(a[1], b[1]))
    return [a for a in found if not any(same(a, b) for b in PARTS)] + [b for b in PARTS if not any(same(a, b) for a in found)]
