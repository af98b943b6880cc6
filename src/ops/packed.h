// SPDX-License-Identifier: Apache-2.0
// The operators of one file as the library holds them. A file writes its operators as a constexpr function that returns them:
//
//   constexpr std::vector<Operator> definitions() { return {{.name = "Det", ...}}; }
//   PackedOperators determinant_operators() { return pack_operators<definitions>(); }
//
// The compiler evaluates it, and what remains are bytes and functions instead of the code that would build the definitions.
#pragma once
#include <bit>

#include "base/selected.h"
#include "ops/operator.h"

namespace minnow {

struct PackedOperators {
  union Function {
    decltype(Operator::infer_shapes) infer_shapes;
    decltype(Operator::infer) infer;
    decltype(Operator::reference) reference;
    decltype(Operator::decompose) decompose;
    decltype(Operator::gradient) gradient;
    decltype(Operator::operations) operations;
    decltype(Operator::batch) batch;
  };
  size_t count;
  const char* bytes;          // as Packing::add writes them
  const Function* functions;  // those that are not null, in the order of the union
};

/// Writes definitions to bytes and functions, or counts these where there is no place for them. `unpack` reads what it writes.
struct Packing {
  char* bytes = nullptr;
  PackedOperators::Function* functions = nullptr;
  size_t operator_count = 0, byte_count = 0, function_count = 0;

  constexpr void byte(unsigned value) {
    if (bytes) bytes[byte_count] = std::bit_cast<char>(static_cast<unsigned char>(value));
    ++byte_count;
  }
  constexpr void number(uint64_t value, int size) {
    for (int i = 0; i < size; ++i) byte(static_cast<unsigned>(value >> (8 * i)) & 0xff);
  }
  constexpr void text(std::string_view value) {  // ends with a zero
    for (char c : value) byte(static_cast<unsigned char>(c));
    byte(0);
  }
  /// Whether there is a function. Under sanitizers gcc 12 does not take for granted that an instance of a template has an address.
  template <class F>
  static constexpr bool has(F* function) {
    return __builtin_constant_p(function != nullptr) ? function != nullptr : true;
  }
  constexpr bool function(bool present, PackedOperators::Function value) {
    if (present && functions) functions[function_count] = value;
    function_count += present;
    return present;
  }

  constexpr void add(const Operator& op) {
    ++operator_count;
    text(op.name);
    text(op.doc);
    byte(static_cast<unsigned>(op.since));
    byte(op.pure | op.shape_only << 1 | op.elementwise << 2);
    byte(static_cast<unsigned>(
        function(has(op.infer_shapes), {.infer_shapes = op.infer_shapes}) | function(has(op.infer), {.infer = op.infer}) << 1 |
        function(has(op.reference), {.reference = op.reference}) << 2 | function(has(op.decompose), {.decompose = op.decompose}) << 3 |
        function(has(op.gradient), {.gradient = op.gradient}) << 4 | function(has(op.operations), {.operations = op.operations}) << 5 |
        function(has(op.batch), {.batch = op.batch}) << 6));
    byte(static_cast<unsigned>(op.inputs.size()));
    for (const InputSpec& input : op.inputs) {
      text(input.name);
      number(input.dtypes, sizeof input.dtypes);
      byte(static_cast<unsigned>(input.arity));
      byte(input.kinds);
      text(input.like);
    }
    byte(static_cast<unsigned>(op.outputs.size()));
    for (const OutputSpec& output : op.outputs) {
      text(output.name);
      byte(static_cast<unsigned>(output.dtype.kind));
      text(output.dtype.name);
      byte(static_cast<unsigned>(output.dtype.dtype));
      byte(static_cast<unsigned>(output.arity));
    }
    byte(static_cast<unsigned>(op.attributes.size()));
    for (const AttributeSpec& attribute : op.attributes) {
      text(attribute.name);
      text(attribute.doc);
      byte(static_cast<unsigned>(attribute.kind));
      byte(attribute.required | attribute.has_default << 1);
      if (attribute.has_default) {
        number(std::bit_cast<uint64_t>(attribute.default_number), sizeof attribute.default_number);
        text(attribute.default_text);
      }
    }
  }
};

template <std::vector<Operator> (*kDefinitions)()>
PackedOperators pack_operators() {
  constexpr auto pack = [](char* bytes, PackedOperators::Function* functions) {
    Packing packing{bytes, functions};
    for (const Operator& op : kDefinitions())
      if (is_selected(op.name)) packing.add(op);
    return packing;
  };
  constexpr Packing kCounts = pack(nullptr, nullptr);
  struct Storage {
    std::array<char, kCounts.byte_count> bytes{};
    std::array<PackedOperators::Function, kCounts.function_count> functions{};
  };
  constexpr Storage kStorage = [pack] {
    Storage storage;
    pack(storage.bytes.data(), storage.functions.data());
    return storage;
  }();
  static constexpr auto kBytes = kStorage.bytes;  // apart from the functions, whose addresses are known when the library is loaded
  static constexpr auto kFunctions = kStorage.functions;
  return {kCounts.operator_count, kBytes.data(), kFunctions.data()};
}

/// The definitions that were packed, appended to `list`; their texts lie in the library.
void unpack(const PackedOperators& packed, std::vector<Operator>& list);

}  // namespace minnow
