// SPDX-License-Identifier: Apache-2.0
#include "runtime/model.h"

#include <cstring>
#include <unordered_set>

#include "base/no_memory.h"
#include "base/os.h"
#include "graph/model_file.h"
#include "ops/custom.h"
#include "ops/infer.h"
#include "ops/stored_weights.h"

namespace minnow {

std::shared_ptr<PackedWeights::Item> PackedWeights::item_of(const Tensor& weight, const Packing& packing) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Item>& place = items_[Key{weight.data(), weight.dtype(), weight.shape(), packing}];
  if (!place) {
    place = std::make_shared<Item>();
    place->weight = weight;
  }
  return place;
}

std::shared_ptr<const void> PackedWeights::packed_on(Backend& backend, const Tensor& weight, const Packing& packing, Pack pack) {
  if constexpr (!kHasDevices) return nullptr;
  const std::shared_ptr<Item> item = item_of(weight, packing);
  const std::lock_guard lock(item->packing);
  const ChargeTo nobody;
  if (!item->memory) item->memory = WeightStore::packed_on(backend, weight, packing, pack);
  return item->memory;
}

std::shared_ptr<const void> PackedWeights::packed(const Tensor& weight, const Packing& packing,
                                                  FunctionRef<void(const TensorView&, void*)> pack) {
  const std::shared_ptr<Item> item = item_of(weight, packing);
  const std::lock_guard lock(item->packing);
  if (!item->memory) {
    const size_t bytes = packing.bytes;
    const ChargeTo nobody;  // the model's, not the session's
    WeightCache* const cache = cache_.load(std::memory_order_acquire);
    const std::string key = cache ? cache->key_of(weight, packing) : std::string();
    if (cache) item->memory = cache->find(key, bytes);
    if (!item->memory) {
      std::shared_ptr<void> memory = allocate(bytes);
      pack(weight, memory.get());
      item->memory = std::move(memory);
      if (cache) cache->add(key, item->memory, bytes);
    }
    item->bytes = bytes;
    os::release_mapped(weight.data(), weight.bytes());  // the plain copy is not kept beside the packed one
  }
  return item->memory;
}

// Packed weights share large blocks. Each run reads all of them, so they gain from large pages even if each has only some hundred kilobytes
// (see allocate_aligned). A block is no larger than the weights expected to fill it.
std::shared_ptr<void> PackedWeights::allocate(size_t bytes) {
  const size_t wanted = align_up(bytes);
  {
    const std::lock_guard lock(mutex_);
    if (wanted < os::kHugePage && !block_ && expected_ > allocated_ && expected_ - allocated_ >= os::kHugePage) {
      block_bytes_ = (expected_ - allocated_) / os::kHugePage * os::kHugePage;
      block_ = allocate_shared(block_bytes_);
    }
    allocated_ += bytes;
    has_new_ = true;
    if (wanted < os::kHugePage && wanted <= block_bytes_ - block_used_) {
      void* memory = static_cast<std::byte*>(block_.get()) + block_used_;
      block_used_ += wanted;
      return {block_, memory};
    }
  }
  return allocate_shared(bytes);
}

void PackedWeights::keep_in(const std::string& file, const Graph& graph, int threads) {
  const std::lock_guard lock(mutex_);
  if (owned_cache_ && owned_cache_->file() != file)
    throw InvalidArgument("weight_cache is \"{}\", this model's packed weights are kept in \"{}\" already", file, owned_cache_->file());
  if (owned_cache_) return;
  owned_cache_ = std::make_unique<WeightCache>(file, graph, threads);
  cache_.store(owned_cache_.get(), std::memory_order_release);
}

void PackedWeights::save() {
  if (WeightCache* const cache = cache_.load(std::memory_order_acquire)) cache->save();
}

void PackedWeights::release_plain() noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, item] : items_)
    if (item->bytes) os::release_mapped(item->weight.data(), item->weight.bytes());
  if (!has_new_) return;
  has_new_ = false;
  if (block_) os::release_unused(static_cast<std::byte*>(block_.get()) + block_used_, block_bytes_ - block_used_);
  os::release_freed();
}

size_t PackedWeights::bytes() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const auto& [key, item] : items_) bytes += item->bytes;
  return bytes;
}

ValueDescription describe(const std::string& name, const ValueType& type) {
  ValueDescription description;
  description.name = name;
  description.type = to_string(type);
  description.dtype = type.dtype;
  description.is_tensor = type.kind == ValueType::Kind::tensor;
  description.has_rank = type.dims.has_value();
  if (type.dims)
    for (const Dim& dim : *type.dims) {
      description.dims.push_back(dim.size);
      description.symbols.push_back(dim.known() ? std::string() : dim.symbol);
    }
  return description;
}

namespace {

/// `widened`: counts 16-bit weights as 32 bits, because their packed forms are wider.
size_t weight_bytes(const Graph& graph, bool widened = false) {
  size_t bytes = 0;
  for (const auto& constant : graph.constants()) {
    const Tensor& tensor = *constant->constant();
    bytes += tensor.bytes() * (widened && (tensor.dtype() == DType::f16 || tensor.dtype() == DType::bf16) ? 2 : 1);
  }
  for (const Node& node : graph.nodes())
    for (const auto& [name, attribute] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute)) bytes += weight_bytes(**subgraph, widened);
  return bytes;
}

// 16-bit weights are packed from the result of a Cast, an operator that a build for some operators may lack.
PacksWeight packing_of(const std::shared_ptr<const OperatorSet>& operators) {
  return (operators ? *operators : OperatorSet::builtin()).find("Cast") ? packs_weight : nullptr;
}

/// A state without a next value keeps the one that it has.
void keep_states(Graph& graph) {
  for (size_t i = 0; i < graph.states().size(); ++i)
    if (!graph.states()[i].next) graph.set_state_next(i, *graph.states()[i].current);
  for (Node& node : graph.nodes())
    for (const auto& [name, attribute] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute)) keep_states(**subgraph);
}

}  // namespace

Model Model::from_graph(std::unique_ptr<Graph> graph, std::shared_ptr<const OperatorSet> operators) try {
  auto impl = std::make_shared<Impl>();
  impl->custom_operators = std::move(operators);
  impl->operators = impl->custom_operators ? impl->custom_operators.get() : &OperatorSet::builtin();
  keep_states(*graph);
  verify(*graph);
  infer_types(*impl->operators, *graph);
  for (const auto& input : graph->inputs()) impl->inputs.push_back(describe(input->name(), input->type));
  for (const Value* output : graph->outputs()) impl->outputs.push_back(describe(output->name(), output->type));
  for (const State& state : graph->states()) impl->states.push_back(describe(state.name, state.current->type));
  impl->weight_bytes = minnow::weight_bytes(*graph);
  impl->packed.expect(minnow::weight_bytes(*graph, true));
  impl->graph = std::move(graph);
  return Model(std::move(impl));
} catch (...) {
  throw_as_error();
}

Model Model::load(const std::string& path, std::shared_ptr<const OperatorSet> operators) try {
  const PacksWeight packs = packing_of(operators);
  return from_graph(read_model(path, packs), std::move(operators));
} catch (...) {
  throw_as_error();
}

Model Model::from_memory(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                         std::shared_ptr<const OperatorSet> operators) try {
  if (!owner) {
    std::shared_ptr<void> copy = allocate_shared(bytes.size());
    std::memcpy(copy.get(), bytes.data(), bytes.size());
    bytes = {static_cast<const std::byte*>(copy.get()), bytes.size()};
    owner = std::move(copy);
  }
  const PacksWeight packs = packing_of(operators);
  return from_graph(read_model(bytes, std::move(owner), "model in memory", packs), std::move(operators));
} catch (...) {
  throw_as_error();
}

std::shared_ptr<const OperatorSet> load_operators(const std::vector<std::string>& libraries) try {
  return load_custom_operators(libraries);
} catch (...) {
  throw_as_error();
}

const std::vector<ValueDescription>& Model::inputs() const noexcept { return impl_->inputs; }
const std::vector<ValueDescription>& Model::outputs() const noexcept { return impl_->outputs; }
const std::vector<ValueDescription>& Model::states() const noexcept { return impl_->states; }
const std::vector<std::string>& Model::labels() const noexcept { return impl_->graph->metadata.labels; }
const std::map<std::string, std::string>& Model::properties() const noexcept { return impl_->graph->metadata.properties; }
size_t Model::weight_bytes() const noexcept { return impl_->weight_bytes; }
const Graph& Model::graph() const noexcept { return *impl_->graph; }

Model Model::between(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) const try {
  std::unique_ptr<Graph> graph = impl_->graph->clone();
  std::unordered_map<std::string_view, Value*> by_name;
  for (const auto& input : graph->inputs()) by_name.emplace(input->name(), input.get());
  for (const Node& node : graph->nodes())
    for (size_t i = 0; i < node.output_count(); ++i)
      if (node.output(i)) by_name.emplace(node.output(i)->name(), node.output(i));
  const auto find = [&](const std::string& name) -> Value& {
    const auto found = by_name.find(name);
    if (found == by_name.end()) throw InvalidArgument("{}: the model has no value \"{}\"", graph->source, name);
    return *found->second;
  };
  if (outputs.empty()) throw InvalidArgument("{}: a part needs an output", graph->source);
  const std::unordered_set<std::string> named(inputs.begin(), inputs.end());
  if (named.size() != inputs.size()) throw InvalidArgument("{}: an input of the part is named twice: {}", graph->source, inputs);
  std::vector<Value*> cut_outputs;
  for (const std::string& name : outputs) cut_outputs.push_back(&find(name));
  // Values that become inputs are replaced by new ones; their producers are removed if nothing else needs them.
  std::vector<Value*> old_inputs, new_inputs;
  for (const std::string& name : inputs) {
    Value& old = find(name);
    if (old.is_input()) continue;
    Value& made = graph->add_input(name, old.type);
    old_inputs.push_back(&old), new_inputs.push_back(&made);
  }
  graph->replace_outputs(cut_outputs);
  for (size_t i = 0; i < old_inputs.size(); ++i) old_inputs[i]->replace_all_uses_with(*new_inputs[i]);
  for (Node* node = graph->last(); node;) {
    Node* previous = node->previous();
    bool unused = true;
    for (size_t i = 0; i < node->output_count(); ++i) unused &= !node->output(i) || node->output(i)->is_unused();
    if (unused) graph->remove(*node);
    node = previous;
  }
  graph->remove_unused_constants();
  for (size_t i = graph->inputs().size(); i-- > 0;) {
    const Value& input = *graph->inputs()[i];
    if (named.contains(input.name())) continue;
    if (!input.is_unused()) throw InvalidArgument("{}: these outputs depend on input \"{}\" too", graph->source, input.name());
    graph->remove_input(i);
  }
  // In the order of the call.
  graph->order_inputs(inputs);
  return from_graph(std::move(graph), impl_->custom_operators);
} catch (...) {
  throw_as_error();
}

}  // namespace minnow
