// SPDX-License-Identifier: Apache-2.0
#include "compress/options.h"

#include <charconv>
#include <functional>

#include "base/error.h"
#include "base/nearest.h"
#include "base/no_memory.h"
#include "compress/names.h"

namespace minnow::compress {
namespace {

constexpr const char* kAuto = "auto";

template <class Table>
std::vector<MethodDescription> described(const Table& table) {
  std::vector<MethodDescription> list;
  for (const auto& each : table) list.push_back({std::string(each.name), std::string(each.doc)});
  return list;
}

template <class Table>
[[noreturn]] void unknown_method(const std::string& prefix, const char* key, const std::string& value, const Table& table) {
  std::string names;
  for (const auto& each : table) (names += names.empty() ? "" : ", ") += each.name;
  throw InvalidArgument("{}{}: \"{}\" is none of {}", prefix, key, value, names);
}

int64_t whole_number(const std::string& text, const std::string& where) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw InvalidArgument("{}: \"{}\" is not a whole number from 0 up", where, text);
  return value;
}

bool truth(const std::string& text, const std::string& where) {
  if (text != "true" && text != "false") throw InvalidArgument("{}: \"{}\" is neither true nor false", where, text);
  return text == "true";
}

/// Names of methods are written in any case: "KL".
std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return text;
}

/// The names of 8-bit integers in other places.
std::string byte_name(const std::string& text) {
  const std::string name = lower(text);
  return name == "s8" || name == "int8" ? "i8" : name == "uint8" ? "u8" : name;
}

int small_number(const std::string& text, const std::string& where) {
  return static_cast<int>(std::min<int64_t>(whole_number(text, where), 99));
}

/// "first=8, last=0"
std::map<std::string, int> bits_by_name(const std::string& text, const std::string& where) {
  std::map<std::string, int> bits;
  for (const std::string& word : words(text)) {
    const size_t equals = word.rfind('=');
    if (equals == word.npos || equals == 0) throw InvalidArgument("{}: \"{}\" is not NODE=BITS", where, word);
    const std::string name = word.substr(0, equals);
    if (!bits.emplace(name, small_number(word.substr(equals + 1), where)).second)
      throw InvalidArgument("{}: \"{}\" is given twice", where, name);
  }
  return bits;
}

struct Key {
  const char* name;
  void (*set)(QuantizeOptions&, const std::string& value, const std::string& where);
};
using Options = QuantizeOptions;
using Text = const std::string;
constexpr Key kKeys[] = {
    {"method", [](Options& o, Text& value, Text&) { o.method = lower(value); }},
    {"weights", [](Options& o, Text& value, Text&) { o.weights = lower(value); }},
    {"activations", [](Options& o, Text& value, Text&) { o.activations = byte_name(value); }},
    {"rounding", [](Options& o, Text& value, Text&) { o.rounding = lower(value); }},
    {"percentile", [](Options& o, Text& value, Text& where) { o.percentile = number(value, where); }},
    {"weight_bits", [](Options& o, Text& value, Text& where) { o.weight_bits = small_number(value, where); }},
    {"bits", [](Options& o, Text& value, Text& where) { o.weight_bits = small_number(value, where); }},  // the command's shorter name
    {"per_channel", [](Options& o, Text& value, Text& where) { o.per_channel = truth(value, where); }},
    {"portable", [](Options& o, Text& value, Text& where) { o.portable = truth(value, where); }},
    {"equalize", [](Options& o, Text& value, Text& where) { o.equalize = truth(value, where); }},
    {"correct_bias", [](Options& o, Text& value, Text& where) { o.correct_bias = truth(value, where); }},
    {"smooth", [](Options& o, Text& value, Text& where) { o.smooth = number(value, where); }},
    {"keep_f32", [](Options& o, Text& value, Text& where) { o.keep_f32 = number(value, where); }},
    {"weights_only", [](Options& o, Text& value, Text&) { o.weights_only = lower(value); }},
    {"bits_for", [](Options& o, Text& value, Text& where) { o.bits_for = bits_by_name(value, where); }},
    {"block_size",
     [](Options& o, Text& value, Text& where) { o.block_size = static_cast<int>(std::min<int64_t>(whole_number(value, where), 1 << 20)); }},
    {"symmetric", [](Options& o, Text& value, Text& where) { o.symmetric = truth(value, where); }},
    {"skip", [](Options& o, Text& value, Text&) { o.skip = words(value); }},
    {"evaluate", [](Options& o, Text& value, Text& where) { o.evaluate = static_cast<size_t>(whole_number(value, where)); }},
    {"seed", [](Options& o, Text& value, Text& where) { o.seed = static_cast<uint64_t>(whole_number(value, where)); }},
};

}  // namespace

void QuantizeOptions::set(const std::string& key, const std::string& value, const std::string& prefix) try {
  std::vector<std::string> names;
  for (const Key& each : kKeys) {
    if (key == each.name) {
      Options changed = *this;
      each.set(changed, value, prefix + key);
      (void)Settings(changed, prefix);
      *this = std::move(changed);
      return;
    }
    names.emplace_back(each.name);
  }
  throw InvalidArgument("{}{}: there is no such option{}", prefix, key, nearest(key, names));
} catch (...) {
  throw_as_error();
}

Settings::Settings(const QuantizeOptions& options, const std::string& prefix)
    : method(range_method(options.method)),
      weights(weight_method(options.weights)),
      rounding(rounding_method(options.rounding.empty() ? "gptq" : options.rounding)) {
  if (!method && options.method != kAuto) unknown_method(prefix, "method", options.method, range_methods());
  if (!weights) unknown_method(prefix, "weights", options.weights, weight_method_table());
  if (options.activations != "u8" && options.activations != "i8")
    throw InvalidArgument("{}activations: \"{}\" is none of u8, i8", prefix, options.activations);
  if (!rounding) unknown_method(prefix, "rounding", options.rounding, rounding_methods());
  if (options.weight_bits != 0 && (options.weight_bits < 2 || options.weight_bits > 8))
    throw InvalidArgument("{}weight_bits: {} is not from 2 to 8", prefix, options.weight_bits);
  if (!options.weights_only.empty()) {
    blocks = block_method(options.weights_only);
    if (!blocks) unknown_method(prefix, "weights_only", options.weights_only, block_methods());
    if (options.weight_bits == 7) throw InvalidArgument("{}weight_bits: blocks have 2, 3, 4, 5, 6 or 8 bits, not 7", prefix);
    if (options.weight_bits != 0) block_bits = options.weight_bits;
    searches_blocks = options.weights == "mse";
  }
  for (const auto& [name, bits] : options.bits_for)
    if (bits == 1 || bits == 7 || bits < 0)
      throw InvalidArgument("{}bits_for: \"{}\" has {} bits; blocks have 2, 3, 4, 5, 6 or 8", prefix, name, bits);
  if (options.block_size < 16 || options.block_size > 256 || (options.block_size & (options.block_size - 1)) != 0)
    throw InvalidArgument("{}block_size: {} is none of 16, 32, 64, 128, 256", prefix, options.block_size);
  if (!(options.percentile > 50 && options.percentile <= 100))
    throw InvalidArgument("{}percentile: {} is not above 50 and at most 100", prefix, options.percentile);
  if (!(options.smooth >= 0 && options.smooth <= 1)) throw InvalidArgument("{}smooth: {} is not from 0 to 1", prefix, options.smooth);
  if (!(options.keep_f32 >= 0 && options.keep_f32 <= 100))
    throw InvalidArgument("{}keep_f32: {} is not from 0 to 100", prefix, options.keep_f32);
  most_weight = (1 << ((options.weight_bits ? options.weight_bits : 8) - 1)) - 1;
  ranges.grid = options.activations == "u8" ? kU8 : kI8;
  ranges.percentile = options.percentile;
}

std::vector<MethodDescription> activation_methods() {
  std::vector<MethodDescription> list = described(range_methods());
  list.push_back({kAuto, "tries all of these on a few samples and keeps the one whose outputs stay nearest"});
  return list;
}
std::vector<MethodDescription> roundings() { return described(rounding_methods()); }
std::vector<MethodDescription> weight_only_methods() { return described(block_methods()); }
std::vector<MethodDescription> weight_methods() { return described(weight_method_table()); }

}  // namespace minnow::compress
