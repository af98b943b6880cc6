// SPDX-License-Identifier: Apache-2.0
// What TFLite files say that cases of the conformance runner cannot show.
#include <gtest/gtest.h>

#include "base/error.h"
#include "importers/formats.h"
#include "support/flat_writer.h"

namespace minnow {
namespace {

using test::FlatWriter;

struct Op {
  int32_t code;
  std::string custom;  // of code 32
};

/// A chain of such operators over a vector of two numbers; tensors are x, t0, t1, ...
std::string chain(const std::vector<Op>& ops) {
  FlatWriter w;
  std::vector<size_t> tensors, codes, operators;
  for (size_t i = 0; i <= ops.size(); ++i) {
    const size_t shape = w.numbers(std::vector<int32_t>{2}), name = w.text(i == 0 ? "x" : "t" + std::to_string(i - 1));
    tensors.push_back(w.table(FlatWriter::Table().offset(0, shape).offset(3, name)));
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    FlatWriter::Table code;
    code.number(0, static_cast<int8_t>(std::min(ops[i].code, 127))).number(3, ops[i].code);
    if (!ops[i].custom.empty()) code.offset(1, w.text(ops[i].custom));
    codes.push_back(w.table(code));
    const size_t inputs = w.numbers(std::vector<int32_t>{static_cast<int32_t>(i)}),
                 outputs = w.numbers(std::vector<int32_t>{static_cast<int32_t>(i) + 1});
    operators.push_back(w.table(FlatWriter::Table().number(0, static_cast<uint32_t>(i)).offset(1, inputs).offset(2, outputs)));
  }
  const size_t tensor_list = w.offsets(tensors), inputs = w.numbers(std::vector<int32_t>{0}),
               outputs = w.numbers(std::vector<int32_t>{static_cast<int32_t>(ops.size())}), operator_list = w.offsets(operators);
  const size_t graph = w.table(FlatWriter::Table().offset(0, tensor_list).offset(1, inputs).offset(2, outputs).offset(3, operator_list));
  const size_t graphs = w.offsets({graph}), code_list = w.offsets(codes), buffers = w.offsets({w.table(FlatWriter::Table())});
  std::string bytes =
      w.finish(w.table(FlatWriter::Table().number(0, uint32_t{3}).offset(1, code_list).offset(2, graphs).offset(4, buffers)));
  return bytes.replace(4, 4, "TFL3");
}

std::unique_ptr<Graph> import_bytes(const std::string& bytes, const std::string& signature = {}) {
  ImportOptions options;
  options.source = "net.tflite";
  options.signature = signature;
  return import_tflite(std::as_bytes(std::span(bytes.data(), bytes.size())), nullptr, options);
}

std::string error_of(const std::string& bytes, const std::string& signature = {}) {
  try {
    import_bytes(bytes, signature);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TfliteImporter, a_chain_of_operators) { EXPECT_EQ(error_of(chain({{101, ""}, {59, ""}})), ""); }

TEST(TfliteImporter, all_operators_that_are_missing_are_named_with_their_nodes) {
  EXPECT_EQ(error_of(chain({{32, "FlexOne"}, {15, ""}, {101, ""}, {32, "Other"}, {30, ""}, {32, "FlexOne"}, {999, ""}})),
            "net.tflite: operators are not supported: FlexOne (nodes \"t0\", \"t5\"); LSH_PROJECTION (node \"t1\"); Other (node \"t3\"); "
            "SKIP_GRAM (node \"t4\"); operator 999 (node \"t6\")");
}

/// Two graphs of one operator each over two numbers, `a_x` to `a_y` by ABS and `b_x` to `b_y` by NEG, and the signatures "first" and
/// "second", which call these `in` and `out`. `tensor` is what the second calls `out`.
std::string two_signatures(uint32_t tensor = 1) {
  FlatWriter w;
  std::vector<size_t> graphs, codes, signatures;
  const size_t shape = w.numbers(std::vector<int32_t>{2}), zero = w.numbers(std::vector<int32_t>{0}),
               one = w.numbers(std::vector<int32_t>{1});
  for (uint32_t i = 0; i < 2; ++i) {
    const std::string letter(1, static_cast<char>('a' + i));
    codes.push_back(w.table(FlatWriter::Table().number(3, i == 0 ? int32_t{101} : int32_t{59})));
    std::vector<size_t> tensors;
    for (const char* name : {"_x", "_y"}) tensors.push_back(w.table(FlatWriter::Table().offset(0, shape).offset(3, w.text(letter + name))));
    const size_t list = w.offsets(tensors),
                 operators = w.offsets({w.table(FlatWriter::Table().number(0, i).offset(1, zero).offset(2, one))});
    graphs.push_back(w.table(FlatWriter::Table().offset(0, list).offset(1, zero).offset(2, one).offset(3, operators)));
    const size_t in = w.offsets({w.table(FlatWriter::Table().offset(0, w.text("in")).number(1, uint32_t{0}))}),
                 out = w.offsets({w.table(FlatWriter::Table().offset(0, w.text("out")).number(1, i == 0 ? uint32_t{1} : tensor))});
    signatures.push_back(
        w.table(FlatWriter::Table().offset(0, in).offset(1, out).offset(2, w.text(i == 0 ? "first" : "second")).number(4, i)));
  }
  const size_t graph_list = w.offsets(graphs), code_list = w.offsets(codes), buffers = w.offsets({w.table(FlatWriter::Table())}),
               signature_list = w.offsets(signatures);
  const auto root = FlatWriter::Table().number(0, uint32_t{3}).offset(1, code_list).offset(2, graph_list).offset(4, buffers);
  return w.finish(w.table(FlatWriter::Table(root).offset(7, signature_list))).replace(4, 4, "TFL3");
}

TEST(TfliteImporter, a_signature_chooses_the_graph_and_its_names) {
  const auto described = [](const std::string& signature) {
    const auto graph = import_bytes(two_signatures(), signature);
    return std::string(graph->nodes().begin()->op()) + ' ' + graph->inputs()[0]->name() + ' ' + graph->outputs()[0]->name();
  };
  EXPECT_EQ(described(""), "Abs a_x a_y");
  EXPECT_EQ(described("first"), "Abs in out");
  EXPECT_EQ(described("second"), "Neg in out");
  EXPECT_EQ(import_bytes(two_signatures())->metadata.properties.at("signature.first"), "in=a_x -> out=a_y");
}

TEST(TfliteImporter, signatures_that_are_not_there) {
  EXPECT_EQ(error_of(two_signatures(), "third"), "net.tflite: the model has no signature \"third\"; there are \"first\", \"second\"");
  EXPECT_EQ(error_of(chain({{101, ""}}), "third"), "net.tflite: the model has no signatures");
  EXPECT_EQ(error_of(two_signatures(2), "second"),
            "net.tflite: is not a valid TFLite model: a signature refers to a tensor that is not there");
}

}  // namespace
}  // namespace minnow
