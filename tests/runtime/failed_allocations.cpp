// SPDX-License-Identifier: Apache-2.0
// Every allocation of converting, loading, planning and running fails, one at a time, and all from one on. A call then succeeds or throws
// OutOfMemory, and keeps nothing. An executable of its own, as it replaces operator new and aligned_alloc.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <minnow/convert.h>
#include <minnow/minnow_c.h>
#if MINNOW_EXPRESS
#include <minnow/express.h>
#endif

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>

#if MINNOW_TRAIN
#include <minnow/optimizer.h>
#endif

#include "base/error.h"
#include "base/os.h"
#include "graph/graph.h"
#include "support/paths.h"

namespace {

constexpr int64_t kNever = INT64_MAX;
std::atomic<int64_t> g_before{kNever};  // allocations that succeed before one fails
std::atomic<bool> g_all_from_then{false};
std::atomic<int64_t> g_failed{0}, g_held{0};

bool fails() noexcept {
  if (g_before.load(std::memory_order_relaxed) == kNever) return false;
  const int64_t before = g_before.fetch_sub(1, std::memory_order_relaxed);
  if (before > 0 || (before < 0 && !g_all_from_then)) return false;
  g_failed.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void* allocated(size_t bytes, size_t alignment = 0) noexcept {
  if (fails()) return nullptr;
  void* memory = nullptr;
  if (alignment <= alignof(std::max_align_t))
    memory = std::malloc(bytes ? bytes : 1);
  else if (::posix_memalign(&memory, alignment, bytes ? bytes : 1) != 0)
    memory = nullptr;
  return memory;
}
/// For the functions that return null, which std::stable_sort calls.
void* counted_unless_failed(void* memory) noexcept {
  if (memory) g_held.fetch_add(1, std::memory_order_relaxed);
  return memory;
}
void* counted(void* memory) {
  if (!memory) throw std::bad_alloc();
  return counted_unless_failed(memory);
}
// Not inline: gcc would take it for a mismatch with operator new.
[[gnu::noinline]] void released(void* memory) noexcept {
  if (memory) g_held.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

void* operator new(size_t bytes) { return counted(allocated(bytes)); }
void* operator new[](size_t bytes) { return counted(allocated(bytes)); }
void* operator new(size_t bytes, std::align_val_t alignment) { return counted(allocated(bytes, static_cast<size_t>(alignment))); }
void* operator new[](size_t bytes, std::align_val_t alignment) { return counted(allocated(bytes, static_cast<size_t>(alignment))); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return counted_unless_failed(allocated(bytes)); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return counted_unless_failed(allocated(bytes)); }
void operator delete(void* memory) noexcept { released(memory); }
void operator delete[](void* memory) noexcept { released(memory); }
void operator delete(void* memory, size_t) noexcept { released(memory); }
void operator delete[](void* memory, size_t) noexcept { released(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { released(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { released(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { released(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { released(memory); }
extern "C" void* aligned_alloc(size_t alignment, size_t bytes) noexcept { return allocated(bytes, alignment); }

// Threads are refused while this is set.
static std::atomic<bool> g_no_threads{false};
// Clang links the sanitizer's function, which watches the thread's stack, into the program: it does not come next.
extern "C" [[gnu::weak]] int __interceptor_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) noexcept;
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) noexcept {
  if (g_no_threads) return EAGAIN;
  if (__interceptor_pthread_create) return __interceptor_pthread_create(thread, attributes, start, argument);
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, start, argument);
}

namespace minnow::test {
namespace {

// An image with what passes fold and fuse, and weights that kernels pack.
constexpr std::string_view kImage = R"(graph {
  source "image"
  input x: f32[1, 3, 9, 9]
  const w1 = f32[8, 3, 3, 3] random 1
  const b1 = f32[8] random 2
  const scale = f32[8, 1, 1] random 3
  const w2 = f32[8, 8, 1, 1] random 4
  const shape = i64[2] [1, 8]
  const w3 = f32[8, 5] random 5
  c = Conv(x, w1, b1) {pads = [1, 1, 1, 1]} @"conv"
  m = Mul(c, scale)
  r = Relu(m)
  d = Conv(r, w2)
  e = Add(d, r)
  p = MaxPool(e) {kernel_shape = [2, 2], strides = [2, 2]}
  g = GlobalAveragePool(p)
  f = Reshape(g, shape)
  l = MatMul(f, w3)
  y = Softmax(l)
  output y
})";

// Branches and a loop, which use what lies outside of them.
constexpr std::string_view kFlow = R"(graph {
  source "flow"
  input x: f32[n]
  input c: bool[]
  const trips = i64[] 3
  const yes = bool[] 1
  const half = f32[] 0.5
  a = Mul(x, half)
  b: f32[n] = If(c) {then_branch = graph {
    t: f32[n] = Neg(a)
    output t
  }, else_branch = graph {
    u: f32[n] = Add(a, x)
    output u
  }}
  y: f32[n], z: f32[3, n] = Loop(trips, yes, b) {body = graph {
    input i: i64[]
    input before: bool[]
    input v: f32[n]
    go: bool[] = Identity(before)
    s: f32[n] = Sub(v, a)
    w: f32[n] = Exp(s)
    output go
    output s
    output w
  }}
  output y
  output z
})";

// Shapes that only a run tells, sequences, integers, and a recurrence.
constexpr std::string_view kData = R"(graph {
  source "data"
  input x: f32[4, 6]
  const axes = i64[1] [1]
  const w = f32[1, 12, 6] random 1
  const r = f32[1, 12, 3] random 2
  const k = i64[1] [2]
  p: i64[2, m] = NonZero(x)
  q = Cast(p) {to = 1}
  s = ReduceSum(q, axes) {keepdims = 0}
  rows = Unsqueeze(x, axes)
  h: f32[4, 1, 1, 3], last: f32[1, 1, 3] = LSTM(rows, w, r) {hidden_size = 3}
  top: f32[4, 2], places: i64[4, 2] = TopK(x, k)
  list = SequenceConstruct(x, x)
  both = ConcatFromSequence(list) {axis = 0}
  output s
  output last
  output top
  output places
  output both
})";

struct Case {
  std::string_view name, text;
  std::vector<Shape> shapes;
};
const Case kCases[] = {{"image", kImage, {{1, 3, 9, 9}}}, {"flow", kFlow, {{7}, {}}}, {"data", kData, {{4, 6}}}};

/// Calls `attempt` until no allocation of it is left to fail. Gives how many there were.
int64_t fail_each(bool all_from_then, const std::function<void()>& attempt) {
  for (int64_t n = 0;; ++n) {
    std::string wrong;
    bool is_out_of_memory = false;
    g_failed = 0;
    g_all_from_then = all_from_then;
    g_before = n;
    try {
      attempt();
      g_before = kNever;
    } catch (const OutOfMemory&) {
      g_before = kNever;
      is_out_of_memory = true;
    } catch (const std::exception& error) {
      g_before = kNever;
      wrong = error.what();
    }
    if (!wrong.empty()) ADD_FAILURE() << "allocation " << n << ": " << wrong;
    if (is_out_of_memory && g_failed == 0) ADD_FAILURE() << "allocation " << n << ": out of memory where there was some";
    if (g_failed == 0) return n;
  }
}

/// Both ways. The attempts must not leave anything behind.
void expect_out_of_memory(std::string_view what, const std::function<void()>& attempt) {
  SCOPED_TRACE(what);
  const int64_t count = fail_each(false, attempt);
  const int64_t held = g_held;
  fail_each(true, attempt);
  EXPECT_EQ(g_held, held) << "left behind";
  std::printf("%.*s: %lld allocations\n", static_cast<int>(what.size()), what.data(), static_cast<long long>(count));
  EXPECT_GT(count, 0);
}

class FailedAllocations : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const std::string stem = (scratch_dir() / ("failed_allocations_" + std::string(GetParam().name))).string();
    minnow_ = stem + ".minnow";
    onnx_ = stem + ".onnx";
    const Model model = Model::from_graph(parse_graph(GetParam().text));
    save(model, onnx_);
    save(convert_model(model), minnow_);
    for (size_t i = 0; i < GetParam().shapes.size(); ++i) {
      Tensor x(model.inputs()[i].dtype, GetParam().shapes[i]);
      if (x.dtype() == DType::f32)
        for (int64_t k = 0; k < x.elements(); ++k) x.writable().data<float>()[k] = static_cast<float>(k % 3);
      inputs_.push_back(x);
      views_.push_back(inputs_.back());
    }
    options_.threads = 1;
  }
  std::string minnow_, onnx_;
  std::vector<Tensor> inputs_;
  std::vector<TensorView> views_;
  SessionOptions options_;
};

TEST_P(FailedAllocations, convert) {
  expect_out_of_memory("convert", [&] { convert(onnx_); });
}

TEST_P(FailedAllocations, load) {
  expect_out_of_memory("load", [&] { Model::load(minnow_); });
}

TEST_P(FailedAllocations, save) {
  const Model model = Model::load(minnow_);
  expect_out_of_memory("save", [&] { save(model, minnow_); });
  expect_out_of_memory("save as ONNX", [&] { save(model, onnx_); });
}

TEST_P(FailedAllocations, plan_and_run) {
  for (const std::string_view backend : {"cpu", "reference"}) {
    SCOPED_TRACE(backend);
    options_.backends = {std::string(backend)};
    const Model model = Model::load(minnow_);
    expect_out_of_memory("plan", [&] {
      Session session(model, options_);
      session.prepare(GetParam().shapes);
    });
    expect_out_of_memory("first run", [&] { Session(model, options_).run(views_); });
    Session session(model, options_);
    expect_out_of_memory("next run", [&] { session.run(views_); });
    EXPECT_EQ(session.run(views_).size(), model.outputs().size()) << "the session stays usable";
  }
}

TEST_P(FailedAllocations, over_c) {
  const auto checked = [](minnow_status status) {
    if (status == MINNOW_OK) return;
    g_before = kNever;
    if (status == MINNOW_OUT_OF_MEMORY) throw OutOfMemory("no memory");
    throw InvalidArgument("status {}: {}", static_cast<int>(status), minnow_error_text());
  };
  expect_out_of_memory("C", [&] {
    struct Handles {
      minnow_model* model = nullptr;
      minnow_session* session = nullptr;
      ~Handles() {
        minnow_session_free(session);
        minnow_model_free(model);
      }
    } handles;
    checked(minnow_model_load(minnow_.c_str(), nullptr, &handles.model));
    checked(minnow_session_create(handles.model, nullptr, &handles.session));
  });
}

INSTANTIATE_TEST_SUITE_P(Models, FailedAllocations, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(RefusedThreads, are_out_of_memory) {
  if (os::available_cores() < 2) GTEST_SKIP() << "one core";
  const Model model = Model::from_graph(parse_graph(kImage));
  SessionOptions options;
  options.threads = 2;
  g_no_threads = true;
  std::string sentence;
  try {
    Session session(model, options);
  } catch (const OutOfMemory& error) {
    sentence = error.what();
  }
  g_no_threads = false;
  EXPECT_NE(sentence.find("thread 2 of 2"), std::string::npos) << sentence;
  EXPECT_NO_THROW(Session(model, options));
}

#if MINNOW_EXPRESS
TEST(FailedAllocationsOfExpressions, evaluate) {
  using namespace expr;
  const Var w = constant(Tensor::of_f32({3, 4}, std::vector<float>(12, 0.5f)));
  expect_out_of_memory("expressions", [&] {
    const Var x = constant({1, 2, 3, 4, 5, 6}, {2, 3});
    const Var y = relu(matmul(x, w)) + 1;
    const Var z = reduce_sum(exp(y), {});
    static_cast<void>(y.tensor());
    static_cast<void>(z.tensor());
  });
}
#endif

#if MINNOW_TRAIN
TEST(FailedAllocationsOfTraining, steps_after_the_first_have_none) {
  Tensor w(DType::f32, {30, 50}), b(DType::f64, {7});
  const Tensor g(DType::f32, {30, 50}), h(DType::f64, {7});
  const Trainable tensors[] = {{"w", w.writable(), g, {}}, {"b", b.writable(), h, {}}};
  for (const std::string& name : optimizer_names()) {
    Optimizer::Config config;
    config.name = name;
    config.accumulate = 2;
    config.clip_value = config.clip_norm = config.clip_adaptive = 1;
    config.average = 0.9;
    config.schedule = Schedule::create("cosine");
    expect_out_of_memory(name, [&] { Optimizer::create(config)->on_execute(tensors); });
    const auto optimizer = Optimizer::create(config);
    for (int i = 0; i < 4; ++i) optimizer->on_execute(tensors);
    g_failed = 0;
    g_all_from_then = true;
    g_before = 0;
    for (int i = 0; i < 4; ++i) EXPECT_NO_THROW(optimizer->on_execute(tensors)) << name;
    g_before = kNever;
    EXPECT_EQ(g_failed, 0) << name;
  }
}
#endif

}  // namespace
}  // namespace minnow::test
