# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np

from . import row


@row("blur 3x3", most_used=True)
def blur_3(cv, p):
    return lambda: cv.blur(p.color, (3, 3))


@row("blur 5x5", most_used=True)
def blur_5(cv, p):
    return lambda: cv.blur(p.color, (5, 5))


@row("blur 21x21 gray")
def blur_21(cv, p):
    return lambda: cv.blur(p.gray, (21, 21))


@row("boxFilter 5x5 f32")
def box_floats(cv, p):
    return lambda: cv.boxFilter(p.plane, -1, (5, 5))


@row("sqrBoxFilter 5x5 gray")
def square_box(cv, p):
    return lambda: cv.sqrBoxFilter(p.gray, -1, (5, 5))


@row("GaussianBlur 3x3", most_used=True)
def gaussian_3(cv, p):
    return lambda: cv.GaussianBlur(p.color, (3, 3), 0)


@row("GaussianBlur 5x5", most_used=True)
def gaussian_5(cv, p):
    return lambda: cv.GaussianBlur(p.color, (5, 5), 0)


@row("GaussianBlur 7x7", most_used=True)
def gaussian_7(cv, p):
    return lambda: cv.GaussianBlur(p.color, (7, 7), 0)


@row("GaussianBlur 5x5 gray, sigma 1.1")
def gaussian_5_gray(cv, p):
    return lambda: cv.GaussianBlur(p.gray, (5, 5), 1.1)


@row("GaussianBlur 31x31 gray")
def gaussian_31(cv, p):
    return lambda: cv.GaussianBlur(p.gray, (31, 31), 0)


@row("GaussianBlur 5x5 f32")
def gaussian_floats(cv, p):
    return lambda: cv.GaussianBlur(p.plane, (5, 5), 1.2)


@row("medianBlur 3", most_used=True)
def median_3(cv, p):
    return lambda: cv.medianBlur(p.color, 3)


@row("medianBlur 5", most_used=True)
def median_5(cv, p):
    return lambda: cv.medianBlur(p.color, 5)


@row("medianBlur 9 gray")
def median_9(cv, p):
    return lambda: cv.medianBlur(p.gray, 9)


@row("medianBlur 21 gray")
def median_21(cv, p):
    return lambda: cv.medianBlur(p.gray, 21)


@row("bilateralFilter 5 gray")
def bilateral_gray(cv, p):
    return lambda: cv.bilateralFilter(p.gray, 5, 40, 40)


@row("bilateralFilter 9")
def bilateral(cv, p):
    return lambda: cv.bilateralFilter(p.color, 9, 75, 75)


@row("stackBlur 7x7")
def stack_blur(cv, p):
    return lambda: cv.stackBlur(p.color, (7, 7))


@row("filter2D 3x3, sharpen", most_used=True)
def sharpen(cv, p):
    kernel = np.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]], np.float32)
    return lambda: cv.filter2D(p.color, -1, kernel)


@row("filter2D 5x5, fractions")
def filter_2d(cv, p):
    kernel = np.random.default_rng(1).normal(size=(5, 5)).astype(np.float32) / 5
    return lambda: cv.filter2D(p.gray, -1, kernel)


@row("sepFilter2D 5x5 gray")
def sep_filter(cv, p):
    kernel = np.array([0.1, 0.2, 0.4, 0.2, 0.11], np.float32)
    return lambda: cv.sepFilter2D(p.gray, -1, kernel, kernel)


@row("Sobel 3x3 gray i16", most_used=True)
def sobel(cv, p):
    return lambda: cv.Sobel(p.gray, cv.CV_16S, 1, 0)


@row("Sobel 3x3 gray f64")
def sobel_f64(cv, p):
    return lambda: cv.Sobel(p.gray, cv.CV_64F, 0, 1)


@row("Sobel 5x5 gray f32")
def sobel_5(cv, p):
    return lambda: cv.Sobel(p.gray, cv.CV_32F, 1, 0, ksize=5)


@row("Scharr gray i16")
def scharr(cv, p):
    return lambda: cv.Scharr(p.gray, cv.CV_16S, 1, 0)


@row("Laplacian gray i16")
def laplacian(cv, p):
    return lambda: cv.Laplacian(p.gray, cv.CV_16S)


@row("Laplacian 5 gray i16")
def laplacian_5(cv, p):
    return lambda: cv.Laplacian(p.gray, cv.CV_16S, ksize=5)


@row("spatialGradient")
def spatial_gradient(cv, p):
    return lambda: cv.spatialGradient(p.gray)


@row("Canny", most_used=True)
def canny(cv, p):
    return lambda: cv.Canny(p.gray, 100, 200)


@row("erode 3x3", most_used=True)
def erode_3(cv, p):
    kernel = np.ones((3, 3), np.uint8)
    return lambda: cv.erode(p.mask, kernel)


@row("dilate 3x3", most_used=True)
def dilate_3(cv, p):
    kernel = np.ones((3, 3), np.uint8)
    return lambda: cv.dilate(p.color, kernel)


@row("dilate 5x5", most_used=True)
def dilate_5(cv, p):
    kernel = np.ones((5, 5), np.uint8)
    return lambda: cv.dilate(p.mask, kernel)


@row("dilate 5x5 ellipse")
def dilate_ellipse(cv, p):
    kernel = np.array([[0, 0, 1, 0, 0], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [0, 0, 1, 0, 0]], np.uint8)
    return lambda: cv.dilate(p.mask, kernel)


@row("erode 21x21")
def erode_21(cv, p):
    kernel = np.ones((21, 21), np.uint8)
    return lambda: cv.erode(p.mask, kernel)


@row("morphologyEx open 5x5", most_used=True)
def opened(cv, p):
    kernel = np.ones((5, 5), np.uint8)
    return lambda: cv.morphologyEx(p.mask, cv.MORPH_OPEN, kernel)


@row("morphologyEx close 5x5", most_used=True)
def closed(cv, p):
    kernel = np.ones((5, 5), np.uint8)
    return lambda: cv.morphologyEx(p.mask, cv.MORPH_CLOSE, kernel)


@row("morphologyEx gradient 3x3 f32")
def gradient(cv, p):
    kernel = np.ones((3, 3), np.uint8)
    return lambda: cv.morphologyEx(p.plane, cv.MORPH_GRADIENT, kernel)


@row("threshold binary", most_used=True)
def threshold(cv, p):
    return lambda: cv.threshold(p.gray, 127, 255, cv.THRESH_BINARY)


@row("threshold Otsu", most_used=True)
def otsu(cv, p):
    return lambda: cv.threshold(p.gray, 0, 255, cv.THRESH_BINARY + cv.THRESH_OTSU)


@row("threshold tozero f32")
def tozero(cv, p):
    return lambda: cv.threshold(p.plane, 0.5, 1, cv.THRESH_TOZERO)


@row("adaptiveThreshold mean 11", most_used=True)
def adaptive(cv, p):
    return lambda: cv.adaptiveThreshold(p.gray, 255, cv.ADAPTIVE_THRESH_MEAN_C, cv.THRESH_BINARY, 11, 2)


@row("adaptiveThreshold Gauss 11")
def adaptive_gauss(cv, p):
    return lambda: cv.adaptiveThreshold(p.gray, 255, cv.ADAPTIVE_THRESH_GAUSSIAN_C, cv.THRESH_BINARY, 11, 2)


@row("equalizeHist", most_used=True)
def equalize(cv, p):
    return lambda: cv.equalizeHist(p.gray)


@row("CLAHE")
def clahe(cv, p):
    equalizer = cv.createCLAHE(2.0, (8, 8))
    return lambda: equalizer.apply(p.gray)


@row("integral", most_used=True)
def integral(cv, p):
    return lambda: cv.integral(p.gray)


@row("integral color")
def integral_color(cv, p):
    return lambda: cv.integral(p.color)


@row("integral2")
def integral_2(cv, p):
    return lambda: cv.integral2(p.gray)


@row("integral3")
def integral_3(cv, p):
    return lambda: cv.integral3(p.gray)


@row("distanceTransform L2 3")
def distance_3(cv, p):
    return lambda: cv.distanceTransform(p.mask, cv.DIST_L2, 3)


@row("distanceTransform L2 5")
def distance_5(cv, p):
    return lambda: cv.distanceTransform(p.mask, cv.DIST_L2, 5)


@row("distanceTransform exact")
def distance_exact(cv, p):
    return lambda: cv.distanceTransform(p.mask, cv.DIST_L2, 0)


@row("distanceTransformWithLabels")
def distance_labels(cv, p):
    return lambda: cv.distanceTransformWithLabels(p.mask, cv.DIST_L2, 5)


@row("floodFill")
def flood_fill(cv, p):
    return lambda: cv.floodFill(p.color.copy(), None, (5, 5), (1, 2, 3), (40, 40, 40), (40, 40, 40))


@row("watershed")
def watershed(cv, p):
    markers = np.zeros(p.gray.shape, np.int32)
    markers[::37, ::41] = np.arange(1, markers[::37, ::41].size + 1).reshape(markers[::37, ::41].shape)
    return lambda: cv.watershed(p.color, markers.copy())
