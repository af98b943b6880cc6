# SPDX-License-Identifier: Apache-2.0
"""MNN.audio: minnow.audio with MNN's names and signatures. Like MNN's, windows are symmetric and mel filters have the area 1 by default."""
from __future__ import annotations

from typing import Any

from minnow import audio
from minnow import numpy as np
from minnow._minnow import InvalidArgument
from minnow.compat import numpy as mnp
from minnow.compat._values import Var, as_mnn, careful, own

HAMMING, HANNING, POVEY, RECTANGULAR, BLACKMAN = 0, 1, 2, 3, 4
CONSTANT, REFLECT, SYMMETRIC, EDGE = 0, 1, 2, 3
_WINDOWS = {HAMMING: audio.hamming_window, HANNING: audio.hann_window, POVEY: audio.povey_window, RECTANGULAR: lambda size, periodic: np.ones([size], "float32"),
            BLACKMAN: audio.blackman_window}
_PADDINGS = {CONSTANT: "constant", REFLECT: "reflect", SYMMETRIC: "symmetric", EDGE: "edge"}


def load(filename: str, sr: int = 0, frame_offset: int = 0, num_frames: int = -1) -> tuple[Var, int]:
    """Read the first channel of a WAV file, and return it with its rate. If sr is given, resample to this rate by linear interpolation."""
    samples, rate = audio.load(filename, start=frame_offset, frames=None if num_frames <= 0 else num_frames)
    made = samples[0]
    if sr > 0 and sr != rate:
        made, rate = audio.resample(made, rate, sr, method="linear"), sr
    return as_mnn(made), rate


def save(filename: str, audio: Any, sample_rate: int) -> bool:
    """Write a 16-bit WAV file. Samples are clipped to -1 ... 1."""
    from minnow.audio import _write
    values = np.ravel(own(mnp.asarray(audio))).astype("float32")
    _write(filename, np.trunc(np.clip(values, -1, 1) * np.float32(32767)).astype("int16").numpy().tobytes(), 1, sample_rate, 1, 16)
    return True


def hamming_window(window_size: int, periodic: bool = False, alpha: float = 0.54, beta: float = 0.46) -> Var:
    """Return Hamming's window, alpha - beta cos."""
    return as_mnn(audio.hamming_window(window_size, bool(periodic), alpha, beta))  # type: ignore[no-any-return]


def hann_window(window_size: int, periodic: bool = False) -> Var:
    """Return Hann's window, (1 - cos) / 2."""
    return as_mnn(audio.hann_window(window_size, bool(periodic)))  # type: ignore[no-any-return]


hanning_window = hann_window


def _filters(n_mels: int, n_fft: int, rate: int, htk: bool, norm: bool, f_min: float, f_max: float) -> Any:
    return audio.mel_filters(n_mels, n_fft, rate, low=f_min, high=f_max if f_max > 0 else None, scale="htk" if htk else "slaney", norm=None if htk and norm else "slaney")


def melscale_fbanks(n_mels: int, n_fft: int, sampe_rate: int = 16000, htk: bool = True, norm: bool = False, f_min: float = 0.0, f_max: float = 0.0) -> Var:
    """Return triangular filters [n_mels, n_fft // 2 + 1]. Like MNN, htk and norm together give filters with the peak 1, and otherwise the area is 1."""
    return as_mnn(_filters(n_mels, n_fft, sampe_rate, htk, norm, f_min, f_max))  # type: ignore[no-any-return]


def _spectrogram(x: Any, n_fft: int, hop_length: int, win_length: int, window_type: int, pad_left: int, pad_right: int, center: bool, normalized: bool, pad_mode: int,
                 power: float) -> Any:
    if window_type not in _WINDOWS or pad_mode not in _PADDINGS:
        raise InvalidArgument(f"windows are numbered from 0 to 4 and ways to pad from 0 to 3, not {window_type} and {pad_mode}")
    samples = np.ravel(own(mnp.asarray(x))).astype("float32", copy=False)
    if pad_left > 1 or pad_right > 1:
        samples = np.pad(samples, (pad_left, pad_right))
    window = _WINDOWS[window_type](win_length or n_fft, False)
    if center and _PADDINGS[pad_mode] != "reflect":
        samples, center = np.pad(samples, (n_fft // 2, n_fft // 2), _PADDINGS[pad_mode]), False
    return audio.spectrogram(samples, n_fft, hop_length or n_fft // 2, window, center=bool(center), power=power, normalized=bool(normalized))


def spectrogram(waveform: Any, n_fft: int = 400, hop_length: int = 0, win_length: int = 0, window_type: int = HANNING, pad_left: int = 0, pad_right: int = 0,
                center: bool = False, normalized: bool = False, pad_mode: int = REFLECT, power: float = 2.0) -> Var:
    """Return the magnitudes raised to `power`, [frames, n_fft // 2 + 1]."""
    return as_mnn(_spectrogram(waveform, n_fft, hop_length, win_length, window_type, pad_left, pad_right, center, normalized, pad_mode, power))  # type: ignore[no-any-return]


def mel_spectrogram(waveform: Any, n_mels: int, n_fft: int, sampe_rate: int = 16000, htk: bool = True, norm: bool = False, f_min: float = 0.0, f_max: float = 0.0,
                    hop_length: int = 0, win_length: int = 0, window_type: int = HANNING, pad_left: int = 0, pad_right: int = 0, center: bool = False,
                    normalized: bool = False, pad_mode: int = REFLECT, power: float = 2.0) -> Var:
    """Return the spectrogram on the mel scale, [frames, n_mels]."""
    bins = _spectrogram(waveform, n_fft, hop_length, win_length, window_type, pad_left, pad_right, center, normalized, pad_mode, power)
    return as_mnn(np.matmul(bins, _filters(n_mels, n_fft, sampe_rate, htk, norm, f_min, f_max).T))  # type: ignore[no-any-return]


def fbank(waveform: Any, sample_rate: int = 16000, n_mels: int = 80, n_fft: int = 400, hop_length: int = 160, dither: float = 0.0, preemphasis: float = 0.97) -> Var:
    """Return logarithms of mel energies, [frames, n_mels].

    Like MNN, the length of a transform is rounded up to a power of two, so that it reaches into the next frame, and the last frame is missing.
    minnow.audio.fbank() follows Kaldi instead."""
    from minnow import expr
    samples = np.ravel(own(mnp.asarray(waveform))).astype("float32")
    count = (samples.shape[0] - n_fft) // hop_length + 1 if samples.shape[0] >= n_fft else 0
    if count < 1:
        raise InvalidArgument(f"a frame of {n_fft} samples is longer than the sound, {samples.shape[0]}")
    frames = expr.gather(samples, np.arange(count, dtype="int64")[:, None] * hop_length + np.arange(n_fft, dtype="int64"), axis=0)
    if dither > 0:
        frames = frames + np.random.uniform(-dither, dither, [count, n_fft]).astype("float32")
    frames = audio._emphasized(frames - np.mean(frames, axis=1, keepdims=True), preemphasis)
    size = 1 << (n_fft - 1).bit_length()
    return as_mnn(np.log(own(mel_spectrogram(frames, n_mels, size, sample_rate, f_min=20.0, hop_length=n_fft))))  # type: ignore[no-any-return]


def whisper_fbank(waveform: Any, sample_rate: int = 16000, n_mels: int = 128, n_fft: int = 400, hop_length: int = 160, chunk_len: int = 30) -> Var:
    """Return Whisper's features, [1, n_mels, frames]: minnow.audio.log_mel() after padding with silence to chunk_len seconds."""
    samples = np.ravel(own(mnp.asarray(waveform))).astype("float32")
    silence = max(chunk_len * sample_rate - samples.shape[0], 0)
    return as_mnn(audio.log_mel(np.pad(samples, (0, silence)), sample_rate, n_mels, n_fft, hop_length, seconds=None)[None])  # type: ignore[no-any-return]


for _name, _value in list(globals().items()):
    if callable(_value) and getattr(_value, "__module__", "") == __name__ and not isinstance(_value, type) and not _name.startswith("_"):
        globals()[_name] = careful(_value, _name)

__all__ = ["BLACKMAN", "CONSTANT", "EDGE", "HAMMING", "HANNING", "POVEY", "RECTANGULAR", "REFLECT", "SYMMETRIC", "fbank", "hamming_window", "hann_window", "hanning_window", "load",
           "mel_spectrogram", "melscale_fbanks", "save", "spectrogram", "whisper_fbank"]
