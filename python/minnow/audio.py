# SPDX-License-Identifier: Apache-2.0
"""Sound: WAV files, windows, spectrograms, and the features that speech networks expect.

    samples, rate = audio.load("speech.wav")          # [channels, frames], -1 ... 1
    features = audio.log_mel(audio.resample(samples[0], rate, 16000))

Samples are the last axis. A spectrogram is [..., frames, bins].
"""
from __future__ import annotations

import math
import os
import struct
from typing import Any, BinaryIO, Callable

from minnow import _minnow, expr
from minnow import numpy as np
from minnow._functions import all_suggesting
from minnow._minnow import InvalidArgument, Var
from minnow._typing import VarLike



# ---- WAV files

def _read(data: bytes, name: str) -> tuple[Var, int]:
    if len(data) < 12 or data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise InvalidArgument(f"{name}: is no WAV file; it should begin with RIFF and WAVE")
    at, form, body = 12, b"", None
    while at + 8 <= len(data):
        kind, length = data[at:at + 4], int.from_bytes(data[at + 4:at + 8], "little")
        if kind == b"fmt ":
            form = data[at + 8:at + 8 + length]
        elif kind == b"data":
            body = data[at + 8:at + 8 + length]  # a stream may declare more than it has
            break
        at += 8 + length + length % 2
    if len(form) < 16 or body is None:
        raise InvalidArgument(f"{name}: lacks {'the samples' if len(form) >= 16 else 'a description of its samples (fmt)'}")
    code, channels, rate, _, block, bits = struct.unpack_from("<HHIIHH", form)
    if code == 0xFFFE and len(form) >= 26:  # extensible format: the code is the start of an identifier
        code, = struct.unpack_from("<H", form, 24)
    size = bits // 8
    if channels < 1 or rate < 1 or bits % 8 or block != channels * size or (code, bits) not in ((1, 8), (1, 16), (1, 24), (1, 32), (3, 32), (3, 64)):
        raise InvalidArgument(f"{name}: has {channels} channels of {bits} bits in blocks of {block} bytes, code {code}; there are PCM of 8, 16, 24 and 32 bits "
                              "and floating numbers of 32 and 64")
    count = len(body) // block
    body = body[:count * block]
    if (code, bits) == (1, 24):
        parts = _minnow.from_buffer(body, "uint8", [count * channels, 3]).astype("int32")
        value = parts[:, 0] + parts[:, 1] * 256 + parts[:, 2] * 65536
        samples = (value - np.where(value >= 1 << 23, 1 << 24, 0)).astype("float32") / (1 << 23)
    else:
        dtype = f"float{bits}" if code == 3 else "uint8" if bits == 8 else f"int{bits}"
        samples = _minnow.from_buffer(body, dtype, [count * channels]).astype("float32")
        if code == 1:
            samples = samples / 128 - 1 if bits == 8 else samples / float(1 << bits - 1)
    return samples.reshape(count, channels).T.clone().evaluate(), rate


def load(file: str | os.PathLike[str] | BinaryIO, *, start: int = 0, frames: int | None = None) -> tuple[Var, int]:
    """Read a WAV file.

    Parameters
    ----------
    file : path or binary file
        PCM of 8, 16, 24 or 32 bits, or floating numbers of 32 or 64 bits, any number of channels.
    start, frames : int
        The first frame, and the number of frames; None reads to the end.

    Returns
    -------
    samples : Var
        float32 [channels, frames]; PCM between -1 and 1.
    rate : int
        Frames a second.

    Raises
    ------
    InvalidArgument
        If the file is damaged or of another kind, or `start` lies beyond its end.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> audio.save(file, [0.0, 0.5, -1.0], 8000)
    >>> audio.load(io.BytesIO(file.getvalue()))
    (Var([[ 0. ,  0.5, -1. ]], shape=(1, 3), dtype=float32), 8000)
    """
    if isinstance(file, (str, os.PathLike)):
        name = os.fspath(file)
        with open(name, "rb") as opened:
            data = opened.read()
    else:
        name, data = str(getattr(file, "name", "the file")), file.read()
    samples, rate = _read(data, name)
    there = samples.shape[1]
    if not 0 <= start <= there or (frames is not None and frames < 0):
        raise InvalidArgument(f"{name}: has {there} frames; start is {start}, frames {frames}")
    return (samples if start == 0 and (frames is None or frames >= there) else samples[:, start:None if frames is None else start + frames].clone()), rate


_ENCODINGS = {"pcm8": (1, 8), "pcm16": (1, 16), "pcm24": (1, 24), "pcm32": (1, 32), "float32": (3, 32), "float64": (3, 64)}


def save(file: str | os.PathLike[str] | BinaryIO, samples: VarLike, rate: int, *, encoding: str = "pcm16") -> None:
    """Write a WAV file.

    Parameters
    ----------
    file : path or binary file
        An existing file is replaced once the new one is complete.
    samples : array
        [frames] or [channels, frames]. PCM encodings clip to -1 ... 1.
    rate : int
        Frames a second.
    encoding : str
        "pcm8", "pcm16", "pcm24", "pcm32", "float32" or "float64".

    Raises
    ------
    InvalidArgument
        For samples of other shapes, unknown encodings and more than 4 GB.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> audio.save(file, np.zeros((2, 100)), 44100, encoding="pcm24")
    >>> len(file.getvalue())
    644
    """
    if encoding not in _ENCODINGS:
        raise InvalidArgument(f'the encoding is "{encoding}"{_minnow.nearest(encoding, list(_ENCODINGS))}')
    code, bits = _ENCODINGS[encoding]
    values = np.atleast_2d(np.asarray(samples)).astype("float64")
    if values.ndim != 2 or not 0 < values.shape[0] < 1 << 16 or not 0 < rate < 1 << 32:
        raise InvalidArgument(f"save() takes [channels, frames] and a rate, not {values.shape} and {rate}")
    channels = values.shape[0]
    flat = values.T.reshape(-1)
    if code == 3:
        body = flat.astype(f"float{bits}")
    else:
        top = float(1 << bits - 1)
        numbers = np.clip(np.rint(np.nan_to_num(flat) * top), -top, top - 1).astype("int64")
        if bits == 24:
            low = np.where(numbers < 0, numbers + (1 << 24), numbers)
            body = np.stack([low % 256, low // 256 % 256, low // 65536], axis=1).astype("uint8")
        else:
            body = (numbers + 128).astype("uint8") if bits == 8 else numbers.astype(f"int{bits}")
    _write(file, body.numpy().tobytes(), channels, rate, code, bits)


def _write(file: Any, body: bytes, channels: int, rate: int, code: int, bits: int) -> None:
    block = channels * bits // 8
    if len(body) + 36 >= 1 << 32:
        raise InvalidArgument(f"a WAV file holds 4 GB, not {len(body)} bytes")
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(body) + len(body) % 2, b"WAVE", b"fmt ", 16, code, channels, rate, rate * block & 0xFFFFFFFF, block, bits, b"data", len(body))
    data = head + body + b"\0" * (len(body) % 2)
    if not isinstance(file, (str, os.PathLike)):
        file.write(data)
        return
    name = os.fspath(file)
    part = f"{name}.{os.getpid()}.part"
    try:
        with open(part, "wb") as opened:
            opened.write(data)
        os.replace(part, name)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise


def resample(samples: VarLike, rate: int, new_rate: int, *, method: str = "sinc") -> Var:
    """Change the number of frames a second.

    Parameters
    ----------
    samples : array
        The last axis is time.
    rate, new_rate : int
        Frames a second, before and after.
    method : str
        "sinc" keeps the sound band-limited (Smith 1984: a sinc with 32 zero crossings on each side under a Kaiser window). "linear" interpolates between
        two frames; it is cheap, but frequencies above half of the new rate become noise.

    Returns
    -------
    Var
        float32, ceil(frames * new_rate / rate) frames, or the floor of it with "linear".

    Raises
    ------
    InvalidArgument
        For rates below 1 and unknown methods.

    Examples
    --------
    >>> audio.resample([0.0, 1.0, 0.0], 1, 2, method="linear")
    Var([0. , 0.5, 1. , 0.5, 0. , 0. ], shape=(6,), dtype=float32)
    >>> audio.resample(np.zeros(16000), 16000, 44100).shape
    (44100,)
    """
    if rate < 1 or new_rate < 1:
        raise InvalidArgument(f"rates are at least 1, not {rate} and {new_rate}")
    if method not in ("sinc", "linear"):
        raise InvalidArgument(f'the method is "{method}"; there are "sinc" and "linear"')
    x = np.asarray(samples).astype("float32")
    if rate == new_rate or not x.shape[-1]:
        return x
    count, up, down = x.shape[-1], new_rate // math.gcd(rate, new_rate), rate // math.gcd(rate, new_rate)
    if method == "linear":
        places = np.arange(int(count * (new_rate / rate)), dtype="float64") * (rate / new_rate)
        before = np.floor(places).astype("int64")
        part = (places - before).astype("float32")
        after = np.minimum(before + 1, count - 1)
        return expr.gather(x, before, axis=-1) * (1 - part) + expr.gather(x, after, axis=-1) * part
    # There are `up` places between two frames, and each has its own filter.
    cutoff = min(1.0, up / down)
    reach = math.ceil(32 / cutoff)
    distance = (np.arange(up, dtype="float64") / up)[:, None] - np.arange(-reach + 1, reach + 1, dtype="float64")
    window = np.i0(14.77 * np.sqrt(np.maximum(1 - np.square(distance / reach), 0))) / np.i0(14.77)
    filters = (cutoff * np.sinc(cutoff * distance) * window).astype("float32")
    made = []
    padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(reach, reach + 1)])
    places = np.arange(-(-count * up // down), dtype="int64") * down
    base, phase = places // up, places % up
    for first in range(0, places.size, 65536):  # in parts, to bound the memory for windows
        rows = base[first:first + 65536, None] + np.arange(1, 2 * reach + 1, dtype="int64")
        windows = expr.gather(padded, rows, axis=-1)
        made.append(np.sum(windows * expr.gather(filters, phase[first:first + 65536], axis=0), axis=-1).evaluate())
    return made[0] if len(made) == 1 else np.concatenate(made, -1)


# ---- Windows

def _cosines(size: int, periodic: bool, *terms: float) -> Var:
    if size < 0:
        raise InvalidArgument(f"a window has a size, not {size}")
    if size < 2:
        return np.ones([size], "float32")
    angle = 2 * math.pi * np.arange(size, dtype="float64") / (size if periodic else size - 1)
    made = terms[0] + np.zeros_like(angle)
    for i, term in enumerate(terms[1:], 1):
        made = made + term * np.cos(i * angle)
    return made


def hann_window(size: int, periodic: bool = True) -> Var:
    """Return Hann's window, (1 - cos) / 2, float32 [size]. A periodic window has the period `size` and suits spectra; a symmetric one has `size` - 1.

    Raises InvalidArgument for a negative size.

    >>> audio.hann_window(4)
    Var([0. , 0.5, 1. , 0.5], shape=(4,), dtype=float32)
    """
    return _cosines(size, periodic, 0.5, -0.5).astype("float32")


def hamming_window(size: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46) -> Var:
    """Return Hamming's window, alpha - beta cos, float32 [size].

    Raises InvalidArgument for a negative size.

    >>> audio.hamming_window(4)
    Var([0.08, 0.54, 1.  , 0.54], shape=(4,), dtype=float32)
    """
    return _cosines(size, periodic, alpha, -beta).astype("float32")


def blackman_window(size: int, periodic: bool = True) -> Var:
    """Return Blackman's window, 0.42 - 0.5 cos(t) + 0.08 cos(2t), float32 [size].

    Raises InvalidArgument for a negative size.

    >>> audio.blackman_window(5, periodic=False).round(2)
    Var([-0.  ,  0.34,  1.  ,  0.34, -0.  ], shape=(5,), dtype=float32)
    """
    return _cosines(size, periodic, 0.42, -0.5, 0.08).astype("float32")


def povey_window(size: int, periodic: bool = True) -> Var:
    """Return Kaldi's window, Hann's to the power of 0.85, float32 [size].

    Raises InvalidArgument for a negative size.

    >>> audio.povey_window(5, periodic=False).round(3)
    Var([0.   , 0.555, 1.   , 0.555, 0.   ], shape=(5,), dtype=float32)
    """
    return np.power(np.maximum(_cosines(size, periodic, 0.5, -0.5), 0), 0.85).astype("float32")


def _ones(size: int, periodic: bool = True) -> Var:
    return np.ones([size], "float32")


_WINDOWS: dict[str, Callable[..., Var]] = {"hann": hann_window, "hamming": hamming_window, "blackman": blackman_window, "povey": povey_window, "rectangular": _ones}


def _window(window: Any, size: int, periodic: bool) -> Var:
    if isinstance(window, str):
        if window not in _WINDOWS:
            raise InvalidArgument(f'the window is "{window}"{_minnow.nearest(window, list(_WINDOWS))}')
        return _WINDOWS[window](size, periodic)
    made = np.asarray(window).astype("float32")
    if made.ndim != 1:
        raise InvalidArgument(f"a window is one vector, not {made.shape}")
    return made


# ---- Spectra

def spectrogram(samples: VarLike, n_fft: int = 400, hop_length: int | None = None, window: str | VarLike = "hann", *, win_length: int | None = None,
                center: bool = True, pad_mode: str = "reflect", power: float | None = 2.0, normalized: bool = False) -> Var:
    """Compute the magnitudes of the short-time Fourier transform.

    Parameters
    ----------
    samples : array
        [..., samples]. Placeholders with a fixed shape are accepted.
    n_fft : int
        The length of a transform.
    hop_length : int
        The distance between frames; None: a quarter of win_length.
    window : str or array
        "hann", "hamming", "blackman", "povey" or "rectangular" (periodic, with win_length elements), or the window itself. A window shorter than n_fft is
        centered.
    win_length : int
        The length of a named window; None: n_fft.
    center : bool
        Center frame i at sample i * hop_length: the sound is extended by n_fft // 2 on both sides.
    pad_mode : str
        How to extend it: "reflect", "constant" or "edge".
    power : float or None
        The power of the magnitudes: 2 gives energies. None gives complex numbers, [..., frames, n_fft // 2 + 1, 2].
    normalized : bool
        Divide energies by the window's sum of squares, and magnitudes by its root.

    Returns
    -------
    Var
        float32 [..., frames, n_fft // 2 + 1].

    Raises
    ------
    InvalidArgument
        If the sound is shorter than a frame, or an option is out of range.

    Examples
    --------
    >>> tone = np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000)
    >>> energies = audio.spectrogram(tone, 400, 160)
    >>> energies.shape, int(np.argmax(energies[50])) * 16000 / 400
    ((101, 201), 1000.0)
    """
    x = np.asarray(samples).astype("float32", copy=False)
    length = win_length or (n_fft if isinstance(window, str) else np.asarray(window).size)
    step = length // 4 if hop_length is None else hop_length
    if not 1 <= length <= n_fft or step < 1 or x.ndim < 1:
        raise InvalidArgument(f"a spectrogram takes samples on the last axis, a window between 1 and n_fft = {n_fft}, and steps of at least 1; not {length} and {step}")
    shape = _window(window, length, True)
    if length < n_fft:
        before = (n_fft - length) // 2
        shape = np.pad(shape, (before, n_fft - length - before))
    if center:
        if pad_mode not in ("reflect", "constant", "edge"):
            raise InvalidArgument(f'a sound is continued by "reflect", "constant" or "edge", not {pad_mode!r}')
        x = expr.pad(x, np.asarray([n_fft // 2, n_fft // 2], "int64"), None, np.asarray([-1], "int64"), mode=pad_mode)
    lead = x.shape[:-1]
    if x.shape[-1] < n_fft:
        raise InvalidArgument(f"a frame of {n_fft} samples is longer than the sound, {x.shape[-1]}")
    if n_fft <= 1024:  # n_fft = 400: a matrix product takes a fifth of the time of the transforms
        places = np.arange(1 + (x.shape[-1] - n_fft) // step, dtype="int64")[:, None] * step + np.arange(n_fft, dtype="int64")
        made = np.matmul(expr.gather(x, places, axis=-1), _transform(n_fft, shape))
        made = made.reshape(*made.shape[:-1], n_fft // 2 + 1, 2)
    else:
        made = expr.stft(x.reshape(math.prod(lead), x.shape[-1], 1), np.asarray(step, "int64"), shape, np.asarray(n_fft, "int64"))
        made = made.reshape(*lead, *made.shape[1:])
    factor = 1.0
    if normalized:
        factor = 1.0 / float(np.sum(np.square(shape)).item())
    if power is None:
        return made * np.float32(math.sqrt(factor))
    energies = np.sum(np.square(made), axis=-1)
    if normalized:
        energies = energies * np.float32(factor)
    return energies if power == 2 else np.sqrt(energies) if power == 1 else np.power(energies, np.float32(power / 2))


def _transform(n_fft: int, window: Var) -> Var:
    """Return [n_fft, bins * 2]: the window times cosine and negative sine of each bin, side by side."""
    turns = np.arange(n_fft, dtype="int64")[:, None] * np.arange(n_fft // 2 + 1, dtype="int64") % n_fft
    angle = turns.astype("float64") * (2 * math.pi / n_fft)
    parts = np.stack([np.cos(angle), -np.sin(angle)], axis=-1).reshape(n_fft, -1)
    return (parts * window.astype("float64")[:, None]).astype("float32")


def _mels(hertz: Any, scale: str) -> Any:
    if scale == "htk":
        return 2595 * np.log10(1 + hertz / 700)
    return np.where(hertz < 1000, hertz * 3 / 200, 15 + np.log(np.maximum(hertz, 1000) / 1000) * (27 / math.log(6.4)))


def _hertz(mels: Any, scale: str) -> Any:
    if scale == "htk":
        return 700 * (np.power(10.0, mels / 2595) - 1)
    return np.where(mels < 15, mels * 200 / 3, 1000 * np.exp((mels - 15) * (math.log(6.4) / 27)))


def mel_filters(count: int, n_fft: int, rate: int, *, low: float = 0.0, high: float | None = None, scale: str = "htk", norm: str | None = None) -> Var:
    """Compute triangular filters with equal distances on the mel scale (Davis and Mermelstein 1980).

    Parameters
    ----------
    count : int
        The number of filters.
    n_fft, rate : int
        The length of the transforms, and the frames a second of the sound.
    low, high : float
        The start of the first and the end of the last filter, in hertz; None: half the rate.
    scale : str
        "htk": 2595 log10(1 + f / 700). "slaney": linear below 1000 Hz, logarithmic above.
    norm : str or None
        "slaney": each filter has the area 1. None: each filter has the peak 1.

    Returns
    -------
    Var
        float32 [count, n_fft // 2 + 1]. Apply them as spectrogram @ filters.T.

    Raises
    ------
    InvalidArgument
        For unknown scales and norms, and for frequencies out of order.

    Examples
    --------
    >>> audio.mel_filters(2, 8, 8000).round(2)
    Var([[0.  , 0.68, 0.  , 0.  , 0.  ],
         [0.  , 0.32, 0.91, 0.45, 0.  ]], shape=(2, 5), dtype=float32)
    """
    end = rate / 2 if high is None else high
    if scale not in ("htk", "slaney") or norm not in ("slaney", None):
        raise InvalidArgument(f'scales are "htk" and "slaney", norms "slaney" and None; not {scale!r} and {norm!r}')
    if count < 1 or n_fft < 2 or not 0 <= low < end:
        raise InvalidArgument(f"{count} filters between {low} and {end} Hz for transforms of {n_fft} are not possible")
    edges = np.asarray([low, end], "float64")
    first, last = _mels(edges, scale).tolist()
    corners = _hertz(np.linspace(first, last, count + 2), scale)
    bins = np.arange(n_fft // 2 + 1, dtype="float64") * (rate / n_fft)
    left, middle, right = (corners[i:count + i, None] for i in range(3))
    made = np.maximum(np.minimum((bins - left) / (middle - left), (right - bins) / (right - middle)), 0)
    return (made * (2 / (right - left)) if norm else made).astype("float32")


def mel_spectrogram(samples: VarLike, rate: int = 16000, n_mels: int = 128, n_fft: int = 400, hop_length: int | None = None, window: str | VarLike = "hann", *, low: float = 0.0,
                    high: float | None = None, scale: str = "htk", norm: str | None = None, **options: Any) -> Var:
    """Compute a spectrogram on the mel scale, [..., frames, n_mels].

    low, high, scale and norm go to mel_filters(), all other options to spectrogram(), and so do their errors.

    Examples
    --------
    >>> audio.mel_spectrogram(np.zeros(16000), n_mels=40, hop_length=160).shape
    (101, 40)
    """
    bins = spectrogram(samples, n_fft, hop_length, window, **options)
    return np.matmul(bins, mel_filters(n_mels, n_fft, rate, low=low, high=high, scale=scale, norm=norm).T)


def log_mel(samples: VarLike, rate: int = 16000, n_mels: int = 80, n_fft: int = 400, hop_length: int = 160, *, seconds: float | None = 30) -> Var:
    """Compute the features for Whisper (Radford and others 2022): scaled logarithms of mel energies with a range of 8 decades.

    Parameters
    ----------
    samples : array
        [samples] at `rate`.
    n_mels : int
        80, or 128 for Whisper large-v3.
    seconds : float or None
        Cut the sound or append silence to get this length; None keeps its length.

    Returns
    -------
    Var
        float32 [n_mels, frames]: [80, 3000] for 30 seconds.

    Raises
    ------
    InvalidArgument
        If there is more than one channel.

    Examples
    --------
    >>> audio.log_mel(np.zeros(16000)).shape
    (80, 3000)
    """
    x = np.asarray(samples).astype("float32", copy=False)
    if x.ndim != 1:
        raise InvalidArgument(f"log_mel() takes one channel, [samples], not {x.shape}")
    if seconds is not None:
        wanted = round(seconds * rate)
        x = x[:wanted] if x.shape[0] >= wanted else np.pad(x, (0, wanted - x.shape[0]))
    return _whisper(mel_spectrogram(x, rate, n_mels, n_fft, hop_length, scale="slaney", norm="slaney")[:-1])


def _whisper(energies: Var) -> Var:
    logarithms = np.log10(np.maximum(energies, np.float32(1e-10)))
    return ((np.maximum(logarithms, np.max(logarithms) - 8) + 4) / 4).T


def fbank(samples: VarLike, rate: int = 16000, n_mels: int = 80, frame_length: float = 25.0, frame_shift: float = 10.0, *, dither: float = 0.0, preemphasis: float = 0.97,
          window: str = "povey", remove_dc: bool = True, low: float = 20.0, high: float = 0.0) -> Var:
    """Compute Kaldi's filter banks: logarithms of mel energies. Only frames that lie completely inside the sound count.

    Parameters
    ----------
    samples : array
        [samples]. Networks trained with Kaldi expect 16-bit numbers: multiply the samples from load() by 32768.
    frame_length, frame_shift : float
        Milliseconds.
    dither : float
        The standard deviation of added noise.
    preemphasis : float
        The factor of the previous sample, which is subtracted.
    remove_dc : bool
        Subtract the mean of each frame.
    low, high : float
        Hertz. If high is 0 or negative, it counts from half the rate.

    Returns
    -------
    Var
        float32 [frames, n_mels].

    Raises
    ------
    InvalidArgument
        If there is more than one channel, or a frame has less than two samples.

    Examples
    --------
    >>> audio.fbank(np.ones(16000)).shape
    (98, 80)
    """
    x = np.asarray(samples).astype("float32", copy=False)
    size, step = int(rate * frame_length * 0.001), int(rate * frame_shift * 0.001)
    if x.ndim != 1 or size < 2 or step < 1:
        raise InvalidArgument(f"fbank() takes one channel, [samples], and frames of at least 2 samples; not {x.shape} and {size}")
    count = 1 + (x.shape[0] - size) // step
    if count < 1:
        return np.zeros([0, n_mels], "float32")
    n_fft = 1 << (size - 1).bit_length()
    frames = expr.gather(x, np.arange(count, dtype="int64")[:, None] * step + np.arange(size, dtype="int64"), axis=0)
    if dither:
        frames = frames + np.random.normal(0, dither, [count, size]).astype("float32")
    if remove_dc:
        frames = frames - np.mean(frames, axis=1, keepdims=True)
    frames = _emphasized(frames, preemphasis) * _window(window, size, False)
    padded = np.pad(frames, [(0, 0), (0, n_fft - size)])
    energies = spectrogram(padded.reshape(-1), n_fft, n_fft, "rectangular", center=False)
    end = high if high > 0 else rate / 2 + high
    first, last = _kaldi_mels(np.asarray([low, end], "float64")).tolist()
    corners, bins = np.linspace(first, last, n_mels + 2), _kaldi_mels(np.arange(n_fft // 2 + 1, dtype="float64") * (rate / n_fft))
    left, middle, right = (corners[i:n_mels + i, None] for i in range(3))
    filters = np.maximum(np.minimum((bins - left) / (middle - left), (right - bins) / (right - middle)), 0)
    filters[:, n_fft // 2] = 0  # Kaldi ignores the last bin
    return np.log(np.maximum(np.matmul(energies, filters.astype("float32").T), np.float32(1.1920929e-07)))


def _kaldi_mels(hertz: Any) -> Any:
    return 1127 * np.log(1 + hertz / 700)


def _emphasized(frames: Var, preemphasis: float) -> Var:
    return frames if not preemphasis else frames - np.float32(preemphasis) * np.concatenate([frames[:, :1], frames[:, :-1]], 1)


__all__ = ["blackman_window", "fbank", "hamming_window", "hann_window", "load", "log_mel", "mel_filters", "mel_spectrogram", "povey_window", "resample", "save",
           "spectrogram"]

all_suggesting(globals(), __all__, arrays=True)
