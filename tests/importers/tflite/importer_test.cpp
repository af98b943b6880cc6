// SPDX-License-Identifier: Apache-2.0
// Properties of TFLite files that the conformance cases cannot show.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <tuple>

#include "importers/tflite/support.h"
#include "ops/evaluate.h"
#include "support/flat_writer.h"
#include "support/operators.h"

namespace minnow::tflite {
namespace {

using test::FlatWriter;

struct Op {
  int32_t code;
  std::string custom;  // of code 32
};

/// The file of these operator codes and this subgraph.
std::string model_of(FlatWriter& w, const std::vector<size_t>& codes, size_t graph) {
  const size_t graphs = w.offsets({graph}), code_list = w.offsets(codes), buffers = w.offsets({w.table(FlatWriter::Table())});
  std::string bytes =
      w.finish(w.table(FlatWriter::Table().number(0, uint32_t{3}).offset(1, code_list).offset(2, graphs).offset(4, buffers)));
  return bytes.replace(4, 4, "TFL3");
}

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
  return model_of(w, codes, graph);
}

/// The numbers that an operator makes of a constant: of the tensor's fields, its contents, and a shape.
std::vector<double> numbers_of_constant(FlatWriter& w, int32_t code, FlatWriter::Table tensor, const std::vector<int32_t>& shape,
                                        const std::vector<uint8_t>& contents) {
  tensor.offset(0, w.numbers(shape)).number(2, uint32_t{1}).offset(3, w.text("w"));
  const size_t tensors = w.offsets({w.table(tensor), w.table(FlatWriter::Table().offset(3, w.text("y")))});
  const size_t zero = w.numbers(std::vector<int32_t>{0}), one = w.numbers(std::vector<int32_t>{1});
  const size_t none = w.numbers(std::vector<int32_t>{});
  const size_t operators = w.offsets({w.table(FlatWriter::Table().number(0, uint32_t{0}).offset(1, zero).offset(2, one))});
  const size_t graphs = w.offsets({w.table(FlatWriter::Table().offset(0, tensors).offset(1, none).offset(2, one).offset(3, operators))});
  const size_t codes = w.offsets({w.table(FlatWriter::Table().number(3, code))});
  const size_t buffers = w.offsets({w.table(FlatWriter::Table()), w.table(FlatWriter::Table().offset(0, w.numbers(contents)))});
  const auto graph =
      import_bytes(w.finish(w.table(FlatWriter::Table().number(0, uint32_t{3}).offset(1, codes).offset(2, graphs).offset(4, buffers)))
                       .replace(4, 4, "TFL3"));
  return test::numbers(evaluate(OperatorSet::builtin(), *graph, {}).at(0).tensor);
}

FlatWriter::Table quantized(FlatWriter& w, int8_t type, float scale, int64_t zero) {
  const size_t quantization =
      w.table(FlatWriter::Table().offset(2, w.numbers(std::vector<float>{scale})).offset(3, w.numbers(std::vector<int64_t>{zero})));
  return FlatWriter::Table().number(1, type).offset(4, quantization);
}

/// Sparsity: dimensions in the order that they are stored, which of them blocks are of, and a level for each.
struct Level {
  int32_t size;  // of a dense level; 0: a sparse one
  std::vector<int32_t> segments = {}, indices = {};
};
size_t sparsity(FlatWriter& w, const std::vector<int32_t>& order, const std::vector<int32_t>& blocks, const std::vector<Level>& levels) {
  std::vector<size_t> tables;
  for (const Level& level : levels) {
    FlatWriter::Table table;
    if (level.size) {
      table.number(0, int8_t{0}).number(1, level.size);
    } else {
      table.number(0, int8_t{1}).number(2, uint8_t{1}).number(4, uint8_t{1});
      table.offset(3, w.table(FlatWriter::Table().offset(0, w.numbers(level.segments))));
      table.offset(5, w.table(FlatWriter::Table().offset(0, w.numbers(level.indices))));
    }
    tables.push_back(w.table(table));
  }
  return w.table(FlatWriter::Table().offset(0, w.numbers(order)).offset(1, w.numbers(blocks)).offset(2, w.offsets(tables)));
}

constexpr int32_t kDequantize = 6, kDensify = 124;
constexpr int8_t kInt8 = 9, kInt4 = 17, kInt2 = 19, kUint4 = 20;

TEST(TfliteImporter, weights_of_four_and_two_bits) {
  const auto read = [](int8_t type, int64_t zero, const std::vector<int32_t>& shape, const std::vector<uint8_t>& contents) {
    FlatWriter w;
    return numbers_of_constant(w, kDequantize, quantized(w, type, 0.5f, zero), shape, contents);
  };
  using Numbers = std::vector<double>;  // the first element lies in the low bits, the last byte may be half empty
  EXPECT_EQ(read(kInt4, 0, {5}, {0x8f, 0x71, 0x02}), (Numbers{-0.5, -4, 0.5, 3.5, 1}));
  EXPECT_EQ(read(kUint4, 8, {5}, {0x8f, 0x71, 0x02}), (Numbers{3.5, 0, -3.5, -0.5, -3}));
  EXPECT_EQ(read(kUint4, 0, {1, 2}, {0xf0}), (Numbers{0, 7.5}));
  EXPECT_EQ(read(kInt2, 0, {5}, {0xe4, 0x02}), (Numbers{0, 0.5, -1, -0.5, -1}));
  EXPECT_THROW(read(kUint4, 0, {5}, {0x8f, 0x71}), InvalidModel);
}

TEST(TfliteImporter, sparse_weights) {
  using Numbers = std::vector<double>;
  const std::vector<uint8_t> contents = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto read = [&](const std::vector<int32_t>& shape, const std::vector<int32_t>& order, const std::vector<int32_t>& blocks,
                        const std::vector<Level>& levels, size_t count) {
    FlatWriter w;
    const std::vector<uint8_t> stored(contents.begin(), contents.begin() + static_cast<std::ptrdiff_t>(count));
    return numbers_of_constant(w, kDensify, FlatWriter::Table().number(1, kInt8).offset(6, sparsity(w, order, blocks, levels)), shape,
                               stored);
  };
  // Rows of some elements; columns of some elements; blocks of two by two; the rows' ends, and indices, beyond what there is.
  const Level rows{0, {0, 2, 2, 3}, {0, 3, 1}};
  EXPECT_EQ(read({3, 4}, {0, 1}, {}, {{3}, rows}, 3), (Numbers{1, 0, 0, 2, 0, 0, 0, 0, 0, 3, 0, 0}));
  EXPECT_EQ(read({4, 3}, {1, 0}, {}, {{3}, rows}, 3), (Numbers{1, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0}));
  EXPECT_EQ(read({4, 4}, {0, 1, 2, 3}, {0, 1}, {{2}, {0, {0, 1, 2}, {1, 0}}, {2}, {2}}, 8),
            (Numbers{0, 0, 1, 2, 0, 0, 3, 4, 5, 6, 0, 0, 7, 8, 0, 0}));
  EXPECT_THROW(read({3, 4}, {0, 1}, {}, {{3}, rows}, 2), InvalidModel);
  EXPECT_THROW(read({3, 3}, {0, 1}, {}, {{3}, rows}, 3), InvalidModel);
  EXPECT_THROW(read({3, 4}, {0, 1}, {}, {{3}, {0, {0, 2, 2, 9}, {0, 3, 1}}}, 3), InvalidModel);
  EXPECT_THROW(read({3, 4}, {0, 0}, {}, {{3}, rows}, 3), InvalidModel);
  // Elements that are not stored stand for zero, whatever the zero point is.
  FlatWriter w;
  FlatWriter::Table tensor = quantized(w, kInt8, 0.5f, 2);
  tensor.offset(6, sparsity(w, {0, 1}, {}, {{3}, rows}));
  EXPECT_EQ(numbers_of_constant(w, kDequantize, tensor, {3, 4}, {1, 2, 3}), (Numbers{-0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0.5, 0, 0}));
}

TEST(TfliteImporter, a_chain_of_operators) { EXPECT_EQ(error_of(chain({{101, ""}, {59, ""}})), ""); }

TEST(TfliteImporter, all_operators_that_are_missing_are_named_with_their_nodes) {
  EXPECT_EQ(error_of(chain({{32, "FlexOne"}, {15, ""}, {101, ""}, {32, "Other"}, {30, ""}, {32, "FlexOne"}, {999, ""}})),
            "net.tflite: operators are not supported: FlexOne (nodes \"t0\", \"t5\"); LSH_PROJECTION (node \"t1\"); Other (node \"t3\"); "
            "SKIP_GRAM (node \"t4\"); operator 999 (node \"t6\")");
}

TEST(TfliteImporter, strings_are_refused_by_name) {
  FlatWriter w;
  constexpr int8_t kString = 5;
  const size_t words =
      w.table(FlatWriter::Table().offset(0, w.numbers(std::vector<int32_t>{2})).number(1, kString).offset(3, w.text("words")));
  const size_t tensors = w.offsets({words, w.table(FlatWriter::Table().offset(3, w.text("y")))});
  const size_t zero = w.numbers(std::vector<int32_t>{0}), one = w.numbers(std::vector<int32_t>{1});
  const size_t operators = w.offsets({w.table(FlatWriter::Table().number(0, uint32_t{0}).offset(1, zero).offset(2, one))});
  const size_t graph = w.table(FlatWriter::Table().offset(0, tensors).offset(1, zero).offset(2, one).offset(3, operators));
  const size_t code = w.table(FlatWriter::Table().number(3, int32_t{101}));
  EXPECT_NE(error_of(model_of(w, {code}, graph)).find("input \"words\" holds strings"), std::string::npos);
}

TEST(TfliteImporter, states_are_no_larger_than_a_limit) {
  FlatWriter w;
  std::vector<size_t> tensors;
  for (const char* name : {"state", "y"}) {
    const size_t shape = w.numbers(std::vector<int32_t>{1 << 20, 80}), text = w.text(name);
    tensors.push_back(w.table(FlatWriter::Table().offset(0, shape).offset(3, text).number(5, static_cast<uint8_t>(tensors.empty()))));
  }
  const size_t tensor_list = w.offsets(tensors), none = w.numbers(std::vector<int32_t>{}), inputs = w.numbers(std::vector<int32_t>{0}),
               outputs = w.numbers(std::vector<int32_t>{1});
  const size_t operators = w.offsets({w.table(FlatWriter::Table().offset(1, inputs).offset(2, outputs))});
  const size_t graph = w.table(FlatWriter::Table().offset(0, tensor_list).offset(1, none).offset(2, outputs).offset(3, operators));
  const size_t code = w.table(FlatWriter::Table().number(0, int8_t{101}).number(3, int32_t{101}));
  EXPECT_NE(error_of(model_of(w, {code}, graph)).find("states of more than 268435456 bytes are not supported"), std::string::npos);
}

TEST(TfliteImporter, windows_that_do_not_fit) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  const auto reduced = [](int32_t size, int32_t stride, int32_t dilation) {
    FlatWriter w;
    const std::vector<std::vector<int32_t>> lists = {{size}, {stride}, {dilation}};
    std::vector<size_t> buffers = {w.table(FlatWriter::Table())}, tensors;
    const auto tensor = [&](const std::vector<int32_t>& shape, int8_t type, uint32_t buffer, const std::string& name) {
      const size_t dims = w.numbers(shape), text = w.text(name);
      tensors.push_back(w.table(FlatWriter::Table().offset(0, dims).number(1, type).number(2, buffer).offset(3, text)));
    };
    tensor({9}, 0, 0, "x");
    tensor({}, 0, 0, "start");
    for (size_t i = 0; i < lists.size(); ++i) {
      std::vector<uint8_t> bytes(4);
      std::memcpy(bytes.data(), lists[i].data(), 4);
      const size_t data = w.numbers(bytes);
      buffers.push_back(w.table(FlatWriter::Table().offset(0, data)));
      tensor({1}, 2, static_cast<uint32_t>(i + 1), "list" + std::to_string(i));
    }
    tensor({1}, 0, 0, "y");
    const size_t tensor_list = w.offsets(tensors), options = w.table(FlatWriter::Table().number(0, int32_t{1}));
    const size_t given = w.numbers(std::vector<int32_t>{0, 1}), inputs = w.numbers(std::vector<int32_t>{0, 1, 2, 3, 4}),
                 outputs = w.numbers(std::vector<int32_t>{5});
    const size_t operators =
        w.offsets({w.table(FlatWriter::Table().number(0, uint32_t{0}).offset(1, inputs).offset(2, outputs).offset(12, options))});
    const size_t graphs =
        w.offsets({w.table(FlatWriter::Table().offset(0, tensor_list).offset(1, given).offset(2, outputs).offset(3, operators))});
    const size_t codes = w.offsets({w.table(FlatWriter::Table().number(0, int8_t{127}).number(3, int32_t{205}))});
    const size_t buffer_list = w.offsets(buffers);
    return error_of(w.finish(w.table(FlatWriter::Table().number(0, uint32_t{3}).offset(1, codes).offset(2, graphs).offset(4, buffer_list)))
                        .replace(4, 4, "TFL3"));
  };
  EXPECT_EQ(reduced(3, 2, 4), "");
  for (const auto& [size, stride, dilation] :
       {std::tuple(3, 1, kMost), {1024, 1, 1 << 22}, {3, 1, 5}, {kMost, 1, 1}, {3, 0, 1}, {-1, 1, 1}}) {
    const std::string error = reduced(size, stride, dilation);
    EXPECT_NE(error.find("node \"y\" (REDUCE_WINDOW): a window of " + std::to_string(size) + " is not supported"), std::string::npos)
        << error;
  }
}

// Every built-in operator, without inputs and without outputs: a sentence, or a graph that needs none.
TEST(TfliteImporter, operators_without_tensors) {
  for (int32_t number = 0; number < 210; ++number) {
    FlatWriter w;
    const size_t scale = w.numbers(std::vector<float>{0.5f}), zero = w.numbers(std::vector<int64_t>{0}),
                 shape = w.numbers(std::vector<int32_t>{2});
    const size_t quantization = w.table(FlatWriter::Table().offset(2, scale).offset(3, zero)), text = w.text("y");
    const size_t tensors =
        w.offsets({w.table(FlatWriter::Table().offset(0, shape).number(1, int8_t{9}).offset(3, text).offset(4, quantization))});
    const size_t none = w.numbers(std::vector<int32_t>{}), outputs = w.numbers(std::vector<int32_t>{0});
    const size_t operators = w.offsets(
        {w.table(FlatWriter::Table().offset(1, none).offset(2, outputs)), w.table(FlatWriter::Table().offset(1, outputs).offset(2, none))});
    const size_t graph = w.table(FlatWriter::Table().offset(0, tensors).offset(1, none).offset(2, outputs).offset(3, operators));
    const size_t code = w.table(FlatWriter::Table().number(0, static_cast<int8_t>(std::min(number, 127))).number(3, number));
    const std::string error = error_of(model_of(w, {code}, graph));
    if (number == 6 || number == 114) {
      EXPECT_NE(error.find("input 0 is missing"), std::string::npos) << number << ": " << error;
    }
  }
}

/// Two graphs of one operator each over two numbers, `a_x` to `a_y` by ABS and `b_x` to `b_y` by NEG, and the signatures "first" and
/// "second", which name them `in` and `out`. `tensor`: the tensor that the second names `out`.
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
    return std::string((*graph->nodes().begin()).op()) + ' ' + graph->inputs()[0]->name() + ' ' + graph->outputs()[0]->name();
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

/// RELU of two bytes, whose input and result have these zero points.
std::string relu_of_bytes(int64_t in, int64_t out) {
  FlatWriter w;
  std::vector<size_t> tensors;
  for (const int64_t zero : {in, out}) {
    const size_t scale = w.numbers(std::vector<float>{0.5f}), zeros = w.numbers(std::vector<int64_t>{zero});
    const size_t quantization = w.table(FlatWriter::Table().offset(2, scale).offset(3, zeros));
    const size_t shape = w.numbers(std::vector<int32_t>{2}), name = w.text(tensors.empty() ? "x" : "y");
    tensors.push_back(w.table(FlatWriter::Table().offset(0, shape).number(1, int8_t{9}).offset(3, name).offset(4, quantization)));
  }
  const size_t tensor_list = w.offsets(tensors), inputs = w.numbers(std::vector<int32_t>{0}), outputs = w.numbers(std::vector<int32_t>{1});
  const size_t relu = w.table(FlatWriter::Table().offset(1, inputs).offset(2, outputs)), operators = w.offsets({relu});
  const size_t graph = w.table(FlatWriter::Table().offset(0, tensor_list).offset(1, inputs).offset(2, outputs).offset(3, operators));
  const size_t code = w.table(FlatWriter::Table().number(0, int8_t{19}).number(3, int32_t{19}));
  return model_of(w, {code}, graph);
}

TEST(TfliteImporter, a_zero_point_that_no_stored_number_has_is_an_error) {
  EXPECT_EQ(error_of(relu_of_bytes(-128, 127)), "");
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(error_of(relu_of_bytes(kMost, 0)), "net.tflite: tensor \"x\": a zero point of 9223372036854775807 does not fit i8");
  EXPECT_EQ(error_of(relu_of_bytes(0, kLeast)), "net.tflite: tensor \"y\": a zero point of -9223372036854775808 does not fit i8");
  EXPECT_EQ(error_of(relu_of_bytes(0, 128)), "net.tflite: tensor \"y\": a zero point of 128 does not fit i8");
}

TEST(TfliteImporter, a_composite_is_its_subgraph) {
  FlatWriter w;
  const auto vector = [&](const std::string& name) {
    return w.table(FlatWriter::Table().offset(0, w.numbers(std::vector<int32_t>{2})).offset(3, w.text(name)));
  };
  const auto graph = [&](const std::string& prefix, uint32_t code, FlatWriter::Table op) {
    const size_t tensors = w.offsets({vector(prefix + "x"), vector(prefix + "y")});
    const size_t zero = w.numbers(std::vector<int32_t>{0}), one = w.numbers(std::vector<int32_t>{1});
    const size_t operators = w.offsets({w.table(op.number(0, code).offset(1, zero).offset(2, one))});
    return w.table(FlatWriter::Table().offset(0, tensors).offset(1, zero).offset(2, one).offset(3, operators));
  };
  const size_t options = w.table(FlatWriter::Table().offset(0, w.text("odml.negated")).number(1, int32_t{1}));
  const size_t outer = graph("", 0, FlatWriter::Table().offset(12, options)), inner = graph("inner_", 1, FlatWriter::Table());
  const size_t codes = w.offsets({w.table(FlatWriter::Table().number(0, int8_t{127}).number(3, int32_t{206})),
                                  w.table(FlatWriter::Table().number(0, int8_t{59}).number(3, int32_t{59}))});
  const size_t graphs = w.offsets({outer, inner}), buffers = w.offsets({w.table(FlatWriter::Table())});
  std::string bytes = w.finish(w.table(FlatWriter::Table().number(0, uint32_t{3}).offset(1, codes).offset(2, graphs).offset(4, buffers)));
  const auto imported = import_bytes(bytes.replace(4, 4, "TFL3"));
  const std::vector<Datum> inputs = {Datum(Tensor::of_f32({2}, std::vector<float>{1, -2}))};
  EXPECT_EQ(test::numbers(evaluate(OperatorSet::builtin(), *imported, inputs).at(0).tensor), (std::vector<double>{-1, 2}));
}

}  // namespace
}  // namespace minnow::tflite
