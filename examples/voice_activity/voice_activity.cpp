// SPDX-License-Identifier: Apache-2.0
// When does somebody speak? voice_activity MODEL.onnx SOUND (16 kHz, 16 bits, one channel, without a header)
// Silero's network (package silero-vad, silero_vad/data/silero_vad.onnx) hears 32 ms at a time, with the 4 ms before them, and carries its
// state from call to call. No call but the first allocates anything: the outputs lie in memory of the caller.
#include <minnow/convert.h>
#include <minnow/minnow.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>

int main(int argc, char** argv) try {
  constexpr int64_t kRate = 16000, kStep = 512, kContext = 64;
  if (argc != 3) return std::fputs("usage: voice_activity MODEL SOUND\n", stderr), 2;
  const minnow::Model model = minnow::convert(argv[1]);
  minnow::SessionOptions options;
  options.threads = 1;
  minnow::Session session(model, options);

  std::ifstream file(argv[2], std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<float> sound;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2)
    sound.push_back(static_cast<float>(static_cast<int16_t>((bytes[i + 1] << 8) | (bytes[i] & 255))) / 32768);

  std::array<float, 256> state{}, next{};
  float probability = 0;
  const minnow::Shape state_shape{2, 1, 128};
  bool speaking = false;
  for (int64_t start = kContext; start + kStep <= static_cast<int64_t>(sound.size()); start += kStep) {
    const minnow::TensorView inputs[] = {{minnow::DType::f32, {1, kContext + kStep}, sound.data() + start - kContext},
                                         {minnow::DType::f32, state_shape, state.data()},
                                         {minnow::DType::i64, {}, &kRate}};
    const minnow::MutableTensorView outputs[] = {{minnow::DType::f32, {1, 1}, &probability},
                                                 {minnow::DType::f32, state_shape, next.data()}};
    session.run(inputs, outputs);
    state = next;
    if ((probability > (speaking ? 0.35f : 0.5f)) != speaking) {
      speaking = !speaking;
      std::printf("%.2f s: speech %s\n", static_cast<double>(start) / kRate, speaking ? "begins" : "ends");
    }
  }
} catch (const minnow::Error& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
