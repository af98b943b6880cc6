# SPDX-License-Identifier: Apache-2.0
"""When does somebody speak? python voice_activity.py silero_vad.onnx SPEECH.wav (16 kHz, 16 bits, one channel)

Silero's network (package silero-vad) hears 32 ms at a time, with the 4 ms before them, and carries its state from call to call.
"""
import sys
import wave

import minnow

RATE, STEP, CONTEXT = 16000, 512, 64

model = minnow.load(sys.argv[1], threads=1)
with wave.open(sys.argv[2]) as file:
    if (file.getframerate(), file.getsampwidth(), file.getnchannels()) != (RATE, 2, 1):
        sys.exit(f"{sys.argv[2]}: not 16 kHz, 16 bits, one channel")
    samples = memoryview(file.readframes(file.getnframes())).cast("h")
sound = minnow.Var(samples).astype("float32") / 32768.0

state = minnow.Var([0.0] * 256, "float32").reshape(2, 1, 128)
speaking = False
for start in range(CONTEXT, len(samples) - STEP + 1, STEP):
    probability, state = model(sound[start - CONTEXT:start + STEP].reshape(1, -1), state, minnow.Var(RATE))
    loud = float(probability) > (0.35 if speaking else 0.5)  # what has begun ends later than it would begin
    if loud != speaking:
        speaking = loud
        print(f"{start / RATE:.2f} s: speech {'begins' if speaking else 'ends'}")
if speaking:
    print(f"{len(samples) / RATE:.2f} s: the file ends")
