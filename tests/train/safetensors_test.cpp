// SPDX-License-Identifier: Apache-2.0
// Files of named arrays in C++: what was written comes back, bytes are those of the format, and wrong files are one sentence.
#include <gmock/gmock.h>
#include <minnow/nn.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/paths.h"
#include "support/sentence.h"

namespace minnow::nn {
namespace {

using test::scratch_path;
using test::sentence_of;
using testing::HasSubstr;

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
/// A file of such a header and such a body.
std::string file_of(const std::string& header, const std::string& body = {}) {
  const uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  const std::string path = scratch_path("made.safetensors");
  std::ofstream(path, std::ios::binary) << bytes << header << body;
  return path;
}

TEST(SafeTensors, arrays_and_texts_come_back) {
  const std::string path = scratch_path("all.safetensors");
  std::map<std::string, Tensor> tensors;
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i16, DType::i8, DType::u64,
                            DType::u32, DType::u16, DType::u8, DType::boolean}) {
    Tensor tensor(dtype, {2, 3});
    for (size_t i = 0; i < tensor.bytes(); ++i)
      tensor.writable().data<uint8_t>()[i] = dtype == DType::boolean ? i % 2 : uint8_t(i * 37 + 5);
    tensors.emplace("of \"" + to_string(dtype) + "\"\n\\\xc3\xa4", tensor);
  }
  tensors.emplace("empty", Tensor(DType::f32, {2, 0, 3}));
  tensors.emplace("scalar", Tensor::scalar_f32(7));
  const std::map<std::string, std::string> texts{{"epoch", "3"}, {"note", "a\tb \x01"}};
  save_safetensors(path, tensors, texts);
  std::map<std::string, std::string> found_texts;
  const std::map<std::string, Tensor> found = load_safetensors(path, &found_texts);
  EXPECT_EQ(found_texts, texts);
  ASSERT_EQ(found.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const Tensor& other = found.at(name);
    EXPECT_EQ(other.dtype(), tensor.dtype()) << name;
    ASSERT_EQ(other.shape(), tensor.shape()) << name;
    EXPECT_EQ(std::memcmp(other.data(), tensor.data(), tensor.bytes()), 0) << name;
  }
}

TEST(SafeTensors, bytes_are_those_of_the_format) {
  const std::string path = scratch_path("small.safetensors");
  save_safetensors(path, {{"w", Tensor::of_f32({2}, std::vector<float>{1, 2})}}, {{"k", "v"}});
  std::string header = R"({"__metadata__":{"k":"v"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::string bytes = contents(path);
  EXPECT_EQ(bytes.substr(0, 8), std::string(1, static_cast<char>(header.size())) + std::string(7, '\0'));
  EXPECT_EQ(bytes.substr(8, header.size()), header);
  EXPECT_EQ(bytes.substr(8 + header.size()), std::string("\0\0\x80\x3f\0\0\0\x40", 8));
}

TEST(SafeTensors, headers_may_be_written_in_any_way) {
  const auto found = load_safetensors(file_of(
      " { \"a\\u00e4\\ud83d\\ude00\" : {\"more\":[1,{\"x\":null}],\"shape\":[ ],\"data_offsets\":[ 0 , 1 ],\"dtype\":\"U8\"} }  ", "\x07"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.begin()->first, "a\xc3\xa4\xf0\x9f\x98\x80");
  EXPECT_EQ(*found.begin()->second.data<uint8_t>(), 7);
}

TEST(SafeTensors, a_wrong_file_is_one_sentence) {
  const auto error = [](const std::string& header, const std::string& body = {}) {
    const std::string path = file_of(header, body);
    const std::string sentence = sentence_of([&] { load_safetensors(path); });
    EXPECT_THAT(sentence, HasSubstr("made.safetensors: not a safetensors file: "));
    return sentence;
  };
  for (const char* header : {"", "[]", "{", "{\"a\":1}x", "{\"a\"", "{\"\\ud800\":{}}", "{\"a\":{\"shape\":[-1]}}",
                             "{\"a\":{\"shape\":[99999999999999999999]}}", "{\"a\\q\":{}}"})
    EXPECT_THAT(error(header), HasSubstr("the header is no JSON")) << header;
  EXPECT_THAT(error(std::string(200'000, '[')), HasSubstr("the header is no JSON"));
  EXPECT_THAT(error("{\"a\":{\"x\":" + std::string(200'000, '[')), HasSubstr("the header is no JSON"));
  const auto entry = [](const char* dtype, const char* shape, const char* place) {
    return std::string("{\"a\":{\"dtype\":\"") + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + place + "}}";
  };
  EXPECT_THAT(error(entry("F8", "[1]", "[0,1]"), "x"), HasSubstr("the entry of \"a\" is wrong, or of an unknown dtype"));
  EXPECT_THAT(error(entry("U8", "[1]", "[0]"), "x"), HasSubstr("the entry of \"a\" is wrong"));
  for (const char* place : {"[0,2]", "[1,0]", "[0,0]", "[1,2]"})
    EXPECT_THAT(error(entry("U8", "[1]", place), "x"), HasSubstr("the bytes of \"a\" are not where its entry says")) << place;
  EXPECT_THAT(error(entry("U8", "[4294967296,4294967296,4294967296]", "[0,1]"), "x"), HasSubstr("the bytes of \"a\""));
  std::ofstream(scratch_path("cut.safetensors"), std::ios::binary) << "\xff\xff\xff\xff\xff\xff\xff\x7f{}";
  EXPECT_THAT(sentence_of([] { load_safetensors(scratch_path("cut.safetensors")); }), HasSubstr("the header is cut off"));
  EXPECT_THAT(sentence_of([] { load_safetensors(scratch_path("there_is_none")); }), HasSubstr("there_is_none"));
  EXPECT_THAT(sentence_of([] { save_safetensors(scratch_path("u4"), {{"w", Tensor(DType::u4, {1})}}); }), HasSubstr("\"w\" is u4"));
  EXPECT_FALSE(std::filesystem::exists(scratch_path("u4")));
}

TEST(SafeTensors, a_layer_is_saved_and_loaded) {
  seed(1);
  Sequential first({make<Linear>(3, 4), make<BatchNorm1d>(4)});
  Sequential second({make<Linear>(3, 4), make<BatchNorm1d>(4)});
  const std::string path = scratch_path("layer.safetensors");
  first.save(path, {{"step", "5"}});
  second.load(path);
  for (const auto& [name, value] : first.state_dict()) {
    const Tensor other = second.state_dict().at(name);
    EXPECT_EQ(std::memcmp(other.data(), value.data(), value.bytes()), 0) << name;
  }
  Sequential third({make<Linear>(3, 5)});
  EXPECT_THAT(sentence_of([&] { third.load(path); }), HasSubstr("\"0."));
}

}  // namespace
}  // namespace minnow::nn
