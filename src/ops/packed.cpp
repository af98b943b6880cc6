// SPDX-License-Identifier: Apache-2.0
#include "ops/packed.h"

namespace minnow {
namespace {

struct Unpacking {
  const char* bytes;
  const PackedOperators::Function* functions;

  unsigned byte() { return static_cast<unsigned char>(*bytes++); }
  uint64_t number(int size) {
    uint64_t value = 0;
    for (int i = 0; i < size; ++i) value |= static_cast<uint64_t>(byte()) << (8 * i);
    return value;
  }
  std::string_view text() {
    const std::string_view value(bytes);
    bytes += value.size() + 1;
    return value;
  }

  void read(Operator& op) {
    op.name = text();
    op.doc = text();
    op.since = static_cast<int>(byte());
    const unsigned flags = byte(), present = byte();
    op.pure = flags & 1, op.shape_only = flags & 2, op.elementwise = flags & 4;
    if (present & 1) op.infer_shapes = functions++->infer_shapes;
    if (present & 2) op.infer = functions++->infer;
    if (present & 4) op.reference = functions++->reference;
    if (present & 8) op.decompose = functions++->decompose;
    if (present & 16) op.gradient = functions++->gradient;
    if (present & 32) op.operations = functions++->operations;
    if (present & 64) op.batch = functions++->batch;
    op.inputs.resize(byte());
    for (InputSpec& input : op.inputs) {
      input.name = text();
      input.dtypes = static_cast<DTypes>(number(sizeof input.dtypes));
      input.arity = static_cast<Arity>(byte());
      input.kinds = static_cast<Kinds>(byte());
      input.like = text();
    }
    op.outputs.resize(byte());
    for (OutputSpec& output : op.outputs) {
      output.name = text();
      output.dtype.kind = static_cast<DTypeRule::Kind>(byte());
      output.dtype.name = text();
      output.dtype.dtype = static_cast<DType>(byte());
      output.arity = static_cast<Arity>(byte());
    }
    op.attributes.resize(byte(), AttributeSpec({}, AttributeKind::integer, false));
    for (AttributeSpec& attribute : op.attributes) {
      attribute.name = text();
      attribute.doc = text();
      attribute.kind = static_cast<AttributeKind>(byte());
      const unsigned bits = byte();
      attribute.required = bits & 1, attribute.has_default = bits & 2;
      if (!attribute.has_default) continue;
      attribute.default_number = std::bit_cast<double>(number(sizeof attribute.default_number));
      attribute.default_text = text();
    }
  }
};

}  // namespace

void unpack(const PackedOperators& packed, std::vector<Operator>& list) {
  Unpacking unpacking{packed.bytes, packed.functions};
  for (size_t i = 0; i < packed.count; ++i) unpacking.read(list.emplace_back());
}

}  // namespace minnow
