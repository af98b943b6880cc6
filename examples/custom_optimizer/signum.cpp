// SPDX-License-Identifier: Apache-2.0
// An optimizer in a shared library: m = momentum m + (1 - momentum) g; w -= lr sign(m) (Bernstein et al. 2018, arXiv:1802.04434).
//
//   g++ -std=c++20 -O2 -shared -fPIC signum.cpp -o libsignum.so
//
// In C++: load_optimizers("libsignum.so"), then Optimizer::create({.name = "com.example.Signum"}); in Python: optim.load("libsignum.so").
#include <minnow/optimizer_c.h>

#include <cstddef>

namespace {

template <class T>
void step(const minnow_optimizer_call& call) {
  T* w = static_cast<T*>(call.values);
  T* m = static_cast<T*>(call.states[0]);
  const T* g = static_cast<const T*>(call.gradient);
  const T momentum = static_cast<T>(call.settings[0]), rate = static_cast<T>(call.learning_rate);
  const T decay = static_cast<T>(call.learning_rate * call.weight_decay);
  for (int64_t i = 0; i < call.count; ++i) {
    m[i] = momentum * m[i] + (1 - momentum) * g[i];
    w[i] -= decay * w[i] + rate * static_cast<T>((m[i] > 0) - (m[i] < 0));
  }
}

int update(minnow_optimizer_call* call, void*) {
  if (call->dtype == MINNOW_F32)
    step<float>(*call);
  else
    step<double>(*call);
  return 0;
}

const minnow_optimizer_setting kSettings[] = {{"momentum", 0.9, 0, 1, "decay of the average of gradients"}};
const char* const kStates[] = {"m"};
const minnow_custom_optimizer kSignum = {sizeof(kSignum),
                                         "com.example.Signum",
                                         "m = momentum m + (1 - momentum) g; w -= lr (sign(m) + weight_decay w). Bernstein et al. 2018, "
                                         "arXiv:1802.04434",
                                         nullptr,
                                         1e-4,
                                         kSettings,
                                         1,
                                         kStates,
                                         1,
                                         8,
                                         update};
const minnow_custom_optimizer* const kAll[] = {&kSignum};

}  // namespace

extern "C" __attribute__((visibility("default"))) const minnow_custom_optimizer* const* minnow_custom_optimizers(uint32_t abi_version,
                                                                                                                 size_t* count) {
  if (abi_version != MINNOW_CUSTOM_OPTIMIZER_ABI) return nullptr;
  *count = 1;
  return kAll;
}
