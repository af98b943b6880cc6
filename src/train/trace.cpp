// SPDX-License-Identifier: Apache-2.0
#include "train/trace.h"

#include <atomic>

#include "base/no_memory.h"

namespace minnow {
namespace train {

thread_local Trace* Trace::innermost = nullptr;

void fill_key(uint32_t key[2], uint64_t seed, uint64_t step, uint64_t place) noexcept {
  uint64_t state = 0;
  for (const uint64_t word :
       {seed, step, place}) {  // SplitMix64: Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators"
    state = (state ^ word) + 0x9E3779B97F4A7C15u;
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
    state = (state ^ (state >> 27)) * 0x94D049BB133111EBu;
    state ^= state >> 31;
  }
  key[0] = static_cast<uint32_t>(state), key[1] = static_cast<uint32_t>(state >> 32);
}

}  // namespace train

namespace nn {
namespace {

std::atomic<uint64_t> global_seed{0}, keys_drawn{0};

train::Trace::Buffer& known(train::Trace& trace, const Var& buffer) {
  for (train::Trace::Buffer& each : trace.buffers)
    if (express::Access::cell(each.variable) == express::Access::cell(buffer)) return each;
  const Shape shape = buffer.shape();
  Var symbol = expr::placeholder(buffer.name(), buffer.dtype(), std::vector<int64_t>(shape.begin(), shape.end()));
  return trace.buffers.emplace_back(train::Trace::Buffer{buffer, std::move(symbol), {}});
}

}  // namespace

Var read_buffer(const Var& buffer) try {
  train::Trace* const trace = train::Trace::current();
  if (!trace) return buffer;
  const train::Trace::Buffer& is = known(*trace, buffer);
  return is.next.has_value() ? is.next : is.symbol;
} catch (...) {
  throw_as_error();
}

void update_buffer(const Var& buffer, const Var& value) try {
  const auto is = buffer.shape();
  const auto given = value.known_shape();
  if (value.dtype() != buffer.dtype() || (given && !(*given == is)))
    throw InvalidArgument("the buffer \"{}\" is {}{}, its next value is {}{}", buffer.name(), buffer.dtype(), is, value.dtype(),
                          given ? *given : Shape());
  if (train::Trace* const trace = train::Trace::current())
    known(*trace, buffer).next = value;
  else
    buffer.assign(Var(value.tensor()));
} catch (...) {
  throw_as_error();
}

Var random_key() try {
  if (train::Trace* const trace = train::Trace::current()) {
    trace->keys.push_back(expr::placeholder("key", DType::u32, {2}));
    return trace->keys.back();
  }
  Tensor key(DType::u32, {2});
  train::fill_key(key.writable().data<uint32_t>(), global_seed.load(), ~uint64_t{0}, keys_drawn.fetch_add(1));
  return Var(std::move(key));
} catch (...) {
  throw_as_error();
}

void seed(uint64_t seed) noexcept {
  global_seed.store(seed);
  keys_drawn.store(0);
}

}  // namespace nn
}  // namespace minnow
