// SPDX-License-Identifier: Apache-2.0
// Handmade archives, valid and invalid. operators_test.py compares the results of operators with PyTorch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <random>

#include "base/error.h"
#include "base/memory.h"
#include "importers/formats.h"
#include "importers/torchscript/call.h"
#include "importers/torchscript/inflate.h"
#include "importers/torchscript/script.h"
#include "ops/evaluate.h"
#include "support/paths.h"
#include "support/zip_writer.h"

namespace minnow::torchscript {
namespace {

using test::ZipWriter;
using testing::HasSubstr;

// Pickles by hand.
std::string text(const std::string& value) { return "X" + ZipWriter::number(value.size(), 4) + value; }
std::string global(const std::string& module, const std::string& name) { return "c" + module + "\n" + name + "\n"; }
std::string integer(int64_t value) { return "J" + ZipWriter::number(static_cast<uint64_t>(value) & 0xffffffff, 4); }
std::string floats(std::initializer_list<float> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(float)};
}
/// A tensor of f32 in storage `key`.
std::string tensor(const std::string& key, int64_t count, std::initializer_list<int64_t> sizes, std::initializer_list<int64_t> strides,
                   int64_t offset = 0) {
  std::string made = global("torch._utils", "_rebuild_tensor_v2") + "((" + text("storage") + global("torch", "FloatStorage") + text(key) +
                     text("cpu") + integer(count) + "tQ" + integer(offset) + "(";
  for (int64_t size : sizes) made += integer(size);
  made += "t(";
  for (int64_t stride : strides) made += integer(stride);
  return made + "t\x89" + global("collections", "OrderedDict") + ")RtR";
}
/// A module of class M with these attributes.
std::string module_of(const std::string& attributes) { return "\x80\x02" + global("__torch__", "M") + ")\x81}(" + attributes + "ub."; }

struct ScriptArchive {
  ScriptArchive(std::string program, std::string pickled) : code(std::move(program)), attributes(std::move(pickled)) {}
  std::string code, attributes, constants = "\x80\x02).";
  std::vector<std::pair<std::string, std::string>> more;

  std::string bytes() const {
    ZipWriter zip;
    zip.add("data.pkl", module_of(attributes));
    zip.add("code/__torch__.py", code);
    zip.add("constants.pkl", constants);
    for (const auto& [name, contents] : more) zip.add(name, contents);
    zip.add("version", "6\n");
    return zip.finish();
  }
};

/// A class M whose forward() has this body.
std::string code(const std::string& body, const std::string& parameters = "x: Tensor", const std::string& fields = "") {
  std::string made = "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n" + fields + "  def forward(self: __torch__.M,\n    " +
                     parameters + ") -> Tensor:\n";
  size_t at = 0;
  while (at < body.size()) {
    const size_t end = std::min(body.find('\n', at), body.size());
    made += "    " + body.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return made;
}

std::unique_ptr<Graph> import_bytes(const std::string& bytes, ImportOptions options = {}) {
  options.warn = [](std::string_view) {};
  return import_torchscript(std::as_bytes(std::span(bytes.data(), bytes.size())), nullptr, options);
}
std::unique_ptr<Graph> import_code(const std::string& body, const std::string& parameters = "x: Tensor") {
  return import_bytes(ScriptArchive{code(body, parameters), text("training") + "\x89"}.bytes());
}
std::string error_of(const std::string& bytes) {
  try {
    import_bytes(bytes);
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
    return error.what();
  }
  return "no error";
}
std::string error_of_code(const std::string& body) { return error_of(ScriptArchive{code(body), ""}.bytes()); }
std::vector<float> run(const Graph& graph, const std::vector<Datum>& inputs) {
  const Tensor y = evaluate(OperatorSet::builtin(), graph, inputs).at(0).tensor;
  return {y.data<float>(), y.data<float>() + y.elements()};
}
Datum row(std::vector<float> values) { return Datum(Tensor::of_f32({static_cast<int64_t>(values.size())}, values)); }

TEST(TorchscriptImporter, names_inputs_by_their_arguments_and_outputs_by_their_places) {
  const auto graph = import_code("return (torch.add(first, second), torch.mul(first, 2.))", "first: Tensor, second: Tensor");
  ASSERT_EQ(graph->inputs().size(), 2u);
  EXPECT_EQ(graph->inputs()[0]->name(), "first");
  EXPECT_EQ(graph->inputs()[1]->name(), "second");
  ASSERT_EQ(graph->outputs().size(), 2u);
  EXPECT_EQ(graph->outputs()[0]->name(), "output0");
  EXPECT_EQ(graph->outputs()[1]->name(), "output1");
  EXPECT_EQ(run(*graph, {row({1, 2}), row({3, 4})}), (std::vector<float>{4, 6}));
}

TEST(TorchscriptImporter, names_outputs_by_the_keys_of_a_dictionary) {
  const auto graph = import_code("return {\"sum\": torch.add(x, 1), \"same\": x}");
  ASSERT_EQ(graph->outputs().size(), 2u);
  EXPECT_EQ(graph->outputs()[0]->name(), "sum");
  EXPECT_EQ(graph->outputs()[1]->name(), "same");
}

TEST(TorchscriptImporter, reads_weights_with_strides_and_offsets) {
  // Six elements of storage; a transposed view that begins at the second row's first element would reach beyond, this one does not.
  ScriptArchive archive{code("w = self.w\nreturn torch.add(x, w)", "x: Tensor", "  w : Tensor\n"),
                        text("w") + tensor("0", 6, {2, 2}, {1, 2}, 1)};
  archive.more = {{"data/0", floats({0, 1, 2, 3, 4, 5})}};
  const auto graph = import_bytes(archive.bytes());
  EXPECT_EQ(run(*graph, {row({0, 0})}), (std::vector<float>{1, 3, 2, 4}));
  EXPECT_EQ(graph->constants().at(0)->name(), "w");
}

TEST(TorchscriptImporter, weights_of_deflated_entries_are_those_of_stored_ones) {
  std::vector<float> weights(1000);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i) + 0.5f;
  const std::string elements(reinterpret_cast<const char*>(weights.data()), weights.size() * sizeof(float));
  ZipWriter zip;
  zip.add("data.pkl", module_of(text("w") + tensor("0", 1000, {1000}, {1})));
  zip.add("code/__torch__.py", code("w = self.w\nreturn torch.add(x, w)", "x: Tensor", "  w : Tensor\n"));
  zip.add("constants.pkl", "\x80\x02).");
  zip.add_deflated("data/0", elements);
  zip.add("version", "6\n");
  std::unique_ptr<Graph> graph;
  {
    const auto bytes = std::make_shared<std::string>(zip.finish());
    ImportOptions options;
    options.warn = [](std::string_view) {};
    graph = import_torchscript(std::as_bytes(std::span(bytes->data(), bytes->size())), bytes, options);
  }
  EXPECT_EQ(run(*graph, {row(std::vector<float>(1000))}), weights);
}

TEST(TorchscriptImporter, attributes_that_change_become_states) {
  // "seen" tells no later run anything, and is none.
  ScriptArchive archive{code("w = self.w\ny = torch.add(x, w)\nself.w = y\nn = self.n\nself.n = torch.add(n, 1)\nself.seen = 1\nreturn "
                             "torch.add(y, n)",
                             "x: Tensor", "  w : Tensor\n  n : int\n  seen : int\n"),
                        text("w") + tensor("0", 2, {2}, {1}) + text("n") + integer(3) + text("seen") + integer(0)};
  archive.more = {{"data/0", floats({1, 2})}};
  const auto graph = import_bytes(archive.bytes());
  ASSERT_EQ(graph->states().size(), 2u);
  EXPECT_EQ(graph->states()[0].name, "w");
  EXPECT_EQ(graph->states()[1].name, "n");
  EXPECT_EQ(graph->states()[1].initial.data<int64_t>()[0], 3);
  EXPECT_EQ(run(*graph, {row({10, 20})}), (std::vector<float>{14, 25}));
}

TEST(TorchscriptImporter, what_is_known_leaves_no_branch_and_no_loop) {
  const auto graph = import_code(
      "n = 3\ny = x\nfor i in range(n):\n  y0 = torch.mul(y, 2)\n  y = y0\nif torch.gt(n, 2):\n  z = torch.add(y, 1)\nelse:\n  z = "
      "y\nreturn z");
  for (const Node& node : graph->nodes()) EXPECT_TRUE(node.op() == "Mul" || node.op() == "Add") << node.op();
  EXPECT_EQ(run(*graph, {row({1})}), (std::vector<float>{9}));
}

TEST(TorchscriptImporter, data_decide_in_the_graph) {
  const auto graph = import_code(
      "_0 = bool(torch.gt(torch.sum(x), 0))\nif _0:\n  y = torch.mul(x, 2)\nelse:\n  y = torch.neg(x)\nz = y\n_1 = "
      "bool(torch.lt(torch.sum(z), 10))\n"
      "while _1:\n  z0 = torch.add(z, 4)\n  _1, z = bool(torch.lt(torch.sum(z0), 10)), z0\nreturn z");
  EXPECT_EQ(run(*graph, {row({1, 2})}), (std::vector<float>{6, 8}));
  EXPECT_EQ(run(*graph, {row({-7, -8})}), (std::vector<float>{7, 8}));
}

TEST(TorchscriptImporter, a_branch_that_only_raises_is_taken_not_to_happen) {
  const auto graph =
      import_code("if bool(torch.gt(torch.sum(x), 100)):\n  ops.prim.RaiseException(\"too much\")\nelse:\n  pass\nreturn torch.add(x, 1)");
  EXPECT_EQ(graph->node_count(), 1u);
  EXPECT_THAT(error_of_code("ops.prim.RaiseException(\"never right\")\nreturn x"), HasSubstr("whatever the data are: never right"));
}

TEST(TorchscriptImporter, views_are_seen_through) {
  const auto graph = import_code("y = torch.add(x, 0)\npart = torch.slice(y, 0, 1, 3)\n_0 = torch.mul_(part, 10)\nreturn y");
  EXPECT_EQ(run(*graph, {row({1, 2, 3, 4})}), (std::vector<float>{1, 20, 30, 4}));
}

TEST(TorchscriptImporter, takes_the_number_of_dimensions_from_what_needs_it) {
  const auto graph = import_code("return torch.permute(x, [2, 0, 1])");
  ASSERT_TRUE(graph->inputs()[0]->type.dims);
  EXPECT_EQ(graph->inputs()[0]->type.dims->size(), 3u);
  EXPECT_EQ((*graph->inputs()[0]->type.dims)[0].symbol, "x_0");
  EXPECT_EQ(import_code("w = torch.ones([3, 4])\nreturn torch.embedding(w, x)")->inputs()[0]->type.dtype, DType::i64);
  ImportOptions options;
  options.shapes["x"] = {2, -1};
  const auto hinted = import_bytes(ScriptArchive{code("return torch.add(x, torch.dim(x))"), ""}.bytes(), options);
  EXPECT_EQ((*hinted->inputs()[0]->type.dims)[0].size, 2);
  ImportOptions in_order;
  in_order.shapes_in_order = {{-1, 3}};
  const auto placed = import_bytes(ScriptArchive{code("return torch.add(x, torch.dim(x))"), ""}.bytes(), in_order);
  EXPECT_EQ((*placed->inputs()[0]->type.dims)[1].size, 3);
}

TEST(TorchscriptImporter, weights_of_recurrences_tell_a_size) {
  const std::string weights = "w = torch.ones([24, 8])\nv = torch.ones([24, 6])\nh = torch.zeros([1, 2, 6])\n";
  const auto layer = import_code(weights + "y, n, c, = torch.lstm(x, [h, h], [w, v], False, 1, 0., False, False, True)\nreturn y");
  const auto cell = import_code(weights + "y, c, = torch.lstm_cell(x, [h[0], h[0]], w, v)\nreturn y");
  for (const auto& [graph, rank] : {std::pair{layer.get(), size_t{3}}, std::pair{cell.get(), size_t{2}}}) {
    ASSERT_EQ(graph->inputs()[0]->type.dims->size(), rank);
    EXPECT_EQ(graph->inputs()[0]->type.dims->back().size, 8);
    EXPECT_FALSE(graph->inputs()[0]->type.dims->front().known());
  }
}

TEST(TorchscriptImporter, all_missing_operators_are_named) {
  const std::string error = error_of_code("a = torch.one(x)\nb = torch.two(a)\nc = ops.my.three(x, b)\nreturn torch.add(b, c)");
  EXPECT_THAT(error, HasSubstr("aten::one (node \"a\")"));
  // Operators that use the result of a missing one are not reported, because nobody knows whether they would be called.
  const std::string both = error_of_code("a = torch.one(x)\nb = ops.my.two(x)\nreturn torch.add(a, b)");
  EXPECT_THAT(both, HasSubstr("operators are not supported: aten::one (node \"a\"); my::two (node \"b\")"));
  const std::string five = error_of_code(
      "a = torch.one(x)\nb = ops.my.two(x)\nc = torch.three(x, 2)\nd = ops.my.four(x)\ne = torch.one(x)\nf = ops.their.five(x, x)\nreturn "
      "f");
  EXPECT_THAT(five,
              HasSubstr("operators are not supported: aten::one (nodes \"a\", \"e\"); aten::three (node \"c\"); my::four (node \"d\"); "
                        "my::two (node \"b\"); their::five (node \"f\")"));
}

TEST(TorchscriptImporter, integers_of_numbers_beyond_all_integers_are_the_nearest) {
  using torchscript::Item;
  EXPECT_EQ(Item::real(1e20).integer(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(Item::real(-std::numeric_limits<double>::infinity()).integer(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Item::real(std::numeric_limits<double>::quiet_NaN()).integer(), 0);
  EXPECT_EQ(Item::real(-2.75).integer(), -2);
}

TEST(TorchscriptImporter, quantized_convolutions_that_are_none_are_errors) {
  const auto error = [](const std::string& shape, const std::string& padding) {
    return error_of_code(
        "w = torch.quantize_per_tensor(torch.ones(" + shape + "), 0.5, 0, 12)\np = ops.quantized.conv2d_prepack(w, None, [1, 1], " +
        padding + ", [1, 1], 1)\nq = torch.quantize_per_tensor(x, 0.5, 0, 13)\nreturn torch.dequantize(ops.quantized.conv2d(q, p, 1., 0))");
  };
  EXPECT_THAT(error("[3]", "[0, 0]"), HasSubstr("weights of 1 dimensions are not valid"));
  EXPECT_THAT(error("[3, 2, 1, 1]", "annotate(List[int], [])"), HasSubstr("has no groups or padding"));
}

TEST(TorchscriptImporter, other_archives_are_refused_by_name) {
  ZipWriter state;
  state.add("data.pkl", "\x80\x02}.");
  EXPECT_THAT(error_of(state.finish()), HasSubstr("state_dict"));
  ZipWriter exported;
  exported.add("models/model.json", "{}");
  EXPECT_THAT(error_of(exported.finish()), HasSubstr(".pt2"));
  EXPECT_THAT(error_of("PK\3\4"), HasSubstr("is no whole ZIP archive"));
}

TEST(TorchscriptImporter, hostile_pickles_are_errors) {
  const auto error = [](const std::string& data) {
    ZipWriter zip;
    zip.add("data.pkl", data);
    zip.add("code/__torch__.py", code("return x"));
    return error_of(zip.finish());
  };
  EXPECT_THAT(error("\x80\x02" + global("os", "system") + "(" + text("true") + "tR."), HasSubstr("\"os.system\" is called"));
  EXPECT_THAT(error("\x80\x02" + global("builtins", "eval") + ")\x81."), HasSubstr("an object of"));
  EXPECT_THAT(error("\x80\x02i."), HasSubstr("opcode"));
  EXPECT_THAT(error("\x80\x02h\x05."), HasSubstr("was not kept"));
  EXPECT_THAT(error("\x80\x02t."), HasSubstr("more than it has"));
  EXPECT_THAT(error("\x80\x02"), HasSubstr("cut off"));
  EXPECT_THAT(error("\x80\x02X\xff\xff\xff\xff."), HasSubstr("cut off"));
  EXPECT_THAT(error("\x80\x02K\x01."), HasSubstr("its object is int"));
  // Deeply nested, and holding itself.
  std::string deep = "\x80\x02)";
  for (int i = 0; i < 300000; ++i) deep += '\x85';
  EXPECT_THAT(error(deep + "."), HasSubstr("its object is tuple of 1"));
}

TEST(TorchscriptImporter, tensors_stay_in_their_storages) {
  const auto error = [](const std::string& attributes, const std::string& storage) {
    ScriptArchive archive{code("w = self.w\nreturn torch.add(x, w)"), text("w") + attributes};
    archive.more = {{"data/0", storage}};
    return error_of(archive.bytes());
  };
  const std::string four = floats({1, 2, 3, 4});
  EXPECT_EQ(error(tensor("0", 4, {2, 2}, {2, 1}), four), "no error");
  EXPECT_THAT(error(tensor("0", 4, {2, 2}, {3, 1}), four), HasSubstr("beyond its storage"));
  EXPECT_THAT(error(tensor("0", 4, {2, 2}, {2, 1}, 1), four), HasSubstr("beyond its storage"));
  EXPECT_THAT(error(tensor("0", 4, {2}, {-1}), four), HasSubstr("strides"));
  EXPECT_THAT(error(tensor("0", 4, {2147483647, 2147483647}, {0, 0}), four), HasSubstr("sizes"));
  EXPECT_THAT(error(tensor("0", 4, {100000000}, {0}), four), HasSubstr("very often"));
  EXPECT_THAT(error(tensor("0", 5, {2}, {1}), four), HasSubstr("should have 5 elements"));
  EXPECT_THAT(error(tensor("1", 4, {2}, {1}), four), HasSubstr("has no entry"));
}

TEST(TorchscriptImporter, programs_without_end_are_errors) {
  EXPECT_THAT(error_of_code("return (self).forward(x, )"), HasSubstr("deep"));
  EXPECT_THAT(error_of_code("n = 0\ny = x\n_0 = True\nwhile _0:\n  _0, n = True, torch.add(n, 1)\nreturn x"), HasSubstr("very often"));
  EXPECT_THAT(error_of_code("y = x\n_0 = True\nwhile _0:\n  y0 = torch.mul(y, 0.5)\n  _0, y = True, y0\nreturn y"),
              HasSubstr("very often"));
  EXPECT_THAT(error_of_code("a = [1, 2]\nfor i in range(60):\n  _0 = torch.extend(a, a)\nreturn x"), HasSubstr("steps"));
  EXPECT_THAT(error_of_code("return torch.arange(4000000000000)"), HasSubstr("numbers from"));
  std::string nested(5000, '(');
  EXPECT_THAT(error_of_code("return " + nested + "x" + std::string(5000, ')')), HasSubstr("deep"));
  std::string chained = "return x";
  for (int i = 0; i < 5000; ++i) chained += ".a";
  EXPECT_THAT(error_of_code(chained), HasSubstr("deep"));
  EXPECT_THAT(error_of_code("l = annotate(List[Tensor], [])\n_0 = torch.append(l, l)\nreturn l"), HasSubstr("themselves"));
  EXPECT_THAT(error_of_code("l = annotate(List[Tensor], [])\nd = annotate(Dict[str, Tensor], {\"a\": l})\n_0 = torch.append(l, (d, x))\n"
                            "return x"),
              HasSubstr("themselves"));
  std::string twice = "a = [x]\n";
  for (int i = 0; i < 60; ++i) twice += "b = [a, a]\na = [b, b]\n_0 = torch.append(a, b)\n";
  EXPECT_NE(error_of_code(twice + "return x"), "");
}

TEST(TorchscriptImporter, tables_of_a_size_that_a_program_gives_are_charged) {
  const auto account = std::make_shared<MemoryAccount>(size_t{64} << 20);
  const ChargeTo charged(account);
  EXPECT_THAT(error_of_code("return torch.unfold(x, 0, 100000000, 1)"), HasSubstr("bytes are needed"));
  EXPECT_THAT(error_of_code("return torch.unfold(x, 0, 2147483648, 1)"), HasSubstr("bytes are needed"));
  EXPECT_THAT(error_of_code("return torch.im2col(torch.reshape(x, [1, 1, 2, 2]), [100000000, 1], [1, 1], [0, 0], [1, 1])"),
              HasSubstr("bytes are needed"));
}

TEST(TorchscriptImporter, sizes_beyond_what_sums_and_products_hold_are_errors) {
  for (const char* number : {"9223372036854775807", "-9223372036854775807", "4294967296"}) {
    const auto error = [&](std::string code) { return error_of_code("return " + code.replace(code.find('@'), 1, number)); };
    EXPECT_THAT(error("torch.conv2d(torch.reshape(x, [1, 1, 2, 2]), torch.reshape(x, [1, 1, 2, 2]), None, [1, 1], [0, 0], [1, 1], @)"),
                HasSubstr("groups is"));
    EXPECT_THAT(error("torch.conv2d(torch.reshape(x, [1, 1, 2, 2]), torch.reshape(x, [1, 1, 2, 2]), None, [1, 1], [0, 0], [@, 1], 1)"),
                HasSubstr("dilation is"));
    EXPECT_THAT(error("torch.narrow(x, 0, 0, @)"), HasSubstr("length is"));
  }
  EXPECT_THAT(error_of_code("return torch.arange(-9223372036854775807, 9223372036854775807, 1)"), HasSubstr("numbers from"));
}

TEST(TorchscriptImporter, deep_programs_are_errors) {
  // Each call is deep in a list that is deep in another.
  const std::string deep = std::string(150, '[') + "(self).forward(x, )" + std::string(150, ']');
  EXPECT_THAT(error_of_code("l = " + deep + "\nreturn x"), HasSubstr("deep"));
  // An attribute's value, or a default argument, that refers to itself.
  const auto error = [](const std::string& more, const std::string& body) {
    return error_of(ScriptArchive{code(body, "x: Tensor", more), ""}.bytes());
  };
  EXPECT_THAT(error("  loop = (self).loop\n", "return torch.add(x, self.loop)"), HasSubstr("deep"));
  EXPECT_THAT(error("  def f(self: __torch__.M, y: int=(self).f()) -> int:\n    return y\n", "return torch.add(x, (self).f())"),
              HasSubstr("deep"));
  // Very many views of each other are written to at once.
  std::string views = "v0 = torch.view(x, [-1])\n";
  for (int i = 0; i < 3000; ++i) views += format("v{} = torch.view(v{}, [-1])\n", i + 1, i);
  EXPECT_EQ(error_of_code(views + "_0 = torch.add_(v3000, 1)\nreturn x"), "no error");
}

TEST(TorchscriptImporter, what_holds_the_same_many_times_is_an_error) {
  const auto doubled = [](const std::string& name, const std::string& indent, const std::string& open, const std::string& close) {
    std::string text = indent + name + " = " + open + "x, x" + close + "\n";
    for (int i = 0; i < 15; ++i) text += indent + name + " = " + open + name + ", " + name + close + "\n";
    return text;
  };
  EXPECT_NE(error_of_code(doubled("a", "", "(", ")") + "a = (a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a)\nreturn (a, a, a, a, a)"), "");
  const std::string branches = "if bool(torch.sum(x)):\n" + doubled("a", "  ", "(", ")") +
                               "  b = (a, a, a, a, a, a, a, a, a, a, a, a, a)\n" + "else:\n" + doubled("a", "  ", "(", ")") +
                               "  b = (a, a, a, a, a, a, a, a, a, a, a, a, a)\n";
  EXPECT_NE(error_of_code(branches + "return x"), "");
  // A list of the file that holds itself.
  const auto holding_itself = [](const std::string& body) {
    return error_of(ScriptArchive{code(body), text("l") + "]qph" + "pa"}.bytes());
  };
  EXPECT_THAT(holding_itself("return torch.add(x, int(torch.eq(self.l, self.l)))"), HasSubstr("deep"));
  EXPECT_THAT(holding_itself("return self.l"), HasSubstr("deep"));
  EXPECT_THAT(holding_itself("return self.l[0]"), HasSubstr("themselves"));
}

TEST(TorchscriptImporter, values_of_unexpected_kinds_are_errors) {
  EXPECT_THAT(error_of_code("for 5 in range(3):\n  y = x\nreturn x"), HasSubstr("no name"));
  EXPECT_THAT(error_of_code("for [] in range(3):\n  y = x\nreturn x"), HasSubstr("no name"));
  EXPECT_THAT(error_of_code("with x as 5:\n  y = x\nreturn x"), HasSubstr("no name"));
  EXPECT_THAT(error_of_code("_0 = torch._set_item(5, 0, x)\nreturn x"), HasSubstr("an item of int is set"));
  EXPECT_THAT(error_of_code("_0 = torch.clear(5)\nreturn x"), HasSubstr("int"));
  EXPECT_THAT(error_of_code("_0 = torch.Delete(None, 0)\nreturn x"), HasSubstr("never changes"));
  EXPECT_THAT(error_of_code("_0 = torch.sort((2, 1))\nreturn x"), HasSubstr("tuple"));
  EXPECT_THAT(error_of_code("_0 = torch.dict_()\nreturn x"), HasSubstr("nothing that its result can be written to"));
  EXPECT_THAT(error_of_code("y = torch.zeros([2, 3])\na, b = torch.unbind(y)\n_0 = torch.unsqueeze_(y, 0)\nreturn b"),
              HasSubstr("has 1 parts now"));
  EXPECT_THAT(error_of_code("q = torch.quantize_per_tensor(x, 0.1, 0, 13)\n_0 = torch.add_(2, q)\nreturn x"), HasSubstr("written to int"));
  EXPECT_THAT(error_of_code("q = torch.quantize_per_tensor(x, 0.1, 0, 13)\n_0 = torch.split_(q, 1)\nreturn x"), HasSubstr("written to"));
  EXPECT_THAT(error_of_code("q = torch.quantize_per_tensor(x, 0.1, 0, 13)\nw = torch.quantize_per_tensor(torch.ones([2, 2]), 0.1, 0, 12)\n"
                            "p = ops.quantized.linear_prepack(w, None)\nr = ops.quantized.cat([None, q], 0)\nreturn x"),
              HasSubstr("a Tensor is expected, None stands there"));
  EXPECT_THAT(error_of_code("y = torch.__range_length(-9223372036854775807, 9223372036854775807, 1)\nreturn torch.add(x, y)"),
              HasSubstr("2^63"));
  EXPECT_EQ(error_of_code("y = torch.__range_length(-9223372036854775807, 9223372036854775807, 4)\nreturn torch.add(x, y)"), "no error");
}

TEST(TorchscriptImporter, errors_of_a_program_while_its_objects_are_restored) {
  const std::string restoring =
      "class M(Module):\n  def __setstate__(self: __torch__.M, state: int) -> NoneType:\n"
      "    ops.prim.RaiseException(\"no such state\")\n  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n    return x\n";
  ZipWriter zip;
  zip.add("data.pkl", "\x80\x02" + global("__torch__", "M") + ")\x81K\x05" + "b.");
  zip.add("code/__torch__.py", restoring);
  EXPECT_THAT(error_of(zip.finish()), HasSubstr("no such state"));
}

TEST(TorchscriptImporter, errors_name_the_place) {
  EXPECT_THAT(error_of_code("y = torch.permute(x, [0, 0])\nreturn y"),
              HasSubstr("\"y\", line 6 (aten::permute): dimension 0 stands twice"));
  EXPECT_THAT(error_of_code("return z"), HasSubstr("\"z\" is used, but nothing is assigned to it"));
  EXPECT_THAT(error_of_code("y = $\nreturn x"), HasSubstr("line 6"));
}

TEST(TorchscriptImporter, is_recognized_by_its_beginning) {
  const std::string bytes = ScriptArchive{code("return torch.neg(x)"), ""}.bytes();
  const Format* format = recognize_format(std::as_bytes(std::span(bytes.data(), bytes.size())));
  ASSERT_TRUE(format);
  EXPECT_EQ(format->name, "torchscript");
  std::set<std::string_view> names;
  for (const ForeignOperator& op : format->operators()) EXPECT_TRUE(names.insert(op.name).second) << op.name << " stands twice in the list";
  EXPECT_GE(names.size(), 200u);
}

TEST(TorchscriptScript, parses_what_printers_print) {
  const torchscript::Module module = torchscript::parse_module(
      "op_version_set = 1\nclass A(NamedTuple):\n  a : Tensor\n  b : Final[List[int]] = [1, -2]\ndef f(x: Tensor,\n    y: "
      "Optional[Tuple[int, float]]=None) -> Tensor:\n"
      "  a, b, = torch.split(x, 2, 1)\n  c : int = {\"k\\n\": 1.5e-3}[\"k\\n\"]\n  with a as w:\n    pass\n  return (a, )\n",
      "file");
  ASSERT_TRUE(module.classes.contains("A"));
  EXPECT_EQ(module.classes.at("A")->fields, std::vector<std::string>{"a"});
  const torchscript::Function& f = *module.functions.at("f");
  EXPECT_EQ(torchscript::type_text(f.parameters[1].type.get()), "Optional[Tuple[int, float]]");
  ASSERT_EQ(f.body.size(), 4u);
  EXPECT_TRUE(f.body[0].unpacks);
  EXPECT_THROW(torchscript::parse_module("def f(x:\n", "file"), InvalidModel);
}

TEST(TorchscriptInflate, unpacks_blocks_of_every_kind) {
  const auto unpacked = [](std::initializer_list<int> bytes, size_t size) {
    std::vector<std::byte> source;
    for (int byte : bytes) source.push_back(static_cast<std::byte>(byte));
    const auto made = torchscript::inflate(source, size);
    return made ? std::string(reinterpret_cast<const char*>(made->data()), made->size()) : std::string("broken");
  };
  EXPECT_EQ(unpacked({0x01, 0x03, 0x00, 0xfc, 0xff, 'a', 'b', 'c'}, 3), "abc");
  EXPECT_EQ(unpacked({0x4b, 0x4c, 0x4a, 0x06, 0x00}, 3), "abc");
  EXPECT_EQ(unpacked({0x4b, 0x44, 0x00, 0x00}, 8), "broken");
  EXPECT_EQ(unpacked({0x4b, 0x4c, 0x4a, 0x06, 0x00}, 2), "broken");
  EXPECT_EQ(unpacked({0x4b, 0x4c, 0x4a}, 3), "broken");
  EXPECT_EQ(unpacked({0x07}, 0), "broken");
}

// Damaged files give an error or a graph, and nothing else.

std::vector<std::string> models() {
  std::vector<std::string> all = {ScriptArchive{code("return torch.add(x, 1)"), text("training") + "\x89"}.bytes()};
  const auto add = [&](const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (file) all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  };
  add(test::source_dir() / "tests/fuzz/seeds/torchscript/loops.pt");
  for (const char* name : {"op_mix_script", "rnn_lstm_gru", "facenet_pnet_trace"})
    add(test::corpus_dir() / "torchscript" / name / "model.pt");
  return all;
}

TEST(TorchscriptRobust, truncated_files) {
  for (const std::string& whole : models())
    for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 400) error_of(whole.substr(0, size));
}

TEST(TorchscriptRobust, changed_bytes) {
  std::mt19937 random(11);
  for (const std::string& whole : models())
    for (int i = 0; i < 300; ++i) {
      std::string damaged = whole;
      for (int k = 0; k < 3; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
      error_of(damaged);
    }
}

TEST(TorchscriptRobust, changed_programs_and_pickles_in_whole_archives) {
  std::mt19937 random(12);
  const ScriptArchive archive{
      code("a = [1, 2, 3]\ny = torch.view(x, [torch.size(x, 0), -1])\nif bool(torch.gt(torch.sum(y), 0)):\n  z = "
           "torch.add(y, a[1])\nelse:\n  z = torch.neg(y)\n"
           "out = annotate(List[Tensor], [])\nfor i in range(torch.size(x, 0)):\n  _0 = torch.append(out, torch.mul(z, "
           "i))\nreturn torch.cat(out, 0)"),
      text("w") + tensor("0", 4, {2, 2}, {2, 1})};
  EXPECT_NO_THROW(import_bytes([&] {
    ScriptArchive whole = archive;
    whole.more = {{"data/0", floats({1, 2, 3, 4})}};
    return whole.bytes();
  }()));
  for (int i = 0; i < 3000; ++i) {
    ScriptArchive damaged = archive;
    damaged.more = {{"data/0", floats({1, 2, 3, 4})}};
    std::string& part = i % 2 ? damaged.code : damaged.attributes;
    for (uint32_t k = 0; k < 1 + random() % 3; ++k) {
      const size_t at = random() % part.size();
      if (random() % 3 == 0)
        part.erase(at, 1 + random() % 4);
      else if (random() % 2)
        part[at] = static_cast<char>(random());
      else
        part.insert(at, part.substr(random() % part.size(), random() % 12));
    }
    error_of(damaged.bytes());
  }
}

}  // namespace
}  // namespace minnow::torchscript
