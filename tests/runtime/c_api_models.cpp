// SPDX-License-Identifier: Apache-2.0
#include "runtime/c_api_models.h"

#include <minnow/convert.h>
#include <minnow/minnow.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "graph/expr.h"
#include "graph/model_file.h"
#include "ops/infer.h"
#include "support/paths.h"

using namespace minnow;

namespace {

Graph& with_input(Graph& graph, const char* name, std::vector<Dim> dims) {
  ValueType type = ValueType::tensor(DType::f32);
  type.dims = std::move(dims);
  graph.add_input(name, std::move(type));
  return graph;
}

void add_output(Graph& graph, const Expr& x, const char* name) {
  x.value()->rename(name);
  graph.add_output(*x.value());
}

std::unique_ptr<Graph> line() {
  auto graph = std::make_unique<Graph>();
  graph->source = "line";
  with_input(*graph, "x", {Dim{-1, "batch"}, Dim{4, {}}});
  GraphBuilder b(*graph);
  const Expr x = b.wrap(graph->inputs()[0].get());
  const Expr w = b.constant(Tensor::of_f32({4, 3}, std::vector<float>{1, -2, 3, -4, 5, -6, 7, -8, 9, 10, -11, 12}));
  add_output(*graph, b.op("Relu", {b.op("Add", {b.op("MatMul", {x, w}), b.scalar(0.5)})}), "y");
  add_output(*graph, b.op("Shape", {x}), "rows");
  return graph;
}

std::unique_ptr<Graph> counter() {
  auto graph = std::make_unique<Graph>();
  graph->source = "counter";
  with_input(*graph, "x", {Dim{2, {}}});
  graph->add_state({"sum", nullptr, nullptr, Tensor::of_f32({2}, std::vector<float>{10, 20})});
  GraphBuilder b(*graph);
  const Expr next = b.op("Add", {b.wrap(graph->states()[0].current), b.wrap(graph->inputs()[0].get())});
  graph->set_state_next(0, *next.value());
  add_output(*graph, next, "y");
  return graph;
}

std::unique_ptr<Graph> list() {
  auto graph = std::make_unique<Graph>();
  graph->source = "list";
  with_input(*graph, "x", {Dim{2, {}}});
  GraphBuilder b(*graph);
  add_output(*graph, b.op("SequenceConstruct", {b.wrap(graph->inputs()[0].get())}), "y");
  return graph;
}

std::unique_ptr<Graph> swish() {
  auto graph = std::make_unique<Graph>();
  graph->source = "swish";
  with_input(*graph, "x", {Dim{4, {}}});
  GraphBuilder b(*graph);
  add_output(*graph, b.op("com.example.Swish", {b.wrap(graph->inputs()[0].get())}, {{"beta", 2.0f}}), "y");
  return graph;
}

/// A folder that goes with the process.
struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "minnow_c_api_XXXXXX").string();
    if (!::mkdtemp(name.data())) std::abort();
    path = name;
    const auto write = [&](std::unique_ptr<Graph> graph, const char* file, const OperatorSet& operators) {
      infer_types(operators, *graph);
      write_model(*graph, (path / file).string());
    };
    write(line(), "line", OperatorSet::builtin());
    write(counter(), "counter", OperatorSet::builtin());
    write(list(), "list", OperatorSet::builtin());
    write(swish(), "swish", *load_operators({custom_operators()}));
    save(Model::load((path / "line").string()), (path / "net.onnx").string());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

const std::filesystem::path& folder() {
  static const Folder made;
  return made.path;
}

/// A text that lives until the next one.
const char* kept(std::string text) {
  thread_local std::string last;
  last = std::move(text);
  return last.c_str();
}

}  // namespace

const char* model_path(const char* name) {
  const std::filesystem::path path = folder() / name;
  return std::filesystem::exists(path) ? kept(path.string()) : nullptr;
}

const char* path_beside(const char* file) { return kept((folder() / file).string()); }

const char* custom_operators() {
  static const std::string path = (test::binary_dir() / "lib" / "libcustom_operators.so").string();
  return path.c_str();
}

void run_line(const float* x, int64_t rows, float* y, int64_t* shape) {
  Session session(Model::load((folder() / "line").string()));
  const std::vector<Tensor> outputs = session.run({TensorView(DType::f32, {rows, 4}, x)});
  std::copy_n(outputs[0].data<float>(), rows * 3, y);
  std::copy_n(outputs[1].data<int64_t>(), 2, shape);
}

const char* described(const char* name) {
  const Model model = Model::load((folder() / name).string());
  std::string text;
  for (const auto* values : {&model.inputs(), &model.outputs()})
    for (const ValueDescription& value : *values) {
      text += value.name + " " + value.type + " " + std::to_string(value.is_tensor ? static_cast<int>(value.dtype) : 0) + " " +
              std::to_string(value.has_rank ? static_cast<int>(value.dims.size()) : -1);
      for (size_t i = 0; i < value.dims.size(); ++i) text += " " + std::to_string(value.dims[i]) + value.symbols[i];
      text += "\n";
    }
  return kept(text);
}

double seconds_of_cpp_run(int64_t rows, int runs) {
  Session session(Model::load((folder() / "line").string()));
  std::vector<float> x(static_cast<size_t>(rows) * 4), y(static_cast<size_t>(rows) * 3);
  int64_t shape[2];
  const std::vector<TensorView> inputs = {TensorView(DType::f32, {rows, 4}, x.data())};
  const std::vector<MutableTensorView> outputs = {MutableTensorView(DType::f32, {rows, 3}, y.data()),
                                                  MutableTensorView(DType::i64, {2}, shape)};
  double best = 1;
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < 100; ++k) session.run(inputs, outputs);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / 100);
  }
  return best;
}
