// SPDX-License-Identifier: Apache-2.0
#include "importers/onnx/data.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "importers/onnx/wire.h"
#include "support/onnx_messages.h"
#include "support/operators.h"

namespace minnow::onnx {
namespace {

using namespace test::onnx_file;
using test::numbers;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Writer = protozero::pbf_writer;

Tensor read(const std::string& bytes) { return DataReader({}, nullptr).tensor(bytes, "t"); }

template <class F>
std::string typed(DType dtype, const std::vector<int64_t>& dims, F write) {
  return message([&](Writer& w) {
    for (int64_t dim : dims) w.add_int64(field::kTensorDims, dim);
    w.add_int32(field::kTensorDataType, static_cast<int32_t>(dtype));
    write(w);
  });
}
std::string int32_data(DType dtype, const std::vector<int64_t>& dims, const std::vector<int32_t>& values) {
  return typed(dtype, dims, [&](Writer& w) { w.add_packed_int32(field::kTensorInt32Data, values.begin(), values.end()); });
}

TEST(OnnxTensor, raw_data_of_an_aligned_owner_is_shared_and_other_is_copied) {
  const std::string bytes = floats("w", {2, 2}, {1, 2, 3, 4});
  const size_t at = bytes.size() - 16;
  for (size_t shift = 0; shift < 4; ++shift) {
    auto memory = std::make_shared<std::vector<char>>(bytes.size() + 64);
    char* const base = memory->data() + (16 - (reinterpret_cast<uintptr_t>(memory->data()) + at) % 16) + shift;
    std::copy(bytes.begin(), bytes.end(), base);
    const Tensor tensor =
        DataReader({std::as_bytes(std::span(*memory)), memory}, nullptr).tensor(std::string_view(base, bytes.size()), "t");
    EXPECT_THAT(numbers(tensor), ElementsAre(1, 2, 3, 4));
    EXPECT_EQ(tensor.data() == base + at, shift == 0);
  }
}

TEST(OnnxTensor, typed_fields_packed_and_unpacked) {
  const std::vector<float> f = {1.5f, -2};
  EXPECT_THAT(numbers(read(typed(DType::f32, {2}, [&](Writer& w) { w.add_packed_float(field::kTensorFloatData, f.begin(), f.end()); }))),
              ElementsAre(1.5, -2));
  EXPECT_THAT(numbers(read(typed(DType::f32, {2},
                                 [&](Writer& w) {
                                   for (float x : f) w.add_float(field::kTensorFloatData, x);
                                 }))),
              ElementsAre(1.5, -2));
  EXPECT_THAT(numbers(read(typed(DType::f64, {1}, [&](Writer& w) { w.add_double(field::kTensorDoubleData, 0.1); }))), ElementsAre(0.1));
  const std::vector<int64_t> big = {-1, int64_t{1} << 40};
  EXPECT_THAT(
      numbers(read(typed(DType::i64, {2}, [&](Writer& w) { w.add_packed_int64(field::kTensorInt64Data, big.begin(), big.end()); }))),
      ElementsAre(-1, static_cast<double>(int64_t{1} << 40)));
  EXPECT_THAT(numbers(read(typed(DType::u32, {1}, [&](Writer& w) { w.add_uint64(field::kTensorUint64Data, 4000000000u); }))),
              ElementsAre(4e9));
}

TEST(OnnxTensor, small_types_lie_in_int32_data_as_bit_patterns) {
  EXPECT_THAT(numbers(read(int32_data(DType::i8, {2}, {-128, 5}))), ElementsAre(-128, 5));
  EXPECT_THAT(numbers(read(int32_data(DType::u16, {1}, {65535}))), ElementsAre(65535));
  EXPECT_THAT(numbers(read(int32_data(DType::boolean, {3}, {0, 1, 7}))), ElementsAre(0, 1, 1));
  EXPECT_THAT(numbers(read(int32_data(DType::f16, {2}, {0x3c00, 0xc000}))), ElementsAre(1, -2));
  EXPECT_THAT(numbers(read(int32_data(DType::bf16, {1}, {0x4049}))), ElementsAre(3.140625));
  EXPECT_THAT(numbers(read(int32_data(DType::f8e4m3fn, {1}, {0x38}))), ElementsAre(1));
}

TEST(OnnxTensor, types_under_a_byte_are_unpacked_low_bits_first) {
  EXPECT_THAT(numbers(read(raw_tensor("t", DType::u4, {3}, "\x21\x0f"))), ElementsAre(1, 2, 15));
  EXPECT_THAT(numbers(read(raw_tensor("t", DType::i4, {3}, "\xf8\x07"))), ElementsAre(-8, -1, 7));
  EXPECT_THAT(numbers(read(raw_tensor("t", DType::u2, {5}, "\xe4\x02"))), ElementsAre(0, 1, 2, 3, 2));
  EXPECT_THAT(numbers(read(int32_data(DType::u4, {3}, {0x21, 0x03}))), ElementsAre(1, 2, 3)) << "one entry a byte";
  EXPECT_THROW(read(int32_data(DType::u4, {3}, {1, 2, 3})), InvalidModel);
}

TEST(OnnxTensor, scalars_and_empty_tensors) {
  EXPECT_EQ(read(floats("s", {}, {3})).shape(), Shape());
  EXPECT_EQ(read(typed(DType::f32, {0, 4}, [](Writer&) {})).shape(), (Shape{0, 4}));
  EXPECT_EQ(read(floats("e", {3, 0}, {})).shape(), (Shape{3, 0}));
  EXPECT_THROW(read(typed(DType::f32, {}, [](Writer&) {})), InvalidModel) << "a scalar has an element";
}

TEST(OnnxTensor, bools_other_than_0_and_1_are_made_1) {
  const auto memory = std::make_shared<std::string>(raw_tensor("t", DType::boolean, {3}, std::string("\0\x02\xff", 3)));
  const Tensor tensor = DataReader({std::as_bytes(std::span(*memory)), memory}, nullptr).tensor(*memory, "t");
  EXPECT_EQ(tensor.data<uint8_t>()[1], 1);
  EXPECT_EQ(tensor.data<uint8_t>()[2], 1);
}

TEST(OnnxTensor, errors_say_what_was_expected_and_found) {
  EXPECT_THAT([] { read(floats("t", {3}, {1, 2})); }, ThrowsMessage<InvalidModel>("t: f32[3] takes 12 bytes, it has 8"));
  EXPECT_THAT([] { read(int32_data(DType::i32, {3}, {1})); },
              ThrowsMessage<InvalidModel>("t: i32[3] should have 3 entries of data, it has 1"));
  EXPECT_THAT([] { read(raw_tensor("t", DType::f32, {-1}, "")); }, ThrowsMessage<InvalidModel>(HasSubstr("dimension -1 is negative")));
  EXPECT_THAT([] { read(raw_tensor("t", DType::string, {1}, "")); }, ThrowsMessage<Unsupported>(HasSubstr("strings")));
  EXPECT_THAT([] { read(raw_tensor("t", static_cast<DType>(99), {1}, "")); },
              ThrowsMessage<Unsupported>(HasSubstr("data type 99 is not known")));
  EXPECT_THAT([] { read(raw_tensor("t", DType::undefined, {1}, "")); }, ThrowsMessage<InvalidModel>(HasSubstr("data type is missing")));
  EXPECT_THROW(read(raw_tensor("t", DType::f32, std::vector<int64_t>(kMaxRank + 1, 1), "abcd")), Unsupported);
}

TEST(OnnxTensor, no_memory_is_taken_for_elements_that_are_not_there) {
  const int64_t huge = int64_t{1} << 31;
  EXPECT_THROW(read(raw_tensor("t", DType::f32, {huge, huge, huge}, "")), InvalidModel);
  EXPECT_THROW(read(raw_tensor("t", DType::f32, {huge}, "abcd")), Error);  // of another kind where no memory could ever hold so many
  EXPECT_THROW(read(int32_data(DType::i32, {huge, 4}, {1})), InvalidModel);
  EXPECT_EQ(read(typed(DType::f32, {huge, huge, 0}, [](Writer&) {})).elements(), 0);
}

std::string sparse(const std::string& values, const std::string& indices, const std::vector<int64_t>& dims) {
  return message([&](Writer& w) {
    w.add_message(field::kSparseValues, values);
    w.add_message(field::kSparseIndices, indices);
    for (int64_t dim : dims) w.add_int64(field::kSparseDims, dim);
  });
}

TEST(OnnxTensor, sparse_tensors_are_written_out) {
  const DataReader reader({}, nullptr);
  EXPECT_THAT(numbers(reader.sparse_tensor(sparse(floats("v", {2}, {7, 8}), ints("i", {2}, {1, 5}), {2, 3}), "s")),
              ElementsAre(0, 7, 0, 0, 0, 8));
  EXPECT_THAT(numbers(reader.sparse_tensor(sparse(floats("v", {2}, {7, 8}), ints("i", {2, 2}, {0, 1, 1, 2}), {2, 3}), "s")),
              ElementsAre(0, 7, 0, 0, 0, 8));
  for (const std::string& indices : {ints("i", {2}, {1, 6}), ints("i", {2}, {-1, 0}), ints("i", {2, 2}, {0, 0, 0, 3}), ints("i", {1}, {1})})
    EXPECT_THROW(reader.sparse_tensor(sparse(floats("v", {2}, {7, 8}), indices, {2, 3}), "s"), InvalidModel);
  EXPECT_THROW(reader.sparse_tensor(sparse(floats("v", {1}, {7}), ints("i", {1}, {1}), {1 << 20, 1 << 20}), "s"), Unsupported);
}

TEST(OnnxTensor, types_of_values) {
  EXPECT_EQ(to_string(read_type(tensor_type(DType::f32, {"batch", "3", "?"}), "t")), "f32[batch, 3, ?]");
  const std::string sequence = message([](Writer& w) {
    w.add_message(field::kTypeSequence, message([](Writer& s) { s.add_message(field::kTypeElement, tensor_type(DType::i64, {"2"})); }));
  });
  EXPECT_EQ(to_string(read_type(sequence, "t")), "seq(i64[2])");
  EXPECT_EQ(to_string(read_type(message([&](Writer& w) {
                                  w.add_message(field::kTypeOptional,
                                                message([&](Writer& s) { s.add_message(field::kTypeElement, sequence); }));
                                }),
                                "t")),
            "optional(seq(i64[2]))");
  EXPECT_THAT([] { read_type(message([](Writer& w) { w.add_message(field::kTypeMap, std::string()); }), "input \"m\""); },
              ThrowsMessage<Unsupported>("input \"m\": is a map, which is not supported"));
  std::string deep = tensor_type(DType::f32, {});
  for (int i = 0; i < 40; ++i)
    deep = message(
        [&](Writer& w) { w.add_message(field::kTypeSequence, message([&](Writer& s) { s.add_message(field::kTypeElement, deep); })); });
  EXPECT_THROW(read_type(deep, "t"), InvalidModel);
}

TEST(OnnxTensor, sequences_and_optionals) {
  const DataReader reader({}, nullptr);
  const std::string two = message([](Writer& w) {
    w.add_int32(field::kSequenceElement, 1);
    w.add_message(field::kSequenceTensors, floats("", {1}, {1}));
    w.add_message(field::kSequenceTensors, floats("", {2}, {2, 3}));
  });
  const Datum sequence = reader.sequence(two, "s");
  ASSERT_EQ(sequence.items.size(), 2u);
  EXPECT_EQ(sequence.element, DType::f32);
  EXPECT_THAT(numbers(sequence.items[1].tensor), ElementsAre(2, 3));
  const Datum filled = reader.optional(message([&](Writer& w) {
                                         w.add_int32(field::kOptionalElement, 3);
                                         w.add_message(field::kOptionalSequence, two);
                                       }),
                                       "o");
  EXPECT_EQ(filled.items.size(), 2u);
  EXPECT_EQ(reader.optional("", "o").kind, Datum::Kind::none);
}

TEST(OnnxTensor, cut_fields_are_wire_errors) {
  const std::string whole = floats("t", {2}, {1, 2});
  for (size_t size = 1; size < whole.size(); ++size) {
    try {
      read(whole.substr(0, size));
    } catch (const Malformed&) {
    } catch (const Error&) {}
  }
  EXPECT_THROW(read("\x4a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), Malformed) << "a length of 2^64 - 1";
  EXPECT_THROW(read("\x4a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), Malformed) << "a varint of more than ten bytes";
  EXPECT_THROW(read("\x4b"), Malformed) << "a group";
}

}  // namespace
}  // namespace minnow::onnx
