// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/schemes/kernel_text.h"

#include "backends/gpu/schemes/lines.h"

namespace minnow::gpu {

void KernelText::tensor(std::string_view name, DType dtype, bool raw, std::string_view access) {
  const std::string_view known = raw ? unit_of(dtype) : dialect_name(dtype);
  definitions_ += format("#define T_{} {}\n#define C_{} {}\n#define HAS_{} 1\n", name, known, name, raw ? known : computed_as(dtype), name);
  parameters_ += format("{}{}(MEM({}), {})", parameters_.empty() ? "" : ", ", access, known, name);
  pointers_ += format("  USE_{}(MEM({}), {});\n", access == "WRITE" ? "WRITE" : "READ", known, name);
}

void KernelText::input(size_t i, std::string_view name, bool raw) {
  if (!node_.has_input(i)) return define(format("HAS_{}", name), int64_t{0});
  tensor(name, node_.input_dtype(i), raw, static_cast<int>(i) == overwrites_ || overwrites_ == kAnyInput ? "UPDATE" : "READ");
  given_.push_back(Given::input(i));
}

void KernelText::output(size_t i, std::string_view name, bool raw) {
  if (i >= node_.output_count() || !node_.has_output(i)) return define(format("HAS_{}", name), int64_t{0});
  tensor(name, node_.output(i).dtype, raw, "WRITE");
  given_.push_back(Given::output(i));
}

void KernelText::input_words(size_t i, std::string_view name) {
  tensor(name, DType::u32, true, static_cast<int>(i) == overwrites_ ? "UPDATE" : "READ");
  given_.push_back(Given::input(i));
}

void KernelText::output_words(size_t i, std::string_view name) {
  tensor(name, DType::u32, true, "WRITE");
  given_.push_back(Given::output(i));
}

void KernelText::scratch(size_t offset, std::string_view name, std::string_view type, bool writes) {
  definitions_ += format("#define T_{} {}\n#define C_{} {}\n", name, type, name, type);
  parameters_ += format("{}{}({}, {})", parameters_.empty() ? "" : ", ", writes ? "WRITE" : "READ", type, name);
  pointers_ += format("  USE_{}({}, {});\n", writes ? "WRITE" : "READ", type, name);
  given_.push_back(Given::scratch(offset));
}

void KernelText::table(std::span<const int32_t> numbers, std::string_view name) {
  parameters_ += format("{}READ(i32, {})", parameters_.empty() ? "" : ", ", name);
  pointers_ += format("  USE_READ(i32, {});\n", name);
  given_.push_back(kernel_.constant(kernel_.add_table(numbers.data(), numbers.size_bytes())));
}

void KernelText::table(std::span<const float> numbers, std::string_view name) {
  parameters_ += format("{}READ(f32, {})", parameters_.empty() ? "" : ", ", name);
  pointers_ += format("  USE_READ(f32, {});\n", name);
  given_.push_back(kernel_.constant(kernel_.add_table(numbers.data(), numbers.size_bytes())));
}

void KernelText::number(std::string_view name, int64_t value) {
  parameters_ += format("{}const int {}", parameters_.empty() ? "" : ", ", name);
  given_.emplace_back(value);
}

void KernelText::real(std::string_view name, float value) {
  parameters_ += format("{}const float {}", parameters_.empty() ? "" : ", ", name);
  given_.emplace_back(value);
}

void KernelText::places(const Broadcast& broadcast, std::string_view name, size_t inputs) {
  parameters_ += broadcast.parameters();
  broadcast.append_arguments(given_);
  std::string statements = broadcast.coordinates();
  for (char& c : statements)
    if (c == '\n') c = ' ';
  define(format("PLACE_{}", name), statements);
  for (size_t s = 0; s < inputs; ++s) define(format("AT_{}{}", name, s), format("({})", broadcast.index(s)));
}

void KernelText::faults(std::string_view pattern) {
  const Given number(kernel_.add_fault(pattern));
  parameters_ += format("{}WRITE(i32, fault), const int fault_number", parameters_.empty() ? "" : ", ");
  pointers_ += "  USE_WRITE(i32, fault);\n";
  definitions_ +=
      "#define FAULT(a, b) if (fault[0] == 0) { fault[1] = (int)(a); fault[2] = (int)(b); fault[0] = fault_number; }\n"
      "#define CHECKED(at, index, dim) const C_indices at##_given = (index); int at = (int)(at##_given < 0 ? at##_given + (dim) : "
      "at##_given); if (at##_given < -(dim) || at##_given >= (dim)) { FAULT(at##_given, dim) at = 0; }\n";
  given_.push_back(kernel_.fault_memory());
  given_.push_back(number);
}

std::string KernelText::source(std::string_view name, std::string_view body, std::string_view functions) const {
  return format("{}{}\nKERNEL({})({}) {{\n{}{}}}\n", definitions_, functions, name, parameters_, pointers_, body);
}

void KernelText::add_items(std::string_view name, int64_t n, std::string_view body, std::string_view functions) {
  if (items_ != n) number("n", n);
  items_ = n;
  kernel_.add_1d(source(name, format("  const int i = GROUP(0) * ITEMS(0) + ITEM(0);\n  if (i >= n) return;\n{}", body), functions),
                 std::string(name), n, given_);
}

void KernelText::add_groups(std::string_view name, int64_t groups, uint32_t items, std::string_view body, std::string_view functions,
                            int64_t groups_y) {
  kernel_.add(source(name, body, format("{}{}", kGroupReductions, functions)), std::string(name),
              {static_cast<uint32_t>(groups), static_cast<uint32_t>(groups_y), 1}, {items, 1, 1}, given_);
}

}  // namespace minnow::gpu
