// SPDX-License-Identifier: Apache-2.0
// Removes inputs of nodes, one at a time, from models of other tools, and runs all passes on the rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "importers/importer.h"
#include "importers/onnx/proto.h"
#include "importers/onnx/wire.h"
#include "passes/pipeline.h"
#include "support/paths.h"
#include "support/series.h"
#include "support/wire.h"

namespace minnow::onnx {
namespace {

namespace wire = test::wire;

/// The message with field `at` of that number (of its occurrences, in order) changed by `change`; all other bytes stay.
template <class F>
std::string changed(std::string_view message, uint32_t number, size_t at, F change) {
  std::string made;
  size_t seen = 0;
  const char* done = message.data();
  for (Fields fields(message); fields.next();) {
    if (fields.number() != number || seen++ != at) continue;
    const std::string_view old = fields.bytes();
    // The field's bytes end it; its tag and its length are written as shortly as can be.
    const size_t head = wire::varint(uint64_t{number} << 3 | 2).size() + wire::varint(old.size()).size();
    made.append(done, static_cast<size_t>(old.data() - done) - head);
    made += change(old);
    done = old.data() + old.size();
  }
  return made.append(done, static_cast<size_t>(message.data() + message.size() - done));
}

std::vector<std::string_view> all_of(std::string_view message, uint32_t number) {
  std::vector<std::string_view> found;
  for (Fields fields(message); fields.next();)
    if (fields.number() == number) found.push_back(fields.bytes());
  return found;
}

/// Each model that results from omitting one input of one node, or all of a node's inputs after one.
template <class F>
void for_each_edit(std::string_view model, F visit) {
  const auto graphs = all_of(model, field::kModelGraph);
  if (graphs.size() != 1) return;
  const auto nodes = all_of(graphs[0], field::kGraphNode);
  const auto with_node = [&](size_t n, const auto& change) {
    return changed(model, field::kModelGraph, 0, [&](std::string_view graph) {
      return wire::message(field::kModelGraph, changed(graph, field::kGraphNode, n, [&](std::string_view node) {
                             return wire::message(field::kGraphNode, change(node));
                           }));
    });
  };
  for (size_t n = 0; n < nodes.size(); ++n) {
    const size_t inputs = all_of(nodes[n], field::kNodeInput).size();
    for (size_t i = 0; i < inputs; ++i)
      visit([&] {
        return with_node(n, [&](std::string_view node) {
          return changed(node, field::kNodeInput, i, [](std::string_view) { return wire::message(field::kNodeInput, {}); });
        });
      });
    for (size_t i = 0; i + 1 < inputs; ++i)
      visit([&] {
        return with_node(n, [&](std::string_view node) {
          std::string cut(node);
          for (size_t k = inputs; k-- > i;) cut = changed(cut, field::kNodeInput, k, [](std::string_view) { return std::string(); });
          return cut;
        });
      });
  }
}

std::vector<std::string> models_of(const std::vector<std::filesystem::path>& folders, size_t most_bytes) {
  std::vector<std::filesystem::path> paths;
  for (const auto& folder : folders) {
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.path().extension() == ".onnx" && entry.file_size() <= most_bytes) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> models;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    models.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return models;
}

/// Nothing but a graph or an error that names a node.
void expect_graph_or_error(const std::string& model) {
  ImportOptions options;
  options.warn = [](std::string_view) {};
  options.source = "edited.onnx";
  try {
    const auto graph = import_onnx(std::as_bytes(std::span(model.data(), model.size())), nullptr, options);
    optimize(*graph, OperatorSet::builtin(), {});
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
    EXPECT_EQ(std::string_view(error.what()).substr(0, 11), "edited.onnx") << error.what();
  }
}

// MINNOW_ALL_EDITS=1 takes every edit (about 150,000, some minutes).
TEST(OnnxEditedNodes, models_without_an_input_give_a_graph_or_an_error) {
  const auto conformance = test::models_dir() / "onnx_conformance";
  if (!std::filesystem::exists(conformance)) GTEST_SKIP() << "no models; scripts/fetch_models.py fetches them";
  const auto models = models_of({conformance / "node", conformance / "simple", conformance / "pytorch-converted",
                                 conformance / "pytorch-operator", test::models_dir() / "onnx_generated"},
                                40'000);
  size_t edits = 0, tried = 0;
  for (const std::string& model : models) for_each_edit(model, [&](const auto&) { ++edits; });
  const size_t step = std::getenv("MINNOW_ALL_EDITS") ? 1 : std::max<size_t>(edits / 20000, 1) * test::one_in();
  size_t at = 0;
  for (const std::string& model : models)
    for_each_edit(model, [&](const auto& make) {
      if (at++ % step != 0) return;
      ++tried;
      expect_graph_or_error(make());
    });
  RecordProperty("edits", static_cast<int>(tried));
  EXPECT_GT(tried, 15000 / test::one_in());
}

}  // namespace
}  // namespace minnow::onnx
