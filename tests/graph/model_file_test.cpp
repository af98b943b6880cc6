// SPDX-License-Identifier: Apache-2.0
#include "graph/model_file.h"

#include <gmock/gmock.h>
#include <minnow/convert.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>

#include "base/error.h"
#include "base/memory.h"
#include "base/numeric.h"
#include "graph/model_generated.h"
#include "graph/model_header.h"
#include "support/operators.h"
#include "support/paths.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

constexpr std::string_view kFileText = R"(graph "digits" {
  metadata producer "a tool"
  metadata source_format "onnx"
  metadata source_hash "00ff"
  metadata label "cat"
  metadata label "dog"
  metadata property "key" = "value"
  input x: f32[batch, 3, ?]
  input items: optional(seq(?[1, 2]))
  input plain
  const w = f32[2, 2] [1, -2.5, 1e+10, 0.1]
  const same = f32[4] [1, -2.5, 1e+10, 0.1]
  const scalar = i64[] -3
  const flags = bool[2] [1, 0]
  const none = f32[0, 4] []
  const special = f64[3] [inf, -inf, nan]
  const nibbles = i4[3] [-8, 7, 1]
  const codes = u2[5] [0, 1, 2, 3, 2]
  const small = f4e2m1[3] [0.5, -6, 1.5]
  const half = bf16[2] [0.5, 1]
  state count: f32[n] = f32[1] [0] next y as "counter"
  state kept: i64[1] = i64[1] [7]
  y: f32[batch, 2], _, "a b" = Foo(x, _, w, scalar) {axis = 1, big = -9223372036854775808, scale = 0.5, mode = "sa\x00me", pads = [1, -1], floats = [1.0, 2.5], names = ["a", ""], a = ints[], b = floats[], c = strings[], value = u8[2] [1, 2], packed = i4[3] [-8, 7, 1], type = type(seq(i64[?]))} @"node 1"
  z: f32[] = If(flags) {then_branch = graph "then" {
    input i: f32
    const k = f32[] 1
    out = Add(k, y)
    inner = Loop(out) {body = graph {
      state s: f32[1] = f32[1] [0] next q
      q = Mul(s, i, w)
      output q
    }}
    output inner
  }, else_branch = graph {
    out'2 = com.example.Op(same, count)
    output out'2
    output y
  }}
  () = Print(z, plain, items, none, special, nibbles, codes, small, half, kept)
  output z
  output "a b"
  output x
}
)";

Bytes written(const Graph& graph) {
  Bytes bytes;
  write_model_to(graph, [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
  return bytes;
}

/// A copy that begins `shift` bytes behind a multiple of 64.
std::unique_ptr<Graph> read(std::span<const std::byte> bytes, size_t shift = 0) {
  std::shared_ptr<void> memory = allocate_shared(bytes.size() + shift + 1);
  std::byte* at = static_cast<std::byte*>(memory.get()) + shift;
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  return read_model({at, bytes.size()}, memory);
}

std::string text_without_source(Graph& graph) {
  graph.source.clear();
  return to_text(graph, std::numeric_limits<size_t>::max());
}

std::string read_error(std::span<const std::byte> bytes) {
  try {
    read(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

file::Header header_of(const Bytes& bytes) {
  file::Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}
Bytes with_header(Bytes bytes, const file::Header& header) {
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

TEST(ModelFile, round_trips_everything) {
  const auto graph = parse_graph(kFileText);
  const auto copy = read(written(*graph));
  EXPECT_EQ(text_without_source(*copy), kFileText);
  verify(*copy);
  EXPECT_EQ(written(*copy), written(*graph));
}

TEST(ModelFile, memory_need_not_be_aligned) {
  const Bytes bytes = written(*parse_graph(kFileText));
  for (size_t shift : {1, 4, 16, 63}) {
    const auto copy = read(bytes, shift);
    EXPECT_EQ(text_without_source(*copy), kFileText);
    for (const auto& constant : copy->constants()) EXPECT_EQ(reinterpret_cast<uintptr_t>(constant->constant()->data()) % 64, 0u);
  }
}

TEST(ModelFile, contents_are_used_in_place_and_stored_once) {
  Graph graph;
  const auto of_32_bits = [](int64_t step) {
    Tensor tensor = pattern({1000}, step);
    tensor.writable().data<float>()[0] = 0.1F;  // no number of 16 bits
    return tensor;
  };
  const Tensor large = of_32_bits(7);
  graph.add_constant(large, "a");
  graph.add_constant(large.clone(), "b");
  graph.add_constant(large.reshaped({10, 100}), "c");
  graph.add_constant(of_32_bits(5), "d");
  const std::string path = (scratch_dir() / "in_place.minnow").string();
  write_model(graph, path);
  auto copy = read_model(path);
  EXPECT_LT(std::filesystem::file_size(path), 2 * 4000 + 1000u);
  const auto data = [&](size_t i) { return copy->constants()[i]->constant()->data(); };
  EXPECT_EQ(data(0), data(1));
  EXPECT_EQ(data(0), data(2));
  EXPECT_NE(data(0), data(3));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data(3)) % 64, 0u);
  EXPECT_EQ(copy->constants()[0]->constant()->owner(), copy->constants()[3]->constant()->owner());
  EXPECT_EQ(copy->source, path);
  Tensor kept = *copy->constants()[3]->constant();
  copy.reset();
  std::filesystem::remove(path);
  EXPECT_EQ(numbers(kept), numbers(of_32_bits(5)));  // the mapping lives as long as a tensor does
}

TEST(ModelFile, vectors_take_16_bits_where_that_loses_nothing) {
  const auto bytes_with = [](const std::vector<float>& values, Shape shape) {
    Graph graph;
    graph.add_constant(Tensor::of_f32(shape, values), "v");
    const std::vector<std::byte> bytes = written(graph);
    EXPECT_EQ(std::memcmp(read(bytes)->constants()[0]->constant()->data(), values.data(), 4 * values.size()), 0);
    return bytes.size();
  };
  std::vector<float> of_bf16(1024), of_f16(1024), wide(1024);
  for (size_t i = 0; i < 1024; ++i) {
    of_bf16[i] = std::ldexp(1 + static_cast<float>(i % 128) / 128, static_cast<int>(i % 200) - 100);
    of_f16[i] = (1 + static_cast<float>(i) / 1024) * (i % 2 ? 0.25F : -8.0F);
    wide[i] = 1 + static_cast<float>(i) / 4096;
  }
  EXPECT_EQ(bytes_with(wide, {1024}) - bytes_with(of_bf16, {1024}), 2048u);
  EXPECT_EQ(bytes_with(wide, {1024}) - bytes_with(of_f16, {1024}), 2048u);
  EXPECT_EQ(bytes_with(wide, {32, 32}), bytes_with(of_bf16, {32, 32})) << "matrices are used in place";
  of_bf16[7] = -0.0F, of_bf16[8] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(bytes_with(wide, {1024}) - bytes_with(of_bf16, {1024}), 2048u);
}

TEST(ModelFile, equal_types_and_texts_are_stored_once) {
  const auto head = [](size_t nodes) {
    Graph graph;
    Value* x = &graph.add_input("x", ValueType::tensor(DType::f32, {1, 64, 56, 56}));
    for (size_t i = 0; i < nodes; ++i) {
      x = graph.add_node("Relu", {x}, 1, {}).output(0);
      x->type = ValueType::tensor(DType::f32, {1, 64, 56, 56});
    }
    graph.add_output(*x);
    const std::vector<std::byte> bytes = written(graph);
    EXPECT_EQ(read(bytes)->last()->output(0)->type.dims->size(), 4u);
    return bytes.size();
  };
  EXPECT_LT(head(1000) - head(500), 500 * 80u);
}

TEST(ModelFile, bits_of_numbers_are_kept) {
  Graph graph;
  Tensor odd(DType::f32, {2});
  const uint32_t bits[] = {0x7fc12345, 0xff800001};  // NaNs with payloads
  std::memcpy(odd.writable().data(), bits, sizeof bits);
  graph.add_constant(odd, "odd");
  const auto copy = read(written(graph));
  EXPECT_EQ(std::memcmp(copy->constants()[0]->constant()->data(), bits, sizeof bits), 0);
}

TEST(ModelFile, an_attribute_of_minus_zero_keeps_its_sign) {
  const auto graph = parse_graph("graph { input x y = LeakyRelu(x) {alpha = -0.0} output y }");
  EXPECT_THAT(to_text(*read(written(*graph))), HasSubstr("alpha = -0.0"));
}

TEST(ModelFile, names_made_later_differ_from_those_in_the_file) {
  Graph graph;
  const std::string first = graph.add_constant(pattern({2})).name();
  const auto copy = read(written(graph));
  EXPECT_NE(copy->add_constant(pattern({3})).name(), first);
}

TEST(Graph, names_made_later_differ_from_those_that_were_given) {
  // A file that was exported has names of ours, in subgraphs too.
  Graph graph;
  graph.add_constant(pattern({2}), "constant#2");
  graph.add_input("x#99999999999999999999", {});
  graph.add_input("x#7y", {});
  EXPECT_EQ(graph.add_constant(pattern({3})).name(), "constant#3");
  auto inner = std::make_shared<Graph>();
  inner->add_output(inner->add_constant(pattern({2}), "constant#5"));
  const std::string outputs[] = {"y"};
  graph.add_node("If", std::vector<Value*>{&graph.add_input("condition", {})}, outputs, {{"then_branch", Subgraph(inner)}});
  EXPECT_EQ(graph.add_constant(pattern({3})).name(), "constant#6");
  inner->add_constant(pattern({2}), "constant#9");
  EXPECT_EQ(graph.add_constant(pattern({3})).name(), "constant#10");
}

TEST(ModelFile, a_node_without_a_required_input_is_refused_when_the_model_is_loaded) {
  const auto graph = parse_graph("graph {\n input x: f32[2]\n y = Transpose(x) @\"turned\"\n output y\n}");
  graph->first()->set_input(0, nullptr);
  const std::string path = (scratch_dir() / "missing_input.minnow").string();
  write_model(*graph, path);
  const std::string expected = path + ": node \"turned\" (Transpose): input 0 (\"data\") is missing";
  EXPECT_THAT([&] { Model::load(path); }, testing::ThrowsMessage<InvalidModel>(expected));
  EXPECT_THAT([&] { convert(path); }, testing::ThrowsMessage<InvalidModel>(expected));
}

TEST(ModelFile, errors_name_the_file) {
  const std::string path = (scratch_dir() / "bad.minnow").string();
  std::ofstream(path) << "this is no model";
  try {
    read_model(path);
    FAIL();
  } catch (const InvalidModel& error) {
    EXPECT_EQ(error.what(), path + ": it does not begin as a .minnow file does; minnow convert makes one of other formats");
  }
  std::filesystem::remove(path);
  EXPECT_THROW(read_model((scratch_dir() / "missing.minnow").string()), FileError);
  EXPECT_THAT(read_error({}), HasSubstr("model in memory: is empty"));
}

TEST(ModelFile, versions) {
  const Bytes bytes = written(*parse_graph(kFileText));
  file::Header header = header_of(bytes);
  header.minor += 1;
  EXPECT_EQ(text_without_source(*read(with_header(bytes, header))), kFileText);
  header = header_of(bytes);
  EXPECT_EQ(header.major, 1);  // all readers read files without codes
  header.major = 3;
  EXPECT_EQ(read_error(with_header(bytes, header)),
            "model in memory: it has format version 3.1, this build reads versions 1 and 2; a newer Minnow is needed");
}

TEST(ModelFile, wrong_places) {
  const Bytes bytes = written(*parse_graph(kFileText));
  const auto changed = [&](auto change) {
    file::Header header = header_of(bytes);
    change(header);
    return read_error(with_header(bytes, header));
  };
  EXPECT_THAT(changed([](auto& h) { h.file_size += 1; }), HasSubstr("it is incomplete or damaged"));
  EXPECT_THAT(changed([](auto& h) { h.head_offset = ~uint64_t{15}; }), HasSubstr("its head of"));
  EXPECT_THAT(changed([](auto& h) { h.head_size = ~uint64_t{0}; }), HasSubstr("its head of"));
  EXPECT_THAT(changed([](auto& h) { h.weights_offset = ~uint64_t{63}; }), HasSubstr("its weights of"));
  EXPECT_THAT(changed([](auto& h) { h.weights_size += 64; }), HasSubstr("its weights of"));
  EXPECT_THAT(changed([](auto& h) { h.head_size /= 2; }), HasSubstr("its head is damaged"));
}

// A file whose head is made by hand.
Bytes with_head(const std::function<flatbuffers::Offset<file::Model>(flatbuffers::FlatBufferBuilder&)>& build) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(build(builder));
  file::Header header;
  header.head_size = builder.GetSize();
  header.weights_offset = align_up(sizeof header + header.head_size);
  header.weights_size = 128;
  header.file_size = header.weights_offset + header.weights_size;
  Bytes bytes(header.file_size);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, builder.GetBufferPointer(), builder.GetSize());
  return bytes;
}
std::string error_in_head(const std::function<flatbuffers::Offset<file::Model>(flatbuffers::FlatBufferBuilder&)>& build) {
  return read_error(with_head(build));
}

TEST(ModelFile, tables_that_refer_to_one_text_many_times_do_not_multiply_it) {
  EXPECT_THAT(error_in_head([](auto& builder) {
                const auto name = builder.CreateString(std::string(100000, 'x'));
                const auto value = file::CreateValue(builder, name);
                const auto inputs = builder.CreateVector(std::vector<flatbuffers::Offset<file::Value>>(10000, value));
                return file::CreateModel(builder, file::kOpset, file::CreateGraph(builder, 0, inputs));
              }),
              HasSubstr("far more than it has bytes"));
}

TEST(ModelFile, tensors_that_do_not_fit_their_contents) {
  const auto with_constant = [](uint8_t dtype, std::vector<int64_t> dims, uint32_t segment, std::vector<file::Segment> segments) {
    return error_in_head([&](auto& builder) {
      const auto sizes = builder.CreateVector(dims);
      const auto tensor = file::CreateTensor(builder, dtype, sizes, segment);
      const auto name = builder.CreateString("c");
      const auto constants = builder.CreateVector(std::vector{file::CreateConstant(builder, name, tensor)});
      const auto graph = file::CreateGraph(builder, 0, 0, constants);
      const auto listed = builder.CreateVectorOfStructs(segments);
      return file::CreateModel(builder, file::kOpset, graph, 0, 0, listed);
    });
  };
  EXPECT_EQ(with_constant(1, {2, 4}, 0, {{64, 32}}), "");
  EXPECT_THAT(with_constant(1, {2, 5}, 0, {{64, 32}}), HasSubstr("constant \"c\" is f32[2, 5] and needs 40 bytes, its contents have 32"));
  EXPECT_THAT(with_constant(1, {2, 4}, 1, {{64, 32}}), HasSubstr("no contents"));
  EXPECT_THAT(with_constant(1, {-2, 4}, 0, {{64, 32}}), HasSubstr("negative dimension"));
  EXPECT_THAT(with_constant(1, {int64_t{1} << 40, int64_t{1} << 40}, 0, {{64, 32}}), HasSubstr("more than the file holds"));
  EXPECT_THAT(with_constant(1, std::vector<int64_t>(kMaxRank + 1, 1), 0, {{64, 4}}), HasSubstr("rank 33"));
  EXPECT_THAT(with_constant(8, {1}, 0, {{64, 32}}), HasSubstr("dtype 8"));
  EXPECT_THAT(with_constant(200, {1}, 0, {{64, 32}}), HasSubstr("dtype 200"));
  EXPECT_THAT(with_constant(1, {8}, 0, {{64, 128}}), HasSubstr("cannot lie at 64"));
  EXPECT_THAT(with_constant(1, {8}, 0, {{32, 32}}), HasSubstr("cannot lie at 32"));
  EXPECT_THAT(with_constant(1, {8}, 0, {{0, 65}, {64, 32}}), HasSubstr("cannot lie at 64"));
}

TEST(ModelFile, a_segment_of_half_bytes_serves_tensors_of_odd_and_even_lengths) {
  Bytes bytes = with_head([](auto& builder) {
    std::vector<flatbuffers::Offset<file::Constant>> constants;
    for (const int64_t elements : {3, 4}) {
      const auto sizes = builder.CreateVector(std::vector<int64_t>{elements});
      const auto tensor = file::CreateTensor(builder, static_cast<uint8_t>(DType::i4), sizes, 0);
      constants.push_back(file::CreateConstant(builder, builder.CreateString(elements == 3 ? "odd" : "even"), tensor));
    }
    const auto listed = builder.CreateVector(constants);
    const auto graph = file::CreateGraph(builder, 0, 0, listed);
    const auto segments = builder.CreateVectorOfStructs(std::vector<file::Segment>{{64, 2}});
    return file::CreateModel(builder, file::kOpset, graph, 0, 0, segments);
  });
  bytes[bytes.size() - 64] = std::byte{0x21};
  bytes[bytes.size() - 63] = std::byte{0x43};
  const auto graph = read(bytes);
  ASSERT_EQ(graph->constants().size(), 2u);
  const Tensor even = *std::next(graph->constants().begin())->get()->constant();
  ASSERT_EQ(even.elements(), 4);
  EXPECT_EQ(std::vector<int8_t>(even.data<int8_t>(), even.data<int8_t>() + 4), (std::vector<int8_t>{1, 2, 3, 4}));
}

/// Everything that a reader of the graph would touch.
void touch(const Graph& graph) {
  to_text(graph);
  for (const auto& constant : graph.constants()) {
    volatile unsigned sum = 0;
    const Tensor& tensor = *constant->constant();
    for (size_t i = 0; i < tensor.bytes(); ++i) sum = sum + tensor.data<uint8_t>()[i];
  }
}

TEST(ModelFile, truncated_files_are_errors) {
  const Bytes bytes = written(*parse_graph(kFileText));
  for (size_t i = 0; i < 1000; ++i) EXPECT_NE(read_error(std::span(bytes).first(i * bytes.size() / 1000)), "");
}

TEST(ModelFile, damaged_files_are_read_or_refused) {
  const Bytes bytes = written(*parse_graph(kFileText));
  std::mt19937 random(1);
  size_t refused = 0;
  for (int i = 0; i < 10000; ++i) {
    Bytes damaged = bytes;
    for (int flips = 1 + i % 3; flips--;) damaged[random() % damaged.size()] ^= std::byte(1 << random() % 8);
    try {
      touch(*read(damaged, i % 2));
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 5000u);
}

/// A graph with weights of every kind that a code is used for.
std::unique_ptr<Graph> compressible() {
  auto graph = parse_graph(kFileText);
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  const auto weights = [&](DType dtype, const Shape& shape, float deviation) {
    Tensor tensor(dtype, shape);
    std::vector<double> values(static_cast<size_t>(shape.elements()));
    for (double& value : values) value = static_cast<double>(std::clamp(deviation * normal(generator), -7.0F, 7.0F));
    if (is_float(dtype)) {
      narrow(dtype, values.data(), values.size(), tensor.writable().data());
    } else {
      for (size_t i = 0; i < values.size(); ++i) tensor.writable().data<int8_t>()[i] = static_cast<int8_t>(values[i]);
    }
    return tensor;
  };
  graph->add_constant(weights(DType::i8, {300, 100}, 3), "bytes");
  graph->add_constant(weights(DType::f32, {20, 100}, 0.1F), "reals");
  graph->add_constant(weights(DType::f16, {40, 100}, 0.1F), "halves");
  graph->add_constant(weights(DType::i4, {101, 99}, 1), "nibbles of weights");
  graph->add_constant(weights(DType::i4, {101, 99}, 0), "zeros");
  graph->add_constant(graph->constants().back()->constant()->clone(), "the same");
  graph->add_constant(Tensor(DType::f32, {100, 100}), "zeros of f32");
  return graph;
}

Bytes compressed(const Graph& graph, const StoredWeights& weights = {}) {
  Bytes bytes;
  write_model_to(
      graph, [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); }, weights, true);
  return bytes;
}

TEST(ModelFile, entropy_codes_give_the_same_graph) {
  const auto graph = compressible();
  const Bytes plain = written(*graph), coded = compressed(*graph);
  EXPECT_LT(coded.size(), plain.size() * 6 / 10);
  const auto copy = read(coded);
  EXPECT_EQ(text_without_source(*copy), text_without_source(*graph));
  EXPECT_EQ(written(*copy), plain);
  EXPECT_EQ(compressed(*copy), coded);
  const auto data = [&](size_t from_last) { return copy->constants()[copy->constants().size() - from_last]->constant()->data(); };
  EXPECT_EQ(data(2), data(3));
  for (const auto& constant : copy->constants()) EXPECT_EQ(reinterpret_cast<uintptr_t>(constant->constant()->data()) % 64, 0u);
}

TEST(ModelFile, a_head_is_coded_with_the_weights) {
  auto graph = compressible();
  const Value* x = graph->constants().back().get();
  for (int i = 0; i < 500; ++i) x = graph->add_node("Relu", {const_cast<Value*>(x)}, 1, {}).output(0);
  const Bytes plain = written(*graph), coded = compressed(*graph);
  const file::Header header = header_of(coded);
  EXPECT_EQ(header.major, 2);
  EXPECT_EQ(header.coded_head, 1u);
  EXPECT_LT(header.head_size * 3, header_of(plain).head_size);
  EXPECT_EQ(written(*read(coded)), plain);
  const auto changed = [&](uint32_t head, uint32_t repeats) {
    Bytes bytes = coded;
    const file::HeadCode sizes{head, repeats};
    std::memcpy(bytes.data() + header.head_offset, &sizes, sizeof sizes);
    return read_error(bytes);
  };
  file::HeadCode sizes;
  std::memcpy(&sizes, coded.data() + header.head_offset, sizeof sizes);
  EXPECT_THAT(changed(sizes.head + 1, sizes.repeats), HasSubstr("the code of its head is damaged"));
  EXPECT_THAT(changed(sizes.head, sizes.repeats - 1), HasSubstr("the code of its head is damaged"));
  EXPECT_THAT(changed(UINT32_MAX, sizes.repeats), HasSubstr("stands for 4294967295 bytes"));
  EXPECT_THAT(changed(sizes.head, UINT32_MAX), HasSubstr("the code of its head is damaged"));  // and no 4 GB for it
}

TEST(ModelFile, weights_of_16_bits_are_coded_too) {
  Graph graph;
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  Tensor wide(DType::f32, {5000}), half(DType::bf16, {5000});
  for (int64_t i = 0; i < 5000; ++i) {
    const uint16_t bits = bf16_from_f32(normal(generator));
    half.writable().data<uint16_t>()[i] = bits;
    wide.writable().data<float>()[i] = f32_from_bf16(bits);
  }
  const Value* value = &graph.add_constant(wide, "w");
  const Bytes coded = compressed(graph, {{value, half}});
  EXPECT_LT(coded.size(), 5000 * 2 * 85 / 100u);
  EXPECT_EQ(numbers(*read(coded)->constants()[0]->constant()), numbers(wide));
}

TEST(ModelFile, small_integers_are_packed) {
  for (const auto& [low, high, bits] :
       std::vector<std::array<int, 3>>{{-8, 7, 4}, {-7, 7, 4}, {-2, 1, 2}, {-1, 1, 2}, {-9, 7, 8}, {-8, 8, 8}}) {
    Graph graph;
    Tensor tensor(DType::i8, {3, 1001}), few(DType::i8, {1000});
    std::mt19937 generator(1);
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.writable().data<int8_t>()[i] = static_cast<int8_t>(std::uniform_int_distribution<int>(low, high)(generator));
    tensor.writable().data<int8_t>()[0] = static_cast<int8_t>(low), tensor.writable().data<int8_t>()[1] = static_cast<int8_t>(high);
    graph.add_constant(tensor, "w");
    graph.add_constant(few, "few");
    const Bytes bytes = written(graph);
    EXPECT_NEAR(static_cast<double>(bytes.size()), 3003 * bits / 8 + 1000 + 400, 400) << low << " " << high;
    for (const Bytes& file : {bytes, compressed(graph)}) {
      const auto copy = read(file);
      const Tensor& found = *copy->constants()[0]->constant();
      ASSERT_EQ(found.dtype(), DType::i8);
      ASSERT_EQ(found.shape(), tensor.shape());
      EXPECT_EQ(std::memcmp(found.data(), tensor.data(), tensor.bytes()), 0);
    }
  }
}

TEST(ModelFile, truncated_and_damaged_codes_are_read_or_refused) {
  const Bytes bytes = compressed(*compressible());
  for (size_t i = 0; i < 500; ++i) EXPECT_NE(read_error(std::span(bytes).first(i * bytes.size() / 500)), "");
  std::mt19937 random(1);
  size_t refused = 0;
  for (int i = 0; i < 3000; ++i) {
    Bytes damaged = bytes;
    for (int flips = 1 + i % 3; flips--;) damaged[random() % damaged.size()] ^= std::byte(1 << random() % 8);
    try {
      touch(*read(damaged, i % 2));
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 2500u);
}

TEST(ModelFile, codes_that_do_not_fit_their_tensors) {
  Graph zeros;
  zeros.add_constant(Tensor(DType::f32, {100, 100}), "zeros");
  Bytes damaged = compressed(zeros);
  damaged.back() ^= std::byte(1);
  EXPECT_THAT(read_error(damaged), HasSubstr("an entropy code of 40000 bytes is damaged"));
  const auto with_coding = [&](uint8_t coding, std::vector<std::vector<int64_t>> shapes) {
    return error_in_head([&](auto& builder) {
      std::vector<flatbuffers::Offset<file::Constant>> constants;
      for (const auto& dims : shapes) {
        const auto sizes = builder.CreateVector(dims);
        const auto tensor = file::CreateTensor(builder, 1, sizes, 0, 0, coding);
        constants.push_back(file::CreateConstant(builder, builder.CreateString("c"), tensor));
      }
      const auto graph = file::CreateGraph(builder, 0, 0, builder.CreateVector(constants));
      const auto listed = builder.CreateVectorOfStructs(std::vector<file::Segment>{{64, 32}});
      return file::CreateModel(builder, file::kOpset, graph, 0, 0, listed);
    });
  };
  EXPECT_THAT(with_coding(1, {{8}}), HasSubstr("an entropy code of 32 bytes does not stand for 32 bytes"));
  EXPECT_THAT(with_coding(1, {{1000000}}), HasSubstr("an entropy code of 32 bytes does not stand for 4000000 bytes"));
  EXPECT_THAT(with_coding(2, {{8}}), HasSubstr("has coding 2, which a newer Minnow may know"));
}

}  // namespace
}  // namespace minnow::test
