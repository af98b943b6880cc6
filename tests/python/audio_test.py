#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.audio against the same formulas in NumPy, and WAV files against Python's wave module."""
import io
import struct
import sys
import tempfile
import unittest
import wave
from pathlib import Path

try:
    import numpy as np

    import minnow
    from minnow import audio, expr
except ImportError as error:
    print(error)
    sys.exit(77)

RATE = 16000
TIME = np.arange(6000) / RATE
SOUND = (0.5 * np.sin(2 * np.pi * 440 * TIME) + 0.2 * np.sin(2 * np.pi * 3000 * TIME ** 2) + 0.02 * np.random.default_rng(5).standard_normal(TIME.size)).astype(np.float32)


def frames_of(x, size, step):
    return np.lib.stride_tricks.sliding_window_view(x, size)[::step]


class Spectra(unittest.TestCase):
    def test_attribute_of_the_package(self):
        self.assertIs(minnow.audio, audio)
        self.assertIn("audio", dir(minnow))

    def test_windows(self):
        for function, terms in ((audio.hann_window, (0.5, 0.5, 0)), (audio.hamming_window, (0.54, 0.46, 0)), (audio.blackman_window, (0.42, 0.5, 0.08))):
            for size in (1, 2, 7, 400):
                for periodic in (True, False):
                    angle = 2 * np.pi * np.arange(size) / max(size if periodic else size - 1, 1)
                    expected = terms[0] - terms[1] * np.cos(angle) + terms[2] * np.cos(2 * angle)
                    np.testing.assert_allclose(function(size, periodic), np.ones(1) if size == 1 else expected, atol=1e-6)
        np.testing.assert_allclose(audio.povey_window(9, False), np.hanning(9) ** 0.85, atol=1e-6)
        self.assertEqual(audio.hann_window(0).shape, (0,))

    def test_spectrogram(self):
        for n_fft, step, length in ((400, 160, 400), (512, 100, 400), (1200, 300, 1200), (33, 7, 20)):
            window = np.zeros(n_fft)
            before = (n_fft - length) // 2
            window[before:before + length] = np.hanning(length + 1)[:-1]
            for mode in ("reflect", "constant", "edge", None):
                x = SOUND if mode is None else np.pad(SOUND, n_fft // 2, mode)
                expected = np.abs(np.fft.rfft(frames_of(x, n_fft, step) * window)) ** 2
                options = {"center": mode is not None, "pad_mode": mode or "reflect", "win_length": length}
                np.testing.assert_allclose(audio.spectrogram(SOUND, n_fft, step, **options), expected, rtol=2e-3, atol=2e-4)
                np.testing.assert_allclose(audio.spectrogram(SOUND, n_fft, step, power=1, normalized=True, **options), np.sqrt(expected / np.sum(window ** 2)), rtol=2e-3, atol=2e-4)
        several = audio.spectrogram(np.stack([SOUND, SOUND * 2]), 400, 160)
        self.assertEqual(several.shape, (2, 38, 201))
        np.testing.assert_allclose(several[1], 4 * np.asarray(several[0]), rtol=1e-3, atol=1e-3)
        parts = np.asarray(audio.spectrogram(SOUND, 400, 160, power=None))
        np.testing.assert_allclose((parts ** 2).sum(-1), several[0], rtol=1e-3, atol=1e-4)

    def test_placeholders(self):
        x = expr.placeholder("x", "float32", [6000])
        bins = audio.spectrogram(x, 400, 160)
        x.assign(SOUND)
        np.testing.assert_allclose(bins, audio.spectrogram(SOUND, 400, 160), rtol=1e-5, atol=1e-6)

    def test_mels(self):
        def mels(f, htk):
            return 2595 * np.log10(1 + f / 700) if htk else np.where(f < 1000, f * 0.015, 15 + 27 * np.log(np.maximum(f, 1) / 1000) / np.log(6.4))

        for htk in (True, False):
            grid = np.linspace(0, 8000, 2000001)
            corners = np.interp(np.linspace(mels(np.float64(100), htk), mels(np.float64(7000), htk), 42), mels(grid, htk), grid)
            bins = np.arange(201) * RATE / 400
            expected = np.array([np.interp(bins, corners[i:i + 3], [0, 1, 0]) for i in range(40)])
            for norm in (None, "slaney"):
                factor = 1 if norm is None else (2 / (corners[2:] - corners[:-2]))[:, None]
                found = audio.mel_filters(40, 400, RATE, low=100, high=7000, scale="htk" if htk else "slaney", norm=norm)
                np.testing.assert_allclose(found, expected * factor, rtol=1e-4, atol=2e-5)
        energies = np.asarray(audio.mel_spectrogram(SOUND, RATE, 40, 400, 160))
        np.testing.assert_allclose(energies, np.asarray(audio.spectrogram(SOUND, 400, 160)) @ np.asarray(audio.mel_filters(40, 400, RATE)).T, rtol=1e-4, atol=1e-5)
        self.assertEqual(audio.log_mel(SOUND).shape, (80, 3000))
        self.assertEqual(audio.log_mel(SOUND, seconds=0.25).shape, (80, 25))
        whole = np.asarray(audio.log_mel(SOUND))
        self.assertAlmostEqual(float(whole.max() - whole.min()), 2, places=4)  # 8 decades by 4

    def test_filter_banks(self):
        frames = frames_of(SOUND * 32768, 400, 160)
        frames = frames - frames.mean(1, keepdims=True)
        frames = (frames - 0.97 * np.concatenate([frames[:, :1], frames[:, :-1]], 1)) * np.hanning(400) ** 0.85
        energies = np.abs(np.fft.rfft(frames, 512)) ** 2
        corners, bins = np.linspace(1127 * np.log(1 + 20 / 700), 1127 * np.log(1 + 8000 / 700), 82), 1127 * np.log(1 + np.arange(257) * RATE / 512 / 700)
        filters = np.array([np.interp(bins, corners[i:i + 3], [0, 1, 0]) for i in range(80)])
        np.testing.assert_allclose(audio.fbank(SOUND * 32768), np.log(energies @ filters.T), rtol=1e-3, atol=1e-3)
        self.assertEqual(audio.fbank(SOUND[:300]).shape, (0, 80))
        self.assertFalse(np.array_equal(audio.fbank(SOUND, dither=1.0), audio.fbank(SOUND)))

    def test_other_rates(self):
        tone = np.sin(2 * np.pi * 440 * TIME).astype(np.float32)
        for rate in (8000, 11025, 22050, 48000):
            for method, near in (("sinc", 1e-4), ("linear", 5e-3)):
                found = np.asarray(audio.resample(np.stack([tone, tone]), RATE, rate, method=method))
                self.assertEqual(found.shape, (2, -(-6000 * rate // RATE) if method == "sinc" else 6000 * rate // RATE))
                expected = np.sin(2 * np.pi * 440 * np.arange(found.shape[1]) / rate)
                np.testing.assert_allclose(found[1, 100:-100], expected[100:-100], atol=near)
        high = np.sin(2 * np.pi * 7000 * TIME).astype(np.float32)
        self.assertLess(np.abs(np.asarray(audio.resample(high, RATE, 8000))[100:-100]).max(), 1e-3)  # above the new band

    def test_errors_say_what_is_wrong(self):
        for call, text in ((lambda: audio.spectrogram(SOUND[:100], 400, center=False), "longer than the sound, 100"), (lambda: audio.spectrogram(SOUND, 400, window="han"), '"hann"'),
                           (lambda: audio.mel_filters(4, 64, 8000, low=5000), "not possible"), (lambda: audio.mel_filters(4, 64, 8000, scale="bark"), "scales are"),
                           (lambda: audio.resample(SOUND, 0, 1), "at least 1"), (lambda: audio.log_mel(np.stack([SOUND, SOUND])), "one channel"),
                           (lambda: audio.spectrogram(SOUND, pad_mode="wrap"), "not 'wrap'"), (lambda: audio.save(io.BytesIO(), SOUND, RATE, encoding="pcm17"), '"pcm16"')):
            with self.assertRaisesRegex(minnow.InvalidArgument, text):
                call()


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_what_is_written_is_read(self):
        sound = np.stack([SOUND[:999], SOUND[999:1998]])
        for encoding, near in (("pcm8", 1 / 128), ("pcm16", 2 ** -15), ("pcm24", 2 ** -23), ("pcm32", 1e-7), ("float32", 0), ("float64", 0)):
            path = self.folder / f"{encoding}.wav"
            audio.save(path, sound, RATE, encoding=encoding)
            samples, rate = audio.load(path)
            self.assertEqual((rate, samples.shape, str(samples.dtype)), (RATE, (2, 999), "float32"))
            np.testing.assert_allclose(samples, sound, atol=near)
            audio.save(path, samples, RATE, encoding=encoding)
            np.testing.assert_array_equal(audio.load(path)[0], samples)
            np.testing.assert_array_equal(audio.load(path, start=10, frames=20)[0], np.asarray(samples)[:, 10:30])
        audio.save(self.folder / "loud.wav", np.float32([2, -2, np.nan]), 8000)
        np.testing.assert_allclose(audio.load(self.folder / "loud.wav")[0], [[32767 / 32768, -1, 0]])
        self.assertEqual([path.name for path in self.folder.iterdir() if "part" in path.name], [])

    def test_beside_pythons_reader(self):
        path = self.folder / "a.wav"
        numbers = np.random.default_rng(1).integers(-32768, 32767, (50, 3)).astype("<i2")
        with wave.open(str(path), "wb") as file:
            file.setparams((3, 2, 44100, 50, "NONE", ""))
            file.writeframes(numbers.tobytes())
        samples, rate = audio.load(path)
        self.assertEqual(rate, 44100)
        np.testing.assert_array_equal(samples, numbers.T.astype(np.float32) / 32768)
        audio.save(path, samples, 44100)
        with wave.open(str(path)) as file:
            self.assertEqual((file.getnchannels(), file.getframerate(), file.readframes(50)), (3, 44100, numbers.tobytes()))

    def test_other_chunks(self):
        body = struct.pack("<4h", 1, -2, 3, -4)

        def chunk(kind, data, length=None):
            return kind + struct.pack("<I", len(data) if length is None else length) + data + b"\0" * (len(data) % 2)

        plain = struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16)
        extensible = struct.pack("<HHIIHHHHIH14s", 0xFFFE, 1, 8000, 16000, 2, 16, 22, 16, 4, 1, bytes(14))
        for form in (plain, extensible):
            for data in (chunk(b"data", body), chunk(b"data", body, 0xFFFFFFFF), chunk(b"data", body + b"x", len(body) + 1)):
                whole = b"RIFF\0\0\0\0WAVE" + chunk(b"JUNK", b"odd") + chunk(b"fmt ", form) + chunk(b"LIST", b"") + data
                np.testing.assert_allclose(audio.load(io.BytesIO(whole))[0], np.float32([[1, -2, 3, -4]]) / 32768)

    def test_files_that_are_none(self):
        audio.save(self.folder / "a.wav", SOUND[:10], 8000)
        good = (self.folder / "a.wav").read_bytes()
        cases = [(b"", "is no WAV file"), (b"RIFX" + good[4:], "is no WAV file"), (good[:30], "lacks a description"), (good[:40], "lacks the samples"),
                 (good[:20] + struct.pack("<H", 85) + good[22:], "code 85"), (good[:22] + struct.pack("<H", 0) + good[24:], "has 0 channels"),
                 (good[:32] + struct.pack("<H", 7) + good[34:], "blocks of 7 bytes"), (good[:34] + struct.pack("<H", 12) + good[36:], "of 12 bits"),
                 (good[:24] + bytes(4) + good[28:], "channels")]
        for i, (data, text) in enumerate(cases):
            path = self.folder / f"{i}.wav"
            path.write_bytes(data)
            with self.assertRaisesRegex(minnow.InvalidArgument, rf"{i}\.wav: .*{text}"):
                audio.load(path)
        random = np.random.default_rng(2)
        for _ in range(300):
            data = bytearray(good)
            for place in random.integers(0, len(data), 3):
                data[place] = random.integers(0, 256)
            try:
                audio.load(io.BytesIO(bytes(data)))
            except minnow.InvalidArgument:
                pass
        with self.assertRaisesRegex(minnow.InvalidArgument, "has 10 frames; start is 11"):
            audio.load(self.folder / "a.wav", start=11)
        with self.assertRaises(OSError):
            audio.load(self.folder / "nowhere.wav")
        with self.assertRaises(OSError):
            audio.save(self.folder / "nowhere" / "a.wav", SOUND, 8000)


if __name__ == "__main__":
    unittest.main()
