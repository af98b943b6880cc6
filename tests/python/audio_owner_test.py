#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.audio gives the same numbers as librosa, kaldi_native_fbank and soundfile."""
import io
import sys
import unittest
import warnings

try:
    import kaldi_native_fbank
    import librosa
    import numpy as np
    import soundfile

    from minnow import audio
except ImportError as error:
    print(error)
    sys.exit(77)

warnings.filterwarnings("ignore", message="Empty filters")
RATE = 16000
TIME = np.arange(RATE * 2) / RATE
SOUND = (0.4 * np.sin(2 * np.pi * 440 * TIME) + 0.2 * np.sin(2 * np.pi * (200 + 1500 * TIME) * TIME) + 0.05 * np.random.default_rng(5).standard_normal(TIME.size)).astype(np.float32)


class Owners(unittest.TestCase):
    def test_spectrograms(self):
        for window in ("hann", "hamming", "blackman"):
            for options in ({}, {"win_length": 300}, {"center": False}, {"pad_mode": "constant"}, {"n_fft": 512, "hop_length": 100}):
                given = {"n_fft": 400, "hop_length": 160, **options}
                expected = np.abs(librosa.stft(SOUND, window=window, pad_mode=given.pop("pad_mode", "reflect"), **given)).T
                found = audio.spectrogram(SOUND, window=window, power=1.0, **{"n_fft": 400, "hop_length": 160, **options})
                np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-4)

    def test_mel_filters(self):
        for htk in (True, False):
            for norm in (None, "slaney"):
                for count, n_fft, low, high in ((80, 400, 0, None), (128, 512, 20, 7600), (23, 256, 300, 3400)):
                    expected = librosa.filters.mel(sr=RATE, n_fft=n_fft, n_mels=count, fmin=low, fmax=high, htk=htk, norm=norm)
                    np.testing.assert_allclose(audio.mel_filters(count, n_fft, RATE, low=low, high=high, scale="htk" if htk else "slaney", norm=norm), expected, rtol=1e-4, atol=1e-6)

    def test_mel_spectrograms(self):
        expected = librosa.feature.melspectrogram(y=SOUND, sr=RATE, n_fft=400, hop_length=160, n_mels=80, pad_mode="reflect").T
        found = audio.mel_spectrogram(SOUND, RATE, 80, 400, 160, scale="slaney", norm="slaney")
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
        logarithms = np.log10(np.maximum(expected[:-1], 1e-10))
        np.testing.assert_allclose(audio.log_mel(SOUND, RATE, 80, seconds=None), ((np.maximum(logarithms, logarithms.max() - 8) + 4) / 4).T, rtol=1e-3, atol=1e-4)

    def test_kaldis_filter_banks(self):
        for rate, count, window, dc, emphasis in ((16000, 80, "povey", True, 0.97), (16000, 23, "hamming", False, 0.0), (8000, 40, "povey", True, 0.5)):
            options = kaldi_native_fbank.FbankOptions()
            options.frame_opts.samp_freq, options.frame_opts.dither, options.frame_opts.window_type = rate, 0.0, window
            options.frame_opts.remove_dc_offset, options.frame_opts.preemph_coeff, options.mel_opts.num_bins = dc, emphasis, count
            options.frame_opts.snip_edges = True
            computed = kaldi_native_fbank.OnlineFbank(options)
            computed.accept_waveform(rate, (SOUND * 32768).tolist())
            computed.input_finished()
            expected = np.stack([computed.get_frame(i) for i in range(computed.num_frames_ready)])
            found = audio.fbank(SOUND * 32768, rate, count, window=window, remove_dc=dc, preemphasis=emphasis)
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-3)

    def test_files(self):
        sound = np.stack([SOUND[:1001], SOUND[1001:2002]])
        for kind, encoding in (("PCM_U8", "pcm8"), ("PCM_16", "pcm16"), ("PCM_24", "pcm24"), ("PCM_32", "pcm32"), ("FLOAT", "float32"), ("DOUBLE", "float64")):
            for container in ("WAV", "WAVEX"):
                written = io.BytesIO()
                soundfile.write(written, sound.T, RATE, subtype=kind, format=container)
                written.seek(0)
                expected, rate = soundfile.read(io.BytesIO(written.getvalue()), dtype="float32", always_2d=True)
                samples, found = audio.load(written)
                self.assertEqual(found, rate)
                np.testing.assert_allclose(samples, expected.T, rtol=1e-6, atol=1e-7)
            made = io.BytesIO()
            audio.save(made, sound, RATE, encoding=encoding)
            values, rate = soundfile.read(io.BytesIO(made.getvalue()), dtype="float32", always_2d=True)
            self.assertEqual((rate, soundfile.info(io.BytesIO(made.getvalue())).subtype), (RATE, kind))
            np.testing.assert_allclose(values.T, sound, rtol=1e-6, atol=0.6 / 128 if encoding == "pcm8" else 1 / 32768)

    def test_other_rates(self):
        tone = np.sin(2 * np.pi * 440 * np.arange(RATE) / RATE).astype(np.float32)
        for rate in (8000, 11025, 22050, 44100, 48000):
            found = np.asarray(audio.resample(tone, RATE, rate))
            expected = np.sin(2 * np.pi * 440 * np.arange(found.size) / rate)
            inner = slice(found.size // 10, -(found.size // 10))
            np.testing.assert_allclose(found[inner], expected[inner], atol=2e-4)
            noise = librosa.resample(SOUND, orig_sr=RATE, target_sr=rate, res_type="soxr_vhq")
            one, other = (np.fft.rfft(sound[1000:noise.size - 1000] * np.hanning(noise.size - 2000)) for sound in (noise, np.asarray(audio.resample(SOUND, RATE, rate))))
            band = slice(0, int(0.85 * one.size * min(RATE, rate) / rate))
            self.assertLess(np.linalg.norm(one[band] - other[band]) / np.linalg.norm(one[band]), 1e-4)


if __name__ == "__main__":
    unittest.main()
