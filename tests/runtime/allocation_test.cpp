// SPDX-License-Identifier: Apache-2.0
// A run whose shapes were planned before allocates nothing. Counts every call of operator new.
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <cstdlib>
#include <new>

#include "graph/expr.h"
#include "passes/pipeline.h"
#include "runtime/backends.h"
#include "support/allocations.h"
#include "support/networks.h"

#if MINNOW_COUNTS_ALLOCATIONS

namespace {
void* count(void* memory) {
  using namespace minnow::test;
  if (counts_allocations.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
  if (!memory) throw std::bad_alloc();
  return memory;
}
}  // namespace

void* operator new(size_t bytes) { return count(std::malloc(bytes ? bytes : 1)); }
void* operator new[](size_t bytes) { return count(std::malloc(bytes ? bytes : 1)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return count(std::aligned_alloc(static_cast<size_t>(alignment), (bytes + static_cast<size_t>(alignment) - 1) /
                                                                      static_cast<size_t>(alignment) * static_cast<size_t>(alignment)));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace minnow {
namespace {

TEST(Allocation, a_planned_run_makes_none) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {1, 8, 12, 12})));
  Tensor weight(DType::f32, {16, 8, 3, 3});
  const Expr y = op("Relu", {op("Conv", {x, b.constant(weight)}, {{"pads", Ints{1, 1, 1, 1}}})});
  const Expr z = op("Conv", {y, b.constant(Tensor(DType::f32, {8, 16, 1, 1}))}) + x;
  graph->add_output(*z.value());
  const Model model = Model::from_graph(std::move(graph));
  for (const std::string& backend : usable_backend_names()) {
    if (!make_backend(backend, {})->uses_host_memory()) continue;  // drivers allocate in ways of their own
    if (backend == "reference") continue;                          // references widen whole tensors
    for (const int threads : {1, 2}) {
      SessionOptions options;
      options.backends = {backend};
      options.threads = threads;
      Session session(model, options);
      const Tensor input(DType::f32, {1, 8, 12, 12});
      Tensor output(DType::f32, {1, 8, 12, 12});
      const TensorView inputs[] = {input};
      const MutableTensorView outputs[] = {output.writable()};
      session.run(inputs, outputs);
      const int count = test::allocations_of([&] {
        for (int i = 0; i < 10; ++i) session.run(inputs, outputs);
      });
      EXPECT_EQ(count, 0) << backend << ", " << threads << " threads";
    }
  }
}

// Every operator of three whole networks; enough runs for the executor to have found on how many threads each step runs.
TEST(Allocation, planned_runs_of_whole_networks_make_none) {
  for (const std::string_view name : test::kNetworks) {
    std::unique_ptr<Graph> graph = test::make_network(name, 64);
    optimize(*graph, OperatorSet::builtin());
    const Model model = Model::from_graph(std::move(graph));
    const Tensor input(DType::f32, {1, 3, 64, 64});
    Tensor output(DType::f32, {1, 1000});
    const TensorView inputs[] = {input};
    const MutableTensorView outputs[] = {output.writable()};
    for (const int threads : {1, 2}) {
      SessionOptions options;
      options.threads = threads;
      Session session(model, options);
      session.run(inputs, outputs);
      const int count = test::allocations_of([&] {
        for (int i = 0; i < 10; ++i) session.run(inputs, outputs);
      });
      EXPECT_EQ(count, 0) << name << ", " << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace minnow

#endif
