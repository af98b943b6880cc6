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

std::string error_of(const std::string& bytes) {
  ImportOptions options;
  options.source = "net.tflite";
  try {
    import_tflite(std::as_bytes(std::span(bytes.data(), bytes.size())), nullptr, options);
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

}  // namespace
}  // namespace minnow
