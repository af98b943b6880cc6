// SPDX-License-Identifier: Apache-2.0
// Cases of the suites: a model with inputs and the outputs it should give.
#pragma once
#include <minnow/tensor.h>

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace minnow::test {

struct DataSet {
  std::vector<Datum> inputs, outputs;
};

struct Case {
  std::string suite, name;
  std::filesystem::path model, data;                   // data: a folder of test_data_set_*, or a .npz
  std::filesystem::path second_file;                   // of formats whose models are two files
  std::vector<std::string> input_names, output_names;  // of the .npz's arrays, in its order
  double tolerance = 0;                                // corpus: of max |a - b|, times max(1, max |b|)
  bool exact = false;                                  // corpus: integers are equal, not a step apart
  double spread = 0;                                   // corpus: how far two modes of the reference engine are apart
  std::map<std::string, std::vector<int64_t>> hints;   // shapes of inputs that the importer is told (-1: open)
  // corner: everything in memory, parts of one tensor of bytes.
  std::shared_ptr<const Tensor> records;
  std::span<const std::byte> bytes;               // the model; empty if it is a file
  std::vector<std::string_view> inputs, outputs;  // TensorProtos
  bool fails = false;                             // it has to end in an error
  std::string id() const { return suite + "/" + name; }
};

/// Folder of the suites that the onnx package carries; MINNOW_ONNX_CASES names another.
std::filesystem::path onnx_cases_dir();

/// The cases of "corner" (corner_cases.npz, by scripts/make_corner_cases.py), "node", "simple", "pytorch-converted", "pytorch-operator",
/// "corpus" (its ONNX models), "corpus-caffe", "corpus-tensorflow" or "corpus-tflite", in order of their names. `missing`: how many there
/// should be whose files are not there.
std::vector<Case> find_cases(const std::string& suite, size_t& missing);

/// Inputs in the graph's order, and outputs.
std::vector<DataSet> read_data(const Case& one, const Graph& graph);

}  // namespace minnow::test
