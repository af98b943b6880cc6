// SPDX-License-Identifier: Apache-2.0
// Writes .minnow files: all segments are laid out first, then the head is built, then both are written in order.
#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/entropy.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/numeric.h"
#include "base/repeats.h"
#include "graph/model_file.h"
#include "graph/model_generated.h"
#include "graph/model_header.h"

namespace minnow {
namespace file {
namespace {

template <class T>
using Offset = flatbuffers::Offset<T>;

/// Bytes that a tensor takes in the file.
uint64_t stored_bytes(const minnow::Tensor& tensor) { return (static_cast<uint64_t>(tensor.elements()) * bits_of(tensor.dtype()) + 7) / 8; }
bool is_packed(DType dtype) { return bits_of(dtype) < 8; }

uint64_t hash_of(std::span<const std::byte> bytes) {
  uint64_t hash = bytes.size() * 0x9e3779b97f4a7c15u;
  const auto mix = [&](uint64_t word) { hash = std::rotl((hash ^ word) * 0xff51afd7ed558ccdu, 29); };
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    mix(word);
  }
  for (; i < bytes.size(); ++i) mix(static_cast<uint64_t>(bytes[i]));
  return hash;
}

minnow::Tensor narrowed(const minnow::Tensor& tensor, DType dtype) {
  minnow::Tensor made(dtype, tensor.shape());
  uint16_t* to = made.writable().data<uint16_t>();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const float x = tensor.data<float>()[i];
    to[i] = dtype == DType::f16 ? f16_from_f32(x) : bf16_from_f32(x);
  }
  return made;
}

/// The segments of the file, each contents once.
class Segments {
 public:
  explicit Segments(bool compress) : compress_(compress) {}
  uint32_t place(const minnow::Tensor& tensor) {
    if (bits_of(tensor.dtype()) == 0) throw Unsupported("a constant of dtype {} cannot be stored", tensor.dtype());
    if (tensor.elements() == 0) return kNoSegment;
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(tensor.data()), tensor.bytes());
    const auto equal = [&](uint32_t segment) {
      const minnow::Tensor& other = contents_[segment];
      const bool same_form = is_packed(tensor.dtype()) ? other.dtype() == tensor.dtype() : !is_packed(other.dtype());
      return same_form && other.bytes() == bytes.size() && std::memcmp(other.data(), bytes.data(), bytes.size()) == 0;
    };
    std::vector<uint32_t>& candidates = by_hash_[hash_of(bytes)];
    for (uint32_t segment : candidates)
      if (equal(segment)) return segment;
    const uint32_t segment = static_cast<uint32_t>(contents_.size());
    candidates.push_back(segment);
    contents_.push_back(tensor);
    codes_.push_back(compress_ ? code_of(tensor) : std::vector<std::byte>());
    const uint64_t stored = codes_.back().empty() ? stored_bytes(tensor) : codes_.back().size();
    // In files with codes, codes and small tensors lie close together: they are decoded or copied.
    places_.emplace_back(compress_ && (!codes_.back().empty() || stored < kLeastCoded) ? end_ : align_up(end_), stored);
    end_ = places_.back().offset() + places_.back().size();
    return segment;
  }
  bool is_coded(uint32_t segment) const { return segment != kNoSegment && !codes_[segment].empty(); }
  const std::vector<Segment>& places() const { return places_; }
  uint64_t size() const { return end_; }

  void write(const os::ByteSink& sink) const {
    uint64_t at = 0;
    std::vector<std::byte> packed;
    for (size_t i = 0; i < contents_.size(); ++i) {
      static constexpr std::byte kZeros[kAlignment]{};
      sink({kZeros, static_cast<size_t>(places_[i].offset() - at)});
      const minnow::Tensor& tensor = contents_[i];
      if (!codes_[i].empty()) {
        sink(codes_[i]);
      } else if (is_packed(tensor.dtype())) {
        packed.resize(places_[i].size());
        pack_bits(tensor.dtype(), tensor.data(), static_cast<size_t>(tensor.elements()), packed.data());
        sink(packed);
      } else {
        sink({static_cast<const std::byte*>(tensor.data()), tensor.bytes()});
      }
      at = places_[i].offset() + places_[i].size();
    }
  }

 private:
  /// Empty where it does not pay. The bytes of an element have frequencies of their own: exponents repeat, mantissas do not.
  static std::vector<std::byte> code_of(const minnow::Tensor& tensor) {
    constexpr size_t kWidest = 8;
    if (stored_bytes(tensor) < kLeastCoded || tensor.dtype() == DType::boolean) return {};
    if (!is_packed(tensor.dtype()))
      return entropy_coded({static_cast<const std::byte*>(tensor.data()), tensor.bytes()}, std::min(kWidest, size_of(tensor.dtype())));
    std::vector<std::byte> packed(stored_bytes(tensor));
    pack_bits(tensor.dtype(), tensor.data(), static_cast<size_t>(tensor.elements()), packed.data());
    return entropy_coded(packed, 1);
  }

  static constexpr uint64_t kLeastCoded = 2048;
  const bool compress_;
  std::vector<minnow::Tensor> contents_;       // sharing the graph's memory
  std::vector<std::vector<std::byte>> codes_;  // of contents; empty: stored as they are
  std::vector<Segment> places_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> by_hash_;
  uint64_t end_ = 0;
};

/// Texts that many nodes share, by number.
class Table {
 public:
  uint32_t number(const std::string& text) {
    const auto [at, added] = numbers_.emplace(text, static_cast<uint32_t>(texts_.size()));
    if (added) texts_.push_back(text);
    return at->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<std::string> texts_;
};

class HeadWriter {
 public:
  HeadWriter(Segments& segments, const StoredWeights& weights) : segments_(segments), weights_(weights) {}

  std::span<const std::byte> write(const minnow::Graph& graph) {
    const Offset<Graph> main = add(graph, 0);
    const auto ops = add(ops_.texts()), keys = add(keys_.texts()), labels = add(graph.metadata.labels);
    const auto producer = add(graph.metadata.producer), format = add(graph.metadata.source_format), hash = add(graph.metadata.source_hash);
    std::vector<Offset<Property>> properties;
    for (const auto& [key, value] : graph.metadata.properties) properties.push_back(CreateProperty(builder_, add(key), add(value)));
    const auto listed = builder_.CreateVector(properties);
    const auto segments = builder_.CreateVectorOfStructs(segments_.places());
    builder_.Finish(CreateModel(builder_, kOpset, main, ops, keys, segments, graph.names_made(), producer, format, hash, labels, listed));
    check_room(0);
    return {reinterpret_cast<const std::byte*>(builder_.GetBufferPointer()), builder_.GetSize()};
  }

 private:
  /// The builder itself only asserts that it stays within what a FlatBuffer can address.
  void check_room(uint64_t bytes) const {
    if (builder_.GetSize() + bytes + (1 << 20) > kMaxHead) throw Unsupported("the graph takes more than 2 GB without its weights");
  }
  Offset<flatbuffers::String> add(const std::string& text) {
    check_room(text.size());
    return builder_.CreateSharedString(text);
  }
  Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> add(const std::vector<std::string>& texts) {
    std::vector<Offset<flatbuffers::String>> offsets;
    for (const std::string& text : texts) offsets.push_back(add(text));
    return builder_.CreateVector(offsets);
  }
  template <class T>
  Offset<flatbuffers::Vector<T>> add_numbers(const std::vector<T>& numbers) {
    check_room(numbers.size() * sizeof(T));
    return builder_.CreateVector(numbers);
  }

  Offset<flatbuffers::Vector<int64_t>> add_dims(std::vector<int64_t> dims) {
    const auto [at, added] = dims_.try_emplace(std::move(dims));
    if (added) at->second = add_numbers(at->first);
    return at->second;
  }

  /// Many values have equal types: the tables are shared.
  Offset<Type> add(const ValueType& type) {
    std::string key;
    append_key(type, key);
    if (const auto found = types_.find(key); found != types_.end()) return found->second;
    return types_[key] = create(type);
  }
  static void append_key(const ValueType& type, std::string& key) {
    key += std::to_string(static_cast<int>(type.kind)) + ' ';
    if (type.kind != ValueType::Kind::tensor) {
      if (type.element) append_key(*type.element, key);
      return;
    }
    key += std::to_string(static_cast<int>(type.dtype)) + (type.dims ? 'd' : 'u');
    if (!type.dims) return;
    for (const Dim& dim : *type.dims) key += std::to_string(dim.size) + ' ' + std::to_string(dim.symbol.size()) + ' ' + dim.symbol + ' ';
  }
  Offset<Type> create(const ValueType& type) {
    if (type.kind != ValueType::Kind::tensor) {
      const Offset<Type> element = type.element ? add(*type.element) : Offset<Type>();
      return CreateType(builder_, static_cast<TypeKind>(type.kind), 0, 0, 0, element);
    }
    Offset<flatbuffers::Vector<int64_t>> dims;
    Offset<flatbuffers::Vector<Offset<Symbol>>> names;
    if (type.dims) {
      std::vector<int64_t> sizes;
      std::vector<Offset<Symbol>> symbols;
      for (size_t i = 0; i < type.dims->size(); ++i) {
        const Dim& dim = (*type.dims)[i];
        sizes.push_back(dim.known() ? dim.size : -1);
        if (!dim.symbol.empty()) symbols.push_back(CreateSymbol(builder_, static_cast<uint8_t>(i), add(dim.symbol)));
      }
      dims = add_dims(std::move(sizes));
      if (!symbols.empty()) names = builder_.CreateVector(symbols);
    }
    return CreateType(builder_, TypeKind::tensor, static_cast<uint8_t>(type.dtype), dims, names);
  }

  Offset<Tensor> add(const minnow::Tensor& tensor, const minnow::Tensor* stored = nullptr) {
    const uint32_t segment = segments_.place(stored ? *stored : tensor);
    const auto dims = add_dims({tensor.shape().begin(), tensor.shape().end()});
    return CreateTensor(builder_, static_cast<uint8_t>(tensor.dtype()), dims, segment, stored ? static_cast<uint8_t>(stored->dtype()) : 0,
                        segments_.is_coded(segment));
  }

  Offset<Value> add(const minnow::Value* value) {
    if (!value) return CreateValue(builder_);
    const auto name = add(value->name());
    return CreateValue(builder_, name, add(value->type));
  }

  void see(const minnow::Value* value) { places_[value] = ++visible_; }
  uint32_t place_of(const minnow::Value* value) const { return value ? places_.at(value) : 0; }

  Offset<Attribute> add(const std::string& name, const AttributeValue& value, int depth) {
    // Strings, vectors and tables must be finished before the table that refers to them is begun.
    Offset<flatbuffers::String> text;
    Offset<Tensor> tensor;
    Offset<Graph> graph;
    Offset<flatbuffers::Vector<int64_t>> integers;
    Offset<flatbuffers::Vector<float>> reals;
    Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> texts;
    Offset<Type> type;
    if (const auto* v = std::get_if<std::string>(&value)) text = add(*v);
    if (const auto* v = std::get_if<minnow::Tensor>(&value)) tensor = add(*v);
    if (const auto* v = std::get_if<Subgraph>(&value)) graph = add(**v, depth + 1);
    if (const auto* v = std::get_if<Ints>(&value)) integers = add_dims(*v);
    if (const auto* v = std::get_if<Floats>(&value)) reals = add_numbers(*v);
    if (const auto* v = std::get_if<Strings>(&value)) texts = add(*v);
    if (const auto* v = std::get_if<ValueType>(&value)) type = add(*v);
    const auto* integer = std::get_if<int64_t>(&value);
    const auto* real = std::get_if<float>(&value);
    const auto kind = static_cast<AttributeKind>(value.index() + 1);    // the alternatives of AttributeValue in their order
    builder_.ForceDefaults(real && *real == 0 && std::signbit(*real));  // -0 equals 0, which is left out
    const auto made = CreateAttribute(builder_, keys_.number(name), kind, integer ? *integer : 0, real ? *real : 0, text, tensor, graph,
                                      integers, reals, texts, type);
    builder_.ForceDefaults(false);
    return made;
  }

  Offset<Node> add(const minnow::Node& node, int depth) {
    std::vector<uint32_t> inputs;
    for (size_t i = 0; i < node.input_count(); ++i) inputs.push_back(place_of(node.input(i)));
    std::vector<Offset<Attribute>> attributes;
    for (const auto& [name, value] : node.attributes) attributes.push_back(add(name, value, depth));
    std::vector<Offset<Value>> outputs;
    for (size_t i = 0; i < node.output_count(); ++i) {
      outputs.push_back(add(node.output(i)));
      if (node.output(i)) see(node.output(i));
    }
    const auto name = node.name().empty() ? Offset<flatbuffers::String>() : add(node.name());
    const auto in = add_numbers(inputs);
    const auto out = builder_.CreateVector(outputs);
    const auto list = attributes.empty() ? 0 : builder_.CreateVector(attributes);
    return CreateNode(builder_, ops_.number(node.op()), name, in, out, list);
  }

  Offset<Graph> add(const minnow::Graph& graph, int depth) {
    if (depth > kMaxDepth) throw Unsupported("{}: graphs are nested more than {} deep", graph.source, kMaxDepth);
    const uint32_t visible_outside = visible_;
    std::vector<Offset<Value>> inputs;
    for (const auto& input : graph.inputs()) inputs.push_back(add(input.get())), see(input.get());
    std::vector<Offset<Constant>> constants;
    for (const auto& constant : graph.constants()) {
      const auto name = add(constant->name());
      const minnow::Tensor& tensor = *constant->constant();
      const auto stored = weights_.find(constant.get());
      if (stored != weights_.end()) {
        constants.push_back(CreateConstant(builder_, name, add(tensor, &stored->second)));
      } else if (const DType dtype = stored_dtype(tensor); dtype != tensor.dtype() && is_packed(dtype)) {
        const minnow::Tensor packed(dtype, tensor.shape(), tensor.data(), tensor.owner());
        constants.push_back(CreateConstant(builder_, name, add(tensor, &packed)));
      } else if (dtype != tensor.dtype()) {
        const minnow::Tensor narrow = narrowed(tensor, dtype);
        constants.push_back(CreateConstant(builder_, name, add(tensor, &narrow)));
      } else {
        constants.push_back(CreateConstant(builder_, name, add(tensor)));
      }
      see(constant.get());
    }
    for (const minnow::State& state : graph.states()) see(state.current);
    std::vector<Offset<Node>> nodes;
    for (const minnow::Node& node : graph.nodes()) nodes.push_back(add(node, depth));
    std::vector<Offset<State>> states;
    for (const minnow::State& state : graph.states()) {
      const auto name = add(state.name);
      const auto current = add(state.current);
      states.push_back(CreateState(builder_, name, current, place_of(state.next), add(state.initial)));
    }
    std::vector<uint32_t> outputs;
    for (const minnow::Value* output : graph.outputs()) outputs.push_back(place_of(output));
    const auto name = add(graph.name);
    const auto in = builder_.CreateVector(inputs);
    const auto fixed = builder_.CreateVector(constants);
    const auto kept = builder_.CreateVector(states);
    const auto list = builder_.CreateVector(nodes);
    const auto out = add_numbers(outputs);
    visible_ = visible_outside;
    return CreateGraph(builder_, name, in, fixed, kept, list, out);
  }

  Segments& segments_;
  const StoredWeights& weights_;
  flatbuffers::FlatBufferBuilder builder_;
  Table ops_, keys_;
  std::map<std::vector<int64_t>, Offset<flatbuffers::Vector<int64_t>>> dims_;
  std::unordered_map<std::string, Offset<Type>> types_;
  std::unordered_map<const minnow::Value*, uint32_t> places_;
  uint32_t visible_ = 0;
};

/// Empty where that does not pay.
std::vector<std::byte> code_of_head(std::span<const std::byte> head) {
  const std::vector<std::byte> repeats = repeats_coded(head), code = entropy_coded(repeats, 1);
  const HeadCode sizes{static_cast<uint32_t>(head.size()), static_cast<uint32_t>(repeats.size())};
  if (code.empty() || sizeof sizes + code.size() >= head.size() || head.size() > HeadCode::kMostPerByte * code.size()) return {};
  std::vector<std::byte> coded(sizeof sizes);
  std::memcpy(coded.data(), &sizes, sizeof sizes);
  coded.insert(coded.end(), code.begin(), code.end());
  return coded;
}

}  // namespace
}  // namespace file

namespace {

/// Vectors alone: they are widened when they are loaded, which large weights should not be.
DType stored_dtype_of_reals(const Tensor& tensor) noexcept {
  constexpr int64_t kLeast = 32, kMost = 65536;  // less saves nothing, because segments begin at multiples of 64
  const int64_t count = tensor.elements();
  if (count < kLeast || count > kMost || std::find(tensor.shape().begin(), tensor.shape().end(), count) == tensor.shape().end())
    return DType::f32;
  const auto all = [&](const auto& is_kept) {
    return std::all_of(tensor.data<float>(), tensor.data<float>() + count,
                       [&](float x) { return std::bit_cast<uint32_t>(is_kept(x)) == std::bit_cast<uint32_t>(x); });
  };
  if (all([](float x) { return f32_from_bf16(bf16_from_f32(x)); })) return DType::bf16;
  if (all([](float x) { return f32_from_f16(f16_from_f32(x)); })) return DType::f16;
  return DType::f32;
}

}  // namespace

DType stored_dtype(const Tensor& tensor) noexcept {
  if (tensor.dtype() == DType::f32) return stored_dtype_of_reals(tensor);
  constexpr int64_t kLeastPacked = 1024;  // fewer elements are not worth a copy when they are loaded
  if (tensor.dtype() != DType::i8 || tensor.elements() < kLeastPacked) return tensor.dtype();
  const int8_t* values = tensor.data<int8_t>();
  int8_t low = 0, high = 0;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    low = std::min(low, values[i]), high = std::max(high, values[i]);
    if (low < -8 || high > 7) return DType::i8;
  }
  return low >= -2 && high <= 1 ? DType::i2 : DType::i4;
}

void write_model_to(const Graph& graph, const os::ByteSink& sink, const StoredWeights& weights, bool compress) {
  verify(graph);
  file::Segments segments(compress);
  file::HeadWriter writer(segments, weights);
  std::span<const std::byte> head = writer.write(graph);
  file::Header header;
  const std::vector<std::byte> code = compress ? file::code_of_head(head) : std::vector<std::byte>();
  if (compress) header.major = file::Header::kCodedMajor, header.minor = file::Header::kCodedMinor;
  if (!code.empty()) head = code;
  header.coded_head = !code.empty();
  header.head_size = head.size();
  header.weights_offset = align_up(sizeof header + head.size());
  header.weights_size = segments.size();
  header.file_size = header.weights_offset + header.weights_size;
  sink(std::as_bytes(std::span(&header, 1)));
  sink(head);
  const std::vector<std::byte> gap(header.weights_offset - sizeof header - head.size());
  sink(gap);
  segments.write(sink);
}

void write_model(const Graph& graph, const std::string& path, const StoredWeights& weights, bool compress) {
  os::write_file_atomically(path, [&](const os::ByteSink& sink) { write_model_to(graph, sink, weights, compress); });
}

}  // namespace minnow
