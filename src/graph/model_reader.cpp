// SPDX-License-Identifier: Apache-2.0
// Reads .minnow files. They are untrusted: the FlatBuffer is verified first, then every number in it is checked before it is used. Tables
// of a hostile file may refer to one text or table many times, so what is built from them is counted and limited.
#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <unordered_set>

#include "base/entropy.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/numeric.h"
#include "base/os.h"
#include "base/parallel.h"
#include "base/placeholder.h"
#include "base/repeats.h"
#include "base/shared_bytes.h"
#include "base/text.h"
#include "graph/model_file.h"
#include "graph/model_generated.h"
#include "graph/model_header.h"

namespace minnow {
namespace file {
namespace {

// A file of our writer needs at most 12 bytes of objects for a byte of the head (attributes are the dearest).
constexpr uint64_t kObjectBytesPerHeadByte = 32, kFreeObjectBytes = 1 << 20;
constexpr uint64_t kValueBytes = 400, kNodeBytes = 300, kAttributeBytes = 200, kInputBytes = 32, kDimBytes = sizeof(Dim);
constexpr size_t kMaxAttributes = 256;  // of one node: they are searched one after the other

/// A vector of the file as a range, also where it is absent.
template <class T>
struct Range {
  const flatbuffers::Vector<T>* vector;
  using Iterator = typename flatbuffers::Vector<T>::const_iterator;
  Iterator begin() const { return vector ? vector->begin() : Iterator(nullptr, 0); }
  Iterator end() const { return vector ? vector->end() : Iterator(nullptr, 0); }
};
template <class T>
Range<T> list(const flatbuffers::Vector<T>* vector) {
  return {vector};
}

class Reader {
 public:
  Reader(SharedBytes file, std::string name, PacksWeight packs)
      : file_(std::move(file)), bytes_(file_.bytes()), name_(std::move(name)), packs_(packs) {}

  std::unique_ptr<minnow::Graph> read() {
    const Header header = read_header();
    std::span<const std::byte> head = bytes_.subspan(header.head_offset, header.head_size);
    weights_ = bytes_.subspan(header.weights_offset, header.weights_size);
    std::shared_ptr<void> aligned;
    has_codes_ = header.major == Header::kCodedMajor;
    if (has_codes_ && header.coded_head) {
      head = decoded_head(head, aligned);
    } else if (reinterpret_cast<uintptr_t>(head.data()) % 16 != 0) {
      aligned = allocate_shared(head.size());
      std::memcpy(aligned.get(), head.data(), head.size());
      head = {static_cast<const std::byte*>(aligned.get()), head.size()};
    }
    flatbuffers::Verifier::Options limits;
    limits.max_depth = 4 * kMaxDepth;  // a graph in a graph is three tables deep
    limits.max_tables = static_cast<uint32_t>(head.size() / 4);
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(head.data()), head.size(), limits);
    if (!VerifyModelBuffer(verifier)) fail("its head is damaged");
    objects_left_ = kFreeObjectBytes + kObjectBytesPerHeadByte * head.size();
    model_ = GetModel(head.data());
    if (model_->opset() > kOpset)
      throw Unsupported("{}: its operators follow version {} of ai.onnx, this build knows up to {}", name_, model_->opset(), kOpset);
    check_segments();
    read_names(model_->ops(), ops_);
    read_names(model_->keys(), keys_);
    if (!model_->graph()) fail("it has no graph");
    auto graph = std::make_unique<minnow::Graph>();
    graph->source = name_;
    read_graph(*model_->graph(), *graph, 0);
    widen_others();
    decode_codes();
    graph->set_names_made(model_->names_made());
    Metadata& metadata = graph->metadata;
    metadata.producer = name(model_->producer());
    metadata.source_format = name(model_->source_format());
    metadata.source_hash = name(model_->source_hash());
    read_names(model_->labels(), metadata.labels);
    for (const Property* property : list(model_->properties()))
      metadata.properties[name(property->key())] = printable(text(property->value()), true);
    verify(*graph);
    return graph;
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(std::string_view pattern, const Args&... args) const {
    fail_with(pattern, erase(args...));
  }
  [[noreturn]] void fail_with(std::string_view pattern, std::span<const FormatArg> args) const {
    throw InvalidModel("{}: {}", name_, format_args(pattern, args));
  }
  void charge(uint64_t bytes) {
    if (bytes > objects_left_) fail("its head describes far more than it has bytes");
    objects_left_ -= bytes;
  }

  /// The verifier checks the alignment of a vector's length, not that of wider elements.
  template <class T>
  const flatbuffers::Vector<T>* aligned(const flatbuffers::Vector<T>* vector) const {
    if (vector && vector->size() && reinterpret_cast<uintptr_t>(vector->Data()) % 8 != 0) fail("its head is damaged");
    return vector;
  }
  std::string text(const flatbuffers::String* string) {
    if (!string) return {};
    charge(string->size());
    return string->str();
  }
  /// Names are shown everywhere and are keys in other languages.
  std::string name(const flatbuffers::String* string) { return printable(text(string)); }
  void read_names(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* from, std::vector<std::string>& to) {
    read_table(from, to);
    for (std::string& name : to) name = printable(name);
  }
  void read_table(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* from, std::vector<std::string>& to) {
    for (const flatbuffers::String* string : list(from)) {
      charge(sizeof(std::string));
      to.push_back(text(string));
    }
  }
  const std::string& entry(const std::vector<std::string>& table, uint32_t index, std::string_view what) const {
    if (index >= table.size()) fail("{} {} is named, there are {}", what, index, table.size());
    return table[index];
  }

  Header read_header() const {
    Header header;
    const Header known = header;
    if (const std::string reason = placeholder(bytes_); !reason.empty()) throw InvalidModel("{}: {}", name_, reason);
    if (!is_model_file(bytes_)) fail("it does not begin as a .minnow file does; minnow convert makes one of other formats");
    if (bytes_.size() < sizeof header) fail("it ends after {} bytes, within its header", bytes_.size());
    std::memcpy(&header, bytes_.data(), sizeof header);
    if (header.major != known.major && header.major != known.kCodedMajor)
      throw Unsupported("{}: it has format version {}.{}, this build reads versions {} and {}; {}", name_, header.major, header.minor,
                        known.major, Header::kCodedMajor,
                        header.major > known.major ? "a newer Minnow is needed" : "convert the model again");
    const uint64_t size = bytes_.size();
    if (header.file_size != size) fail("it has {} bytes, its header says {}: it is incomplete or damaged", size, header.file_size);
    const auto inside = [&](uint64_t offset, uint64_t bytes) { return offset <= size && bytes <= size - offset; };
    if (header.head_offset < sizeof header || header.head_offset % 16 != 0 || !inside(header.head_offset, header.head_size) ||
        header.head_size > kMaxHead || header.head_size < 8)
      fail("its head of {} bytes cannot lie at {}", header.head_size, header.head_offset);
    if (header.weights_offset % kAlignment != 0 || header.weights_offset < header.head_offset + header.head_size ||
        !inside(header.weights_offset, header.weights_size))
      fail("its weights of {} bytes cannot lie at {}", header.weights_size, header.weights_offset);
    return header;
  }

  /// The head that a code stands for; `memory` will hold it.
  std::span<const std::byte> decoded_head(std::span<const std::byte> coded, std::shared_ptr<void>& memory) const {
    HeadCode sizes;
    std::memcpy(&sizes, coded.data(), sizeof sizes);
    const std::span<const std::byte> code = coded.subspan(sizeof sizes);
    if (sizes.head > kMaxHead || sizes.head < 8 || sizes.head > HeadCode::kMostPerByte * code.size())
      fail("the code of its head of {} bytes stands for {} bytes", code.size(), sizes.head);
    // Repeats take at most a few bytes more than what they stand for: no file may ask for far more.
    if (sizes.repeats > 2 * uint64_t{sizes.head} + 16) fail("the code of its head is damaged");
    const std::unique_ptr<EntropyCode> repeats = EntropyCode::open(code, sizes.repeats);
    if (!repeats) fail("the code of its head is damaged");
    std::vector<std::byte> repeated(sizes.repeats);
    memory = allocate_shared(sizes.head);
    const std::span<std::byte> head(static_cast<std::byte*>(memory.get()), sizes.head);
    if (!repeats->decode(repeated.data()) || !decode_repeats(repeated, head)) fail("the code of its head is damaged");
    return head;
  }

  void check_segments() {
    uint64_t end = 0;
    for (const Segment* segment : list(aligned(model_->segments()))) {
      if ((!has_codes_ && segment->offset() % kAlignment != 0) || segment->offset() < end || segment->offset() > weights_.size() ||
          segment->size() > weights_.size() - segment->offset())
        fail("{} bytes of weights cannot lie at {}", segment->size(), segment->offset());
      end = segment->offset() + segment->size();
    }
  }

  /// The contents of a segment as elements of that dtype; copied only where they cannot be used in place.
  struct Contents {
    SharedBytes bytes;
    DType dtype;
    bool coded;
    uint64_t stored_bytes;
  };
  const Contents& contents(uint32_t index, DType dtype, DType stored, uint64_t elements, bool coded, uint64_t stored_bytes) {
    const bool widened = stored != dtype;
    const uint64_t key = uint64_t{index} << 8 | (widened ? static_cast<uint64_t>(stored) : 0);
    const auto found = copies_.find(key);
    if (found != copies_.end()) {
      if (found->second.coded != coded || (coded && found->second.stored_bytes != stored_bytes))
        fail("a segment is used as {} and as {} bytes", found->second.stored_bytes, stored_bytes);
      if (bits_of(dtype) < 8 ? found->second.dtype != dtype : bits_of(found->second.dtype) < 8)
        fail("a segment is used as {} and as {}", found->second.dtype, dtype);
      return found->second;
    }
    const Segment& segment = *model_->segments()->Get(index);
    const SharedBytes in_file = file_.part(weights_.subspan(segment.offset(), segment.size()));
    SharedBytes in_place = in_file;
    if (coded) {
      std::unique_ptr<EntropyCode> code = EntropyCode::open(in_file.bytes(), stored_bytes);
      if (!code) fail("an entropy code of {} bytes does not stand for {} bytes", segment.size(), stored_bytes);
      std::shared_ptr<void> copy = allocate_shared(stored_bytes);
      std::byte* to = static_cast<std::byte*>(copy.get());
      in_place = {{to, stored_bytes}, copy};
      // Elements that are looked at now are decoded now, the others all at once.
      if (widened || bits_of(dtype) < 8 || dtype == DType::boolean)
        decode_code(*code, to);
      else
        codes_.push_back({std::move(code), std::move(copy)});
    }
    const std::byte* at = in_place.data();
    Contents made{in_place, dtype, coded, stored_bytes};
    if (widened) {
      std::shared_ptr<void> copy = allocate_shared(elements * sizeof(float));
      float* to = static_cast<float*>(copy.get());
      for (uint64_t i = 0; i < elements; ++i) {
        uint16_t bits;
        std::memcpy(&bits, at + 2 * i, sizeof bits);
        to[i] = stored == DType::f16 ? f32_from_f16(bits) : f32_from_bf16(bits);
      }
      made.bytes = {{static_cast<const std::byte*>(copy.get()), elements * sizeof(float)}, copy};
    } else if (bits_of(dtype) < 8) {
      // All that the segment holds: another tensor may have more elements in as many bytes.
      const size_t held = stored_bytes * 8 / bits_of(dtype);
      std::shared_ptr<void> copy = allocate_shared(held);
      unpack_bits(dtype, at, held, copy.get());
      made.bytes = {{static_cast<const std::byte*>(copy.get()), held}, copy};
    } else if (coded) {
      return copies_.emplace(key, std::move(made)).first->second;
    } else if (!in_place.has_owner() || reinterpret_cast<uintptr_t>(at) % kAlignment != 0) {
      std::shared_ptr<void> copy = allocate_shared(segment.size());
      std::memcpy(copy.get(), at, segment.size());
      made.bytes = {{static_cast<const std::byte*>(copy.get()), segment.size()}, copy};
    }
    if (made.bytes.data() != in_file.data()) os::release_mapped(in_file.data(), segment.size());  // its pages are not kept beside the copy
    return copies_.emplace(key, std::move(made)).first->second;
  }

  void decode_code(const EntropyCode& code, std::byte* to) const {
    if (!code.decode(to)) fail("an entropy code of {} bytes is damaged", code.plain_bytes());
  }
  /// All codes in one job, small ones side by side.
  void decode_codes() {
    std::vector<std::pair<size_t, size_t>> parts;
    for (size_t i = 0; i < codes_.size(); ++i)
      for (size_t part = 0; part < codes_[i].code->parts(); ++part) parts.emplace_back(i, part);
    std::atomic<size_t> damaged{codes_.size()};
    in_parts(static_cast<int64_t>(parts.size()), 1 << 17, [&](int64_t first, int64_t last) {
      for (size_t p = static_cast<size_t>(first); p < static_cast<size_t>(last); ++p) {
        const auto& [i, part] = parts[p];
        if (!codes_[i].code->decode(part, static_cast<std::byte*>(codes_[i].to.get()))) damaged.store(i, std::memory_order_relaxed);
      }
    });
    if (const size_t i = damaged.load(); i < codes_.size()) fail("an entropy code of {} bytes is damaged", codes_[i].code->plain_bytes());
    for (const Code& each : codes_) os::release_mapped(each.code->coded().data(), each.code->coded().size());
  }

  /// `kept`: in the dtype that it is stored in.
  minnow::Tensor read_tensor(const Tensor* tensor, std::string_view what, bool kept = false) {
    if (!tensor) fail("{} has no contents", what);
    const DType dtype = static_cast<DType>(tensor->dtype());
    if (size_of(dtype) == 0) fail("{} has dtype {}, which no tensor has", what, tensor->dtype());
    Shape shape;
    uint64_t elements = 1;
    if (const auto* dims = aligned(tensor->dims())) {
      if (dims->size() > kMaxRank) fail("{} has rank {}, ranks go up to {}", what, dims->size(), kMaxRank);
      for (int64_t dim : *dims) {
        if (dim < 0) fail("{} has a negative dimension", what);
        shape.push_back(dim);
      }
      const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
      for (int64_t dim : shape)
        if (!empty && (__builtin_mul_overflow(elements, static_cast<uint64_t>(dim), &elements) || elements > uint64_t{kMostElements}))
          fail("{} has shape {}, which is more than the file holds", what, shape);
      if (empty) elements = 0;
    }
    if (elements == 0) return minnow::Tensor(dtype, shape);
    const auto* segments = model_->segments();
    if (!segments || tensor->segment() >= segments->size()) fail("{} has {} elements and no contents", what, elements);
    const Segment& segment = *segments->Get(tensor->segment());
    const DType stored = tensor->stored() ? static_cast<DType>(tensor->stored()) : dtype;
    const bool is_packed = dtype == DType::i8 && (stored == DType::i4 || stored == DType::i2);  // has its elements in bytes when unpacked
    if (stored != dtype && !is_packed && (dtype != DType::f32 || (stored != DType::f16 && stored != DType::bf16)))
      fail("{} is {} and stored as dtype {}, only f32 is stored as another (f16 or bf16), and i8 (i4 or i2)", what, dtype,
           tensor->stored());
    const uint64_t bytes = elements / 8 * bits_of(stored) + (elements % 8 * bits_of(stored) + 7) / 8;
    if (tensor->coding() > 1) throw Unsupported("{}: {} has coding {}, which a newer Minnow may know", name_, what, tensor->coding());
    const bool coded = tensor->coding() == 1;
    if (!coded && segment.size() != bytes)
      fail("{} is {}{} and needs {} bytes, its contents have {}", what, stored, shape, bytes, segment.size());
    const Contents& found = contents(tensor->segment(), kept || is_packed ? stored : dtype, stored, elements, coded, bytes);
    if (dtype == DType::boolean) {
      const auto* values = reinterpret_cast<const uint8_t*>(found.bytes.data());
      if (std::any_of(values, values + elements, [](uint8_t value) { return value > 1; })) fail("{} is bool and holds another value", what);
    }
    return found.bytes.tensor(kept ? stored : dtype, shape);
  }

  ValueType read_type(const Type* type, int depth) {
    if (!type) return {};
    if (depth > kMaxDepth) fail("types are nested more than {} deep", kMaxDepth);
    ValueType made;
    if (type->kind() == TypeKind::sequence || type->kind() == TypeKind::optional) {
      charge(sizeof(ValueType));
      ValueType element = read_type(type->element(), depth + 1);
      return type->kind() == TypeKind::sequence ? ValueType::sequence_of(std::move(element)) : ValueType::optional_of(std::move(element));
    }
    if (type->kind() != TypeKind::tensor) fail("a type is of kind {}", static_cast<int>(type->kind()));
    if (type->dtype() > static_cast<uint8_t>(DType::i2)) fail("a type has dtype {}", type->dtype());
    made.dtype = static_cast<DType>(type->dtype());
    if (!type->dims()) return made;
    if (type->dims()->size() > kMaxRank) fail("a type has rank {}, ranks go up to {}", type->dims()->size(), kMaxRank);
    made.dims.emplace();
    charge(kDimBytes * type->dims()->size());
    for (int64_t size : *aligned(type->dims())) {
      if (size < -1) fail("a type has a dimension of {}", size);
      made.dims->push_back({size, {}});
    }
    for (const Symbol* symbol : list(type->symbols())) {
      if (symbol->axis() >= made.dims->size()) fail("a type names dimension {}, it has {}", symbol->axis(), made.dims->size());
      (*made.dims)[symbol->axis()].symbol = name(symbol->name());
    }
    return made;
  }

  minnow::Value* value_at(uint32_t place, std::string_view what) const {
    if (place > visible_.size()) fail("{} names value {}, {} are known there", what, place, visible_.size());
    return place ? visible_[place - 1] : nullptr;
  }

  void read_graph(const Graph& from, minnow::Graph& graph, int depth) {
    if (depth > kMaxDepth) fail("graphs are nested more than {} deep", kMaxDepth);
    charge(sizeof(minnow::Graph));
    const size_t visible_outside = visible_.size();
    graph.name = name(from.name());
    for (const Value* input : list(from.inputs())) {
      charge(kValueBytes);
      visible_.push_back(&graph.add_input(name(input->name()), read_type(input->type(), 0)));
    }
    for (const Constant* constant : list(from.constants())) {
      charge(kValueBytes);
      std::string name = this->name(constant->name());
      const std::string what = format("constant \"{}\"", name);
      const bool kept =
          packs_ && constant->tensor() && constant->tensor()->stored() && constant->tensor()->dtype() == static_cast<uint8_t>(DType::f32);
      minnow::Value* value = &graph.add_constant(read_tensor(constant->tensor(), what, kept), name);
      if (kept && value->type.dtype != DType::f32) {
        charge(kValueBytes + kNodeBytes + kAttributeBytes);
        value->rename(format("{} as {}", name, value->type.dtype));
        value = graph.add_node("Cast", {value}, 1, {{"to", static_cast<int64_t>(DType::f32)}}).output(0);
        value->type = ValueType::tensor(DType::f32, value->producer()->input(0)->constant()->shape());
        casts_.emplace_back(value, constant->tensor());
      }
      value->rename(std::move(name));  // the graph invents names for empty ones
      visible_.push_back(value);
    }
    for (const State* state : list(from.states())) {
      charge(2 * kValueBytes);
      std::string name = this->name(state->name());
      minnow::Tensor initial = read_tensor(state->initial(), format("state \"{}\"", name));
      graph.add_state({std::move(name), nullptr, nullptr, std::move(initial)});
      minnow::Value* current = graph.states().back().current;
      if (state->current()) {
        current->rename(this->name(state->current()->name()));
        current->type = read_type(state->current()->type(), 0);
      }
      visible_.push_back(current);
    }
    for (const Node* node : list(from.nodes())) read_node(*node, graph, depth);
    for (uint32_t place : list(from.outputs())) {
      minnow::Value* value = value_at(place, "an output");
      if (!value) fail("an output of a graph is absent");
      charge(kInputBytes);
      graph.add_output(*value);
    }
    size_t i = 0;
    for (const State* state : list(from.states())) {
      minnow::Value* next = value_at(state->next(), "a state");
      if (next) graph.set_state_next(i, *next);
      ++i;
    }
    visible_.resize(visible_outside);
  }

  bool is_packed_by_all(const minnow::Value& value) const {
    const auto uses = value.uses();
    return !value.is_graph_output() &&
           std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return &use.node->graph() == &value.graph() && packs_(use); });
  }

  // Weights that more than packing reads would be widened by each plan: they are constants of f32.
  void widen_others() {
    std::unordered_set<minnow::Graph*> changed;
    for (const auto& [value, tensor] : casts_) {
      if (is_packed_by_all(*value)) continue;
      minnow::Node& cast = *value->producer();
      minnow::Graph& graph = cast.graph();
      const std::string name = value->name();
      minnow::Value& wide = graph.add_constant(read_tensor(tensor, "a constant"), name);
      wide.rename(name);
      value->replace_all_uses_with(wide);
      graph.remove(cast);
      changed.insert(&graph);
    }
    for (minnow::Graph* graph : changed) graph->remove_unused_constants();
  }

  void read_node(const Node& from, minnow::Graph& graph, int depth) {
    const std::string& op = entry(ops_, from.op(), "operator");
    charge(kNodeBytes + op.size());
    std::string name = this->name(from.name());
    std::vector<minnow::Value*> inputs;
    for (uint32_t place : list(from.inputs())) {
      charge(kInputBytes);
      inputs.push_back(value_at(place, "an input of a node"));
    }
    Attributes attributes;
    if (from.attributes() && from.attributes()->size() > kMaxAttributes)
      fail("a node has {} attributes, {} are allowed", from.attributes()->size(), kMaxAttributes);
    for (const Attribute* attribute : list(from.attributes())) {
      const std::string& key = entry(keys_, attribute->key(), "attribute");
      charge(kAttributeBytes + key.size());
      attributes.set(key, read_attribute(*attribute, key, depth));
    }
    std::vector<std::string> names;
    for (const Value* output : list(from.outputs())) {
      charge(kValueBytes);
      names.push_back(!output->name() ? std::string() : output->name()->size() ? this->name(output->name()) : "?");
    }
    minnow::Node& node = graph.add_node(op, inputs, names, std::move(attributes), std::move(name));
    for (size_t i = 0; i < names.size(); ++i) {
      if (!node.output(i)) continue;
      const Value& output = *from.outputs()->Get(static_cast<uint32_t>(i));
      if (!output.name()->size()) node.output(i)->rename({});  // not the same as an absent output
      node.output(i)->type = read_type(output.type(), 0);
      visible_.push_back(node.output(i));
    }
  }

  AttributeValue read_attribute(const Attribute& from, const std::string& key, int depth) {
    switch (from.kind()) {
      case AttributeKind::integer:
        return from.integer();
      case AttributeKind::real:
        return from.real();
      case AttributeKind::text:
        return text(from.text());
      case AttributeKind::tensor:
        return read_tensor(from.tensor(), format("attribute \"{}\"", key));
      case AttributeKind::graph: {
        if (!from.graph()) fail("attribute \"{}\" has no graph", key);
        auto graph = std::make_shared<minnow::Graph>();
        read_graph(*from.graph(), *graph, depth + 1);
        return graph;
      }
      case AttributeKind::integers:
        return numbers(aligned(from.integers()));
      case AttributeKind::reals:
        return numbers(from.reals());
      case AttributeKind::texts: {
        Strings strings;
        read_table(from.texts(), strings);
        return strings;
      }
      case AttributeKind::type:
        return read_type(from.type(), 0);
      default:
        throw Unsupported("{}: attribute \"{}\" is of kind {}, which a newer Minnow may know", name_, key, static_cast<int>(from.kind()));
    }
  }

  template <class T>
  std::vector<T> numbers(const flatbuffers::Vector<T>* vector) {
    if (!vector) return {};
    charge(vector->size() * sizeof(T));
    return std::vector<T>(vector->begin(), vector->end());
  }

  SharedBytes file_;
  std::span<const std::byte> bytes_, weights_;
  std::string name_;
  PacksWeight packs_;
  std::vector<std::pair<minnow::Value*, const Tensor*>> casts_;  // of what is stored in 16 bits
  const Model* model_ = nullptr;
  uint64_t objects_left_ = 0;
  std::vector<std::string> ops_, keys_;
  struct Code {
    std::unique_ptr<EntropyCode> code;
    std::shared_ptr<void> to;
  };
  bool has_codes_ = false;                         // the file may: its segments need not be aligned
  std::vector<Code> codes_;                        // that wait until all are known
  std::unordered_map<uint64_t, Contents> copies_;  // of segments that were asked for, and of the forms they were asked for in
  std::vector<minnow::Value*> visible_;
};

}  // namespace
}  // namespace file

bool is_model_file(std::span<const std::byte> bytes) noexcept {
  const file::Header known;
  return bytes.size() >= sizeof known.magic && std::memcmp(bytes.data(), known.magic, sizeof known.magic) == 0;
}

std::unique_ptr<Graph> read_model(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string name,
                                  PacksWeight packs) {
  return file::Reader({bytes, std::move(owner)}, std::move(name), packs).read();
}

std::unique_ptr<Graph> read_model(const std::string& path, PacksWeight packs) {
  std::shared_ptr<const os::MappedFile> mapped = os::MappedFile::open(path);
  mapped->read_ahead();
  const std::span<const std::byte> bytes = mapped->bytes();
  return read_model(bytes, std::move(mapped), path, packs);
}

}  // namespace minnow
