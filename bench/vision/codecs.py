# SPDX-License-Identifier: Apache-2.0
import cv2

from vision import row


def decoding(name, suffix, flags, used=False):
    @row(name, most_used=used)
    def decode(cv, p):
        data = cv2.imencode(suffix, p.color)[1]
        return lambda: cv.imdecode(data, flags)


decoding("imdecode JPEG", ".jpg", cv2.IMREAD_COLOR, True)
decoding("imdecode JPEG gray", ".jpg", cv2.IMREAD_GRAYSCALE)
decoding("imdecode JPEG 1/4", ".jpg", cv2.IMREAD_REDUCED_COLOR_4)
decoding("imdecode PNG", ".png", cv2.IMREAD_COLOR, True)
decoding("imdecode WebP", ".webp", cv2.IMREAD_COLOR)
decoding("imdecode BMP", ".bmp", cv2.IMREAD_COLOR)


@row("imencode JPEG")
def jpeg(cv, p):
    return lambda: cv.imencode(".jpg", p.color)


@row("imencode PNG")
def png(cv, p):
    return lambda: cv.imencode(".png", p.color)
