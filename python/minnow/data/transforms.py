# SPDX-License-Identifier: Apache-2.0
"""Transforms of pictures, with torchvision's names and arguments, by minnow.cv.

A picture is an array [height, width, channels] or [height, width], uint8 or float32, until ToTensor makes it float32 [channels, height, width];
Normalize and RandomErasing come after that. Mixup and CutMix take batches. A random transform draws from a stream of its own for each sample
(data.stream()), so that results depend neither on the number of workers nor on what other transforms draw.
"""
from __future__ import annotations

import math
from typing import Any, Callable, Sequence

import numpy

from minnow import cv
from minnow._minnow import InvalidArgument
from minnow.data._random import stream

Transform = Callable[[Any], Any]

_INTERPOLATIONS = {"nearest": cv.INTER_NEAREST, "bilinear": cv.INTER_LINEAR, "bicubic": cv.INTER_CUBIC, "lanczos": cv.INTER_LANCZOS4}
_PADDINGS = {"constant": cv.BORDER_CONSTANT, "edge": cv.BORDER_REPLICATE, "reflect": cv.BORDER_REFLECT_101, "symmetric": cv.BORDER_REFLECT}


def _chosen(value: str, table: dict[str, int], what: str) -> int:
    if value not in table:
        raise InvalidArgument(f"{what} is one of {', '.join(table)}, not {value!r:.60}")
    return table[value]


def _pair(value: Any, what: str) -> tuple[int, int]:
    """(height, width)"""
    pair = (value, value) if isinstance(value, int) else tuple(value) if isinstance(value, (tuple, list)) else ()
    if len(pair) != 2 or not all(isinstance(one, int) and not isinstance(one, bool) and one > 0 for one in pair):
        raise InvalidArgument(f"{what} is a number of pixels, or (height, width), not {value!r:.60}")
    return int(pair[0]), int(pair[1])


def _range(value: Any, what: str, least: float = -math.inf) -> tuple[float, float]:
    pair = tuple(value) if isinstance(value, (tuple, list)) else ()
    if len(pair) != 2 or not all(isinstance(one, (int, float)) for one in pair) or not least <= pair[0] <= pair[1]:
        raise InvalidArgument(f"{what} is a pair of numbers in rising order{'' if least == -math.inf else f' from {least:g}'}, not {value!r:.60}")
    return float(pair[0]), float(pair[1])


def _share(p: Any, what: str = "p") -> float:
    if not isinstance(p, (int, float)) or not 0 <= p <= 1:
        raise InvalidArgument(f"{what} is a number from 0 to 1, not {p!r:.60}")
    return float(p)


def _picture(picture: Any) -> Any:
    made = numpy.asarray(picture)
    if made.ndim not in (2, 3) or not made.size:
        raise InvalidArgument(f"a picture is an array [height, width] or [height, width, channels], not one of shape {made.shape}")
    return made


def _like(made: Any, picture: Any) -> Any:
    """With the axis of a single channel, which minnow.cv leaves out."""
    made = numpy.asarray(made)
    return made[..., None] if made.ndim < picture.ndim else made


def _fill(fill: Any) -> Any:
    return tuple(float(one) for one in (fill if isinstance(fill, (tuple, list)) else [fill] * 4))


def _resized(picture: Any, height: int, width: int, interpolation: int) -> Any:
    if picture.shape[:2] == (height, width):
        return picture
    return _like(cv.resize(picture, (width, height), interpolation=interpolation), picture)


def _warped(picture: Any, matrix: Any, interpolation: int, fill: Any) -> Any:
    height, width = picture.shape[:2]
    return _like(cv.warpAffine(picture, matrix, (width, height), flags=interpolation, borderValue=_fill(fill)), picture)


class Compose:
    """Transforms one after another. Raises what they raise.

    >>> prepare = data.transforms.Compose([data.transforms.CenterCrop(2), data.transforms.ToTensor()])
    >>> prepare(np.full((4, 4, 3), 255, "uint8")).shape
    (3, 2, 2)
    """

    def __init__(self, transforms: Sequence[Transform]) -> None:
        self.transforms = list(transforms)

    def __call__(self, picture: Any) -> Any:
        for transform in self.transforms:
            picture = transform(picture)
        return picture

    def _many(self, pictures: Any) -> Any:
        """The same of a batch of pictures, if all transforms treat each alike; otherwise None."""
        if not all(hasattr(transform, "_many") for transform in self.transforms):
            return None
        for transform in self.transforms:
            pictures = transform._many(pictures)  # type: ignore[attr-defined]
            if pictures is None:
                return None
        return pictures

    def __repr__(self) -> str:
        return f"Compose([{', '.join(type(one).__name__ for one in self.transforms)}])"


class Lambda:
    """A function as a transform. Raises what it raises."""

    def __init__(self, lambd: Transform) -> None:
        self.lambd = lambd

    def __call__(self, picture: Any) -> Any:
        return self.lambd(picture)


class RandomApply:
    """Transforms that are applied together in a share `p` of cases. Raises InvalidArgument (a ValueError) for another p."""

    def __init__(self, transforms: Sequence[Transform], p: float = 0.5) -> None:
        self.inner, self.p = Compose(transforms), _share(p)

    def __call__(self, picture: Any) -> Any:
        return self.inner(picture) if stream().random() < self.p else picture


class RandomChoice:
    """One of several transforms, in proportion to the numbers in `p`. Raises InvalidArgument (a ValueError) for none."""

    def __init__(self, transforms: Sequence[Transform], p: Sequence[float] | None = None) -> None:
        self.transforms, self.p = list(transforms), p
        if not self.transforms or p is not None and len(p) != len(self.transforms):
            raise InvalidArgument("RandomChoice takes one transform or more, and a share for each")

    def __call__(self, picture: Any) -> Any:
        shares = None if self.p is None else numpy.array(self.p, numpy.float64) / sum(self.p)
        return self.transforms[int(stream().choice(len(self.transforms), p=shares))](picture)


class ToTensor:
    """float32 [channels, height, width] of a picture; uint8 is divided by 255. Raises InvalidArgument (a ValueError) for arrays that are no picture."""

    def __call__(self, picture: Any) -> Any:
        return self._many(_picture(picture)[None])[0]

    def _many(self, pictures: Any) -> Any:
        if pictures.ndim not in (3, 4):
            raise InvalidArgument(f"a picture is an array [height, width] or [height, width, channels]; these have the shape {pictures.shape[1:]}")
        pictures = pictures[..., None] if pictures.ndim == 3 else pictures
        made = numpy.empty((pictures.shape[0], pictures.shape[3], *pictures.shape[1:3]), numpy.float32)
        made[...] = pictures.transpose(0, 3, 1, 2)
        if pictures.dtype == numpy.uint8:
            made /= numpy.float32(255)
        return made


class Normalize:
    """(x - mean) / std for each channel of float32 [channels, height, width]. Raises InvalidArgument (a ValueError) for another number of channels
    and for a std of 0."""

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        self.mean, self.std = (numpy.array(one, numpy.float32).reshape(-1, 1, 1) for one in (mean, std))
        if self.mean.shape != self.std.shape or not (self.std != 0).all():
            raise InvalidArgument("mean and std are numbers for the same channels, and std is not 0")

    def __call__(self, picture: Any) -> Any:
        return self._many(numpy.asarray(picture)[None])[0]

    def _many(self, pictures: Any) -> Any:
        if pictures.ndim != 4 or pictures.dtype.kind != "f" or pictures.shape[1] != len(self.mean) != 1:
            raise InvalidArgument(f"Normalize takes what ToTensor gives, floats [{len(self.mean)}, height, width], not {pictures.dtype} {list(pictures.shape[1:])}")
        return (pictures - self.mean) / self.std


class Resize:
    """A picture of (height, width) pixels; with one number, its shorter side has that many and the shape is kept. antialias: smooth as PIL does when
    a picture becomes smaller. interpolation: "nearest", "bilinear", "bicubic" or "lanczos". Raises InvalidArgument (a ValueError) for other
    values."""

    def __init__(self, size: int | Sequence[int], interpolation: str = "bilinear", antialias: bool = True) -> None:
        self.size: int | tuple[int, int] = _pair(size, "size")[0] if isinstance(size, int) else _pair(size, "size")
        chosen = _chosen(interpolation, _INTERPOLATIONS, "interpolation")
        self.interpolation = chosen | (cv.INTER_ANTIALIAS if antialias and interpolation != "nearest" else 0)

    def __call__(self, picture: Any) -> Any:
        picture = _picture(picture)
        height, width = picture.shape[:2]
        if isinstance(self.size, int):
            short = min(height, width)
            return _resized(picture, height * self.size // short, width * self.size // short, self.interpolation)
        return _resized(picture, *self.size, self.interpolation)


class Pad:
    """A border of `padding` pixels: one number, (left and right, top and bottom), or (left, top, right, bottom); padding_mode: "constant" (of
    `fill`), "edge", "reflect" or "symmetric". Raises InvalidArgument (a ValueError) for other values."""

    def __init__(self, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> None:
        sides = [padding] if isinstance(padding, int) else list(padding)
        if len(sides) not in (1, 2, 4) or not all(isinstance(side, int) and side >= 0 for side in sides):
            raise InvalidArgument(f"padding is 1, 2 or 4 numbers of pixels, not {padding!r:.60}")
        self.left, self.top, self.right, self.bottom = (sides * 4)[:4] if len(sides) != 4 else sides
        self.fill, self.mode = fill, _chosen(padding_mode, _PADDINGS, "padding_mode")

    def __call__(self, picture: Any) -> Any:
        picture = _picture(picture)
        return _like(cv.copyMakeBorder(picture, self.top, self.bottom, self.left, self.right, self.mode, value=_fill(self.fill)), picture)


def _cropped(picture: Any, top: int, left: int, height: int, width: int) -> Any:
    return picture[top:top + height, left:left + width]


class CenterCrop:
    """The middle of a picture, (height, width) pixels, with a border of 0 where it is smaller. Raises InvalidArgument (a ValueError) for another
    size."""

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = _pair(size, "size")

    def __call__(self, picture: Any) -> Any:
        picture = _padded(_picture(picture), self.size, 0)
        height, width = self.size
        return _cropped(picture, int(round((picture.shape[0] - height) / 2)), int(round((picture.shape[1] - width) / 2)), height, width)


def _padded(picture: Any, size: tuple[int, int], fill: Any, mode: int = cv.BORDER_CONSTANT) -> Any:
    """With a border where the picture is smaller than `size`."""
    down, right = max(0, size[0] - picture.shape[0]), max(0, size[1] - picture.shape[1])
    if not down and not right:
        return picture
    return _like(cv.copyMakeBorder(picture, down // 2, down - down // 2, right // 2, right - right // 2, mode, value=_fill(fill)), picture)


class RandomCrop:
    """A part of a picture at a random place, (height, width) pixels; padding, fill, padding_mode: a border before that, as of Pad.
    pad_if_needed: a border for pictures that are smaller. Raises InvalidArgument (a ValueError) for such a picture without it."""

    def __init__(self, size: int | Sequence[int], padding: int | Sequence[int] | None = None, pad_if_needed: bool = False, fill: Any = 0,
                 padding_mode: str = "constant") -> None:
        self.size, self.pad_if_needed, self.fill = _pair(size, "size"), pad_if_needed, fill
        self.pad = None if padding is None else Pad(padding, fill, padding_mode)
        self.mode = _chosen(padding_mode, _PADDINGS, "padding_mode")

    def __call__(self, picture: Any) -> Any:
        picture = _picture(picture) if self.pad is None else self.pad(picture)
        height, width = self.size
        if self.pad_if_needed:
            picture = _padded(picture, self.size, self.fill, self.mode)
        down, right = picture.shape[0] - height, picture.shape[1] - width
        if down < 0 or right < 0:
            raise InvalidArgument(f"the picture has {picture.shape[0]} x {picture.shape[1]} pixels; RandomCrop takes {height} x {width}")
        random = stream()
        return _cropped(picture, int(random.integers(down + 1)), int(random.integers(right + 1)), height, width)


class RandomResizedCrop:
    """A part with a random share of the area (scale) and a random ratio of width to height, resized to (height, width) pixels. Raises
    InvalidArgument (a ValueError) for other values. Source: Szegedy et al., "Going deeper with convolutions", 2014."""

    def __init__(self, size: int | Sequence[int], scale: Sequence[float] = (0.08, 1.0), ratio: Sequence[float] = (3 / 4, 4 / 3), interpolation: str = "bilinear",
                 antialias: bool = True) -> None:
        self.size, self.scale, self.ratio = _pair(size, "size"), _range(scale, "scale", 0), _range(ratio, "ratio", 1e-6)
        self.interpolation = Resize(self.size, interpolation, antialias).interpolation

    def __call__(self, picture: Any) -> Any:
        picture = _picture(picture)
        height, width = picture.shape[:2]
        random = stream()
        for _ in range(10):
            area = height * width * random.uniform(*self.scale)
            ratio = math.exp(random.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            w, h = int(round(math.sqrt(area * ratio))), int(round(math.sqrt(area / ratio)))
            if 0 < w <= width and 0 < h <= height:
                top, left = int(random.integers(height - h + 1)), int(random.integers(width - w + 1))
                break
        else:  # the middle, with the nearest ratio
            ratio = min(max(width / height, self.ratio[0]), self.ratio[1])
            w, h = min(width, max(1, int(round(height * ratio)))), min(height, max(1, int(round(width / ratio))))
            top, left = (height - h) // 2, (width - w) // 2
        return _resized(numpy.ascontiguousarray(_cropped(picture, top, left, h, w)), *self.size, self.interpolation)


class RandomHorizontalFlip:
    """The picture mirrored in a share `p` of cases. Raises InvalidArgument (a ValueError) for another p."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = _share(p)

    def __call__(self, picture: Any) -> Any:
        return _picture(picture)[:, ::-1] if stream().random() < self.p else picture


class RandomVerticalFlip:
    """The picture upside down in a share `p` of cases. Raises InvalidArgument (a ValueError) for another p."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = _share(p)

    def __call__(self, picture: Any) -> Any:
        return _picture(picture)[::-1] if stream().random() < self.p else picture


class RandomAffine:
    """The picture turned by up to `degrees`, moved by up to a share `translate` = (of the width, of the height), scaled by a number in `scale`, and
    sheared by up to `shear` degrees (a number or a range); fill: beyond its border. Raises InvalidArgument (a ValueError) for other values."""

    def __init__(self, degrees: float | Sequence[float], translate: Sequence[float] | None = None, scale: Sequence[float] | None = None,
                 shear: float | Sequence[float] | None = None, interpolation: str = "nearest", fill: Any = 0) -> None:
        self.degrees = (-abs(degrees), abs(degrees)) if isinstance(degrees, (int, float)) else _range(degrees, "degrees")
        self.translate = tuple(_share(one, "translate") for one in (translate or (0, 0)))
        self.scale = (1.0, 1.0) if scale is None else _range(scale, "scale", 1e-6)
        self.shear = (-abs(shear), abs(shear)) if isinstance(shear, (int, float)) else (0.0, 0.0) if shear is None else _range(shear, "shear")
        self.interpolation, self.fill = _chosen(interpolation, _INTERPOLATIONS, "interpolation"), fill

    def __call__(self, picture: Any) -> Any:
        picture = numpy.ascontiguousarray(_picture(picture))
        height, width = picture.shape[:2]
        random = stream()
        angle, scale, shear = (random.uniform(*pair) for pair in (self.degrees, self.scale, self.shear))
        across, down = (random.uniform(-1, 1) * share * size for share, size in zip(self.translate, (width, height)))
        turn, lean = math.radians(angle), math.tan(math.radians(shear))
        matrix = scale * numpy.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]]) @ numpy.array([[1, -lean], [0, 1]])
        center = numpy.array([(width - 1) / 2, (height - 1) / 2])
        offset = center - matrix @ center + [across, down]
        return _warped(picture, numpy.column_stack([matrix, offset]), self.interpolation, self.fill)


class RandomRotation(RandomAffine):
    """The picture turned by up to `degrees`, or by an angle in the range `degrees`, counterclockwise; fill: beyond its border. Raises
    InvalidArgument (a ValueError) for other values."""

    def __init__(self, degrees: float | Sequence[float], interpolation: str = "nearest", fill: Any = 0) -> None:
        super().__init__(degrees, interpolation=interpolation, fill=fill)


def _gray(picture: Any) -> Any:
    """[height, width, 1], float32; the weights of ITU-R 601."""
    if picture.ndim == 2 or picture.shape[2] == 1:
        return picture.reshape(*picture.shape[:2], 1).astype(numpy.float32)
    return (picture[..., :3].astype(numpy.float32) @ numpy.float32([0.299, 0.587, 0.114]))[..., None]


def _as_before(made: Any, picture: Any) -> Any:
    """Within the range of the picture's dtype, and of that dtype."""
    if picture.dtype == numpy.uint8:
        return numpy.clip(made + 0.5, 0, 255).astype(numpy.uint8).reshape(picture.shape)
    return numpy.clip(made, 0, 1).astype(picture.dtype).reshape(picture.shape)


class Grayscale:
    """A gray picture, of 1 or 3 equal channels. Raises InvalidArgument (a ValueError) for another number."""

    def __init__(self, num_output_channels: int = 1) -> None:
        if num_output_channels not in (1, 3):
            raise InvalidArgument(f"num_output_channels is 1 or 3, not {num_output_channels!r:.60}")
        self.channels = num_output_channels

    def __call__(self, picture: Any) -> Any:
        picture = _picture(picture)
        gray = _gray(picture)
        return numpy.repeat(_as_before(gray, numpy.empty(gray.shape, picture.dtype)), self.channels, axis=2)


class RandomGrayscale:
    """Gray in all channels in a share `p` of cases. Raises InvalidArgument (a ValueError) for another p."""

    def __init__(self, p: float = 0.1) -> None:
        self.p = _share(p)

    def __call__(self, picture: Any) -> Any:
        if stream().random() >= self.p:
            return picture
        picture = _picture(picture)
        return _as_before(numpy.broadcast_to(_gray(picture), (*picture.shape[:2], picture.size // (picture.shape[0] * picture.shape[1]))), picture)


class ColorJitter:
    """Brightness, contrast and saturation times a random factor in [max(0, 1 - x), 1 + x], or in a range (low, high), and the hue turned by up to
    `hue` (0.5: half a circle), in random order. Raises InvalidArgument (a ValueError) for other values."""

    def __init__(self, brightness: float | Sequence[float] = 0, contrast: float | Sequence[float] = 0, saturation: float | Sequence[float] = 0,
                 hue: float | Sequence[float] = 0) -> None:
        def factors(value: Any, what: str) -> tuple[float, float]:
            return (max(0.0, 1.0 - value), 1.0 + value) if isinstance(value, (int, float)) and value >= 0 else _range(value, what, 0)
        self.brightness, self.contrast, self.saturation = factors(brightness, "brightness"), factors(contrast, "contrast"), factors(saturation, "saturation")
        self.hue = (-float(hue), float(hue)) if isinstance(hue, (int, float)) else _range(hue, "hue")
        if not -0.5 <= self.hue[0] <= self.hue[1] <= 0.5:
            raise InvalidArgument(f"hue is a number from 0 to 0.5, or a range within -0.5 and 0.5, not {hue!r:.60}")

    def __call__(self, picture: Any) -> Any:
        picture = _picture(picture)
        random = stream()
        factors = [random.uniform(*pair) for pair in (self.brightness, self.contrast, self.saturation, self.hue)]
        colored = picture.ndim == 3 and picture.shape[2] >= 3
        made = picture
        for which in random.permutation(4).tolist():
            factor = factors[which]
            if factor == (0 if which == 3 else 1) or which >= 2 and not colored:
                continue
            if which == 3:
                made = self._turned(made, factor)
                continue
            wide = made.astype(numpy.float32)
            other = numpy.float32(0) if which == 0 else _gray(made).mean() if which == 1 else _gray(made)
            made = _as_before(wide * numpy.float32(factor) + other * numpy.float32(1 - factor), made)
        return made

    @staticmethod
    def _turned(picture: Any, factor: float) -> Any:
        uint8 = picture.dtype == numpy.uint8
        circle = 180 if uint8 else 360
        hsv = numpy.array(cv.cvtColor(numpy.ascontiguousarray(picture[..., :3]), cv.COLOR_RGB2HSV))
        if uint8:
            hsv[..., 0] = (hsv[..., 0].astype(numpy.int32) + int(round(factor * circle))) % circle
        else:
            hsv[..., 0] = (hsv[..., 0] + factor * circle) % circle
        made = picture.copy()
        made[..., :3] = numpy.asarray(cv.cvtColor(hsv, cv.COLOR_HSV2RGB))
        return made


class GaussianBlur:
    """Smooths by a Gaussian of `kernel_size` odd pixels and a random sigma in the range. Raises InvalidArgument (a ValueError) for other values."""

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)) -> None:
        self.size = _pair(kernel_size, "kernel_size")
        self.sigma = (float(sigma), float(sigma)) if isinstance(sigma, (int, float)) else _range(sigma, "sigma", 1e-6)
        if not all(one % 2 for one in self.size):
            raise InvalidArgument(f"kernel_size is odd, not {kernel_size!r:.60}")

    def __call__(self, picture: Any) -> Any:
        picture = _picture(picture)
        return _like(cv.GaussianBlur(numpy.ascontiguousarray(picture), (self.size[1], self.size[0]), stream().uniform(*self.sigma)), picture)


class RandomErasing:
    """Fills a random rectangle of float32 [channels, height, width] with `value`, a number, one for each channel, or "random" normal ones, in a share `p`
    of cases. Raises InvalidArgument (a ValueError) for other values. Source: Zhong et al., "Random erasing data augmentation", 2017."""

    def __init__(self, p: float = 0.5, scale: Sequence[float] = (0.02, 0.33), ratio: Sequence[float] = (0.3, 3.3), value: Any = 0) -> None:
        self.p, self.scale, self.ratio, self.value = _share(p), _range(scale, "scale", 0), _range(ratio, "ratio", 1e-6), value

    def __call__(self, picture: Any) -> Any:
        picture = numpy.asarray(picture)
        if picture.ndim != 3 or picture.dtype.kind != "f":
            raise InvalidArgument(f"RandomErasing takes what ToTensor gives, floats [channels, height, width], not {picture.dtype} {list(picture.shape)}")
        random = stream()
        if random.random() >= self.p:
            return picture
        channels, height, width = picture.shape
        for _ in range(10):
            area = height * width * random.uniform(*self.scale)
            ratio = math.exp(random.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            h, w = int(round(math.sqrt(area * ratio))), int(round(math.sqrt(area / ratio)))
            if 0 < h < height and 0 < w < width:
                top, left = int(random.integers(height - h + 1)), int(random.integers(width - w + 1))
                made = picture.copy()
                made[:, top:top + h, left:left + w] = (random.standard_normal((channels, h, w)) if self.value == "random"
                                                       else numpy.reshape(self.value, (-1, 1, 1)))
                return made
        return picture


def _one_hot(labels: Any, classes: int) -> Any:
    labels = numpy.asarray(labels)
    if labels.ndim == 2:
        return labels.astype(numpy.float32)
    if labels.size and not (0 <= int(labels.min()) and int(labels.max()) < classes):
        raise InvalidArgument(f"the label {int(labels.min() if labels.min() < 0 else labels.max())} is none of the {classes} classes, from 0")
    return numpy.eye(classes, dtype=numpy.float32)[labels]


class Mixup:
    """Mixes each picture of a batch (pictures, labels) with the next one of a random order, and the labels alike: float32 [n, num_classes], which
    CrossEntropyLoss takes. Use it in collate_fn. Raises InvalidArgument (a ValueError) for labels out of range. Source: Zhang et al., "mixup: Beyond
    empirical risk minimization", 2017.

    >>> mix = data.transforms.Mixup(num_classes=3)
    >>> loader = data.DataLoader(pairs, 16, collate_fn=lambda samples: mix(*data.default_collate(samples)))  # doctest: +SKIP
    """

    def __init__(self, alpha: float = 1.0, *, num_classes: int) -> None:
        self.alpha, self.num_classes = alpha, num_classes
        if not alpha > 0 or num_classes < 1:
            raise InvalidArgument("alpha and num_classes are numbers above 0")

    def __call__(self, pictures: Any, labels: Any) -> tuple[Any, Any]:
        random = stream()
        share, order = random.beta(self.alpha, self.alpha), random.permutation(len(pictures))
        labels = _one_hot(labels, self.num_classes)
        pictures, share = self._joined(random, numpy.asarray(pictures), order, share)
        return pictures, labels * numpy.float32(share) + labels[order] * numpy.float32(1 - share)

    def _joined(self, random: Any, pictures: Any, order: Any, share: float) -> tuple[Any, float]:
        return pictures * numpy.float32(share) + pictures[order] * numpy.float32(1 - share), share


class CutMix(Mixup):
    """Puts a rectangle of another picture into each picture of a batch [n, channels, height, width], and mixes the labels by its area; see Mixup. Raises what
    Mixup raises. Source: Yun et al., "CutMix: Regularization strategy to train strong classifiers", 2019."""

    def _joined(self, random: Any, pictures: Any, order: Any, share: float) -> tuple[Any, float]:
        height, width = pictures.shape[-2:]
        side = math.sqrt(1 - share) / 2
        y, x = random.integers(height), random.integers(width)
        top, bottom = max(0, int(y - side * height)), min(height, int(y + side * height))
        left, right = max(0, int(x - side * width)), min(width, int(x + side * width))
        made = pictures.copy()
        made[..., top:bottom, left:right] = pictures[order][..., top:bottom, left:right]
        return made, 1 - (bottom - top) * (right - left) / (height * width)


__all__ = ["Compose", "Lambda", "RandomApply", "RandomChoice", "ToTensor", "Normalize", "Resize", "Pad", "CenterCrop", "RandomCrop", "RandomResizedCrop",
           "RandomHorizontalFlip", "RandomVerticalFlip", "RandomAffine", "RandomRotation", "Grayscale", "RandomGrayscale", "ColorJitter", "GaussianBlur",
           "RandomErasing", "Mixup", "CutMix"]
