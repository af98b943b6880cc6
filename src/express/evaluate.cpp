// SPDX-License-Identifier: Apache-2.0
#include "express/evaluate.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "base/no_memory.h"
#include "express/backward.h"
#include "express/lower.h"
#include "express/memory.h"
#include "express/scope.h"
#include "express/state.h"
#include "graph/rewriter.h"
#include "ops/infer.h"
#include "runtime/executor.h"
#include "runtime/model.h"

namespace minnow::express {

namespace {

// A planned form of expression: its graph, and executors that hold plans by shape, one for each thread that uses it.
struct Form {
  std::unique_ptr<Graph> graph;
  std::shared_ptr<const Runtime> runtime;
  std::shared_ptr<const OperatorSet> operators;  // null: the built-in ones
  PackedWeights packed;
  SessionContext context;
  std::shared_ptr<MemoryAccount> account;
  std::vector<std::weak_ptr<LazyNode>> weights;  // whose contents are part of the plans; when one is gone, so is the form
  std::vector<std::unique_ptr<Executor>> free;
  uint64_t last_used = 0;

  bool is_dead() const {
    return std::any_of(weights.begin(), weights.end(), [](const auto& weight) { return weight.expired(); });
  }
};

constexpr size_t kMostForms = 512;

struct Cache {
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<Form>> forms;
  uint64_t clock = 0, hits = 0, misses = 0;

  static Cache& instance() {
    static Cache& cache = *new Cache;  // outlives every thread
    return cache;
  }
  [[gnu::cold]] void make_room() {
    std::erase_if(forms, [](const auto& entry) { return entry.second->is_dead(); });
    if (forms.size() < kMostForms) return;
    // A quarter at once, so that this is rare.
    std::vector<uint64_t> ages;
    for (const auto& [key, form] : forms) ages.push_back(form->last_used);
    const auto quarter = ages.begin() + static_cast<ptrdiff_t>(ages.size() / 4);
    std::nth_element(ages.begin(), quarter, ages.end());
    const uint64_t oldest = *quarter;
    std::erase_if(forms, [&](const auto& entry) { return entry.second->last_used <= oldest; });
  }
};

// The pending nodes of an evaluation in order, and the values that they start from.
class Expression {
 public:
  explicit Expression(std::span<const LazyValue> roots) : roots_(roots) {
    static std::atomic<uint64_t> marks{0};
    mark_ = marks.fetch_add(1, std::memory_order_relaxed) + 1;
    for (const LazyValue& root : roots) collect(root.node);
    for (const LazyValue& root : roots)
      if (root.node->mark == mark_) ++root.node->uses;
  }

  /// A pending input that should be a constant of the plan; absent if there is none.
  LazyValue unready_weight() const {
    for (const auto* node : nodes_)
      if ((*node)->op && (*node)->op->wants_constants)
        for (size_t i = 1; i < (*node)->inputs.size(); ++i)
          if (const LazyValue& input = (*node)->inputs[i]; input && can_be_weight(input) && !input.node->is_computed()) return input;
    return {};
  }

  /// Steps after which others change the same states: they have to be computed first, one after the other. In the order in which they were
  /// made.
  std::vector<LazyValue> earlier_steps() const {
    std::vector<LazyValue> steps;
    for (const auto* step : steps_) steps.push_back({*step, 0});
    return express::earlier_steps(std::move(steps));
  }

  bool empty() const { return nodes_.empty(); }

  void run() {
    find_leaves();
    thread_local std::string key;
    write_key(key);
    Cache& cache = Cache::instance();
    std::shared_ptr<Form> form;
    std::unique_ptr<Executor> executor;
    {
      const std::lock_guard lock(cache.mutex);
      if (const auto found = cache.forms.find(key); found != cache.forms.end()) {
        form = found->second;
        form->last_used = ++cache.clock;
        ++cache.hits;
        if (!form->free.empty()) {
          executor = std::move(form->free.back());
          form->free.pop_back();
        }
      } else {
        ++cache.misses;
      }
    }
    if (!form) {
      form = make_form();
      const std::lock_guard lock(cache.mutex);
      cache.make_room();
      form->last_used = ++cache.clock;
      cache.forms[key] = form;
    }
    if (!executor) executor = std::make_unique<Executor>(*form->graph, form->context);
    run(*form, *executor);
    {
      const std::lock_guard lock(cache.mutex);
      form->free.push_back(std::move(executor));
    }
  }

 private:
  struct Leaf {
    const LazyValue* value;
    bool weight = false;
  };

  void collect(const std::shared_ptr<LazyNode>& root) {
    if (root->mark == mark_ || root->is_computed()) return;
    check_given(*root);
    thread_local std::vector<std::pair<const std::shared_ptr<LazyNode>*, size_t>> stack;
    stack.clear();
    root->mark = mark_;
    root->uses = 0;
    stack.emplace_back(&root, 0);
    while (!stack.empty()) {
      auto& [pointer, next] = stack.back();
      LazyNode& node = **pointer;
      if (next == node.inputs.size()) {
        node.place = static_cast<uint32_t>(nodes_.size());
        nodes_.push_back(pointer);
        if (node.operators) operators_ = joined(operators_, node.operators);
        if (node.kind == LazyNode::Kind::step) steps_.push_back(pointer);
        stack.pop_back();
        continue;
      }
      const LazyValue& input = node.inputs[next++];
      if (!input || input.node->is_computed()) continue;
      check_given(*input.node);
      if (input.node->mark != mark_) {
        input.node->mark = mark_;
        input.node->uses = 0;
        stack.emplace_back(&input.node, 0);
      }
      ++input.node->uses;
    }
  }

  static void check_given(const LazyNode& node) {
    if (node.kind == LazyNode::Kind::step && RecordingScope::has(node))
      throw InvalidArgument(
          "what a module with states gives is read inside a function of cond(), while_loop() or scan(), which is called once, to record "
          "what "
          "it computes; return it instead");
    if (node.is_formal)
      throw InvalidArgument(
          "the value \"{}\" is read inside a function of cond(), while_loop() or scan(), which has no values yet: it is called once, to "
          "record what it computes",
          node.outputs[0].name);
    if (node.kind == LazyNode::Kind::placeholder)
      throw InvalidArgument("the placeholder \"{}\" is read but was given no value; assign() one", node.outputs[0].name);
  }

  // Values that depend on a placeholder or a state may change at the next run of the plan.
  static bool can_be_weight(const LazyValue& value) { return !value.node->fed_by_others; }
  static bool is_pending(const LazyValue& value) { return value && !value.node->is_computed(); }

  // The place of a computed value among the leaves. Few leaves are searched one after the other.
  uint32_t leaf(const LazyValue& value) {
    if (leaves_.size() <= 8) {
      for (uint32_t i = 0; i < leaves_.size(); ++i)
        if (*leaves_[i].value == value) return i;
    } else {
      if (leaf_places_.empty())
        for (uint32_t i = 0; i < leaves_.size(); ++i) leaf_places_[{leaves_[i].value->node.get(), leaves_[i].value->output}] = i;
      const auto [found, is_new] = leaf_places_.try_emplace({value.node.get(), value.output}, static_cast<uint32_t>(leaves_.size()));
      if (!is_new) return found->second;
    }
    leaves_.push_back({&value});
    return static_cast<uint32_t>(leaves_.size()) - 1;
  }

  void find_leaves() {
    for (const auto* pointer : nodes_) {
      const LazyNode& node = **pointer;
      const bool weights = node.op && node.op->wants_constants;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const LazyValue& input = node.inputs[i];
        if (!input || !input.node->is_computed()) continue;
        const uint32_t at = leaf(input);
        if (weights && i > 0 && output_of(input).tensor && can_be_weight(input)) leaves_[at].weight = true;
      }
    }
    // Wanted: the roots, values held outside of this expression, and steps, which are computed only once.
    for (const auto* pointer : nodes_)
      if ((*pointer).use_count() > static_cast<long>((*pointer)->uses) || (*pointer)->kind == LazyNode::Kind::step)
        wanted_.push_back(pointer->get());
    for (const LazyValue& root : roots_)
      if (root.node->mark == mark_ && std::find(wanted_.begin(), wanted_.end(), root.node.get()) == wanted_.end())
        wanted_.push_back(root.node.get());
  }

  template <class T>
  static void append(std::string& key, const T& number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }

  void write_key(std::string& key) {
    key.clear();
    append(key, current_runtime().get());
    append(key, operators_.get());
    append(key, leaves_.size());
    for (const Leaf& leaf : leaves_) {
      const Output& output = output_of(*leaf.value);
      append(key, output.kind);
      append(key, output.dtype);
      if (output.kind != ValueInfo::Kind::tensor) {
        append(key, output.element);
        continue;
      }
      const Shape& shape = output.tensor.shape();
      append(key, static_cast<uint8_t>(shape.rank() * 2 + leaf.weight));
      key.append(reinterpret_cast<const char*>(shape.begin()), shape.rank() * sizeof(int64_t));
      if (leaf.weight) append(key, leaf.value->node->id);
    }
    for (const auto* pointer : nodes_) {
      const LazyNode& node = **pointer;
      append(key, node.op);
      append(key, static_cast<uint32_t>(node.form.size()));
      key += node.form;
      append(key, static_cast<uint32_t>(node.inputs.size()));
      for (const LazyValue& input : node.inputs) {
        uint64_t reference = ~uint64_t{0};
        if (is_pending(input))
          reference = (uint64_t{1} << 63) | (uint64_t{input.output} << 32) | input.node->place;
        else if (input)
          reference = leaf(input);
        append(key, reference);
      }
      for (const Output& output : node.outputs) key += output.kind == ValueInfo::Kind::absent ? '-' : '+';
      key += node.name;  // which errors show
      key += '.';
    }
    for (const LazyNode* node : wanted_) append(key, node->place);
  }

  [[gnu::cold]] std::shared_ptr<Form> make_form() {
    auto form = std::make_shared<Form>();
    form->runtime = current_runtime();
    form->operators = operators_;
    form->graph = std::make_unique<Graph>();
    Graph& graph = *form->graph;
    graph.source = "expression";
    std::vector<Value*> given;
    for (size_t i = 0; i < leaves_.size(); ++i) {
      const Output& output = output_of(*leaves_[i].value);
      const std::string name = format("input {}", i);
      if (leaves_[i].weight) {
        given.push_back(&graph.add_constant(output.tensor, name));
        form->weights.push_back(leaves_[i].value->node);
      } else {
        given.push_back(&graph.add_input(name, output.tensor ? ValueType::tensor(output.dtype, output.tensor.shape()) : type_of(output)));
      }
    }
    std::vector<std::vector<Value*>> made;
    const auto own_output = [&](Value& value) {  // that stands for no other
      const bool is_free = value.producer() && !value.is_graph_output();
      graph.add_output(is_free ? value : *graph.add_node("Identity", {&value}).output(0));
    };
    std::vector<Value*> next;  // of states
    for (const auto* pointer : nodes_) {
      const LazyNode& node = **pointer;
      std::vector<Value*> inputs;
      for (const LazyValue& input : node.inputs)
        inputs.push_back(!input ? nullptr : is_pending(input) ? made[input.node->place][input.output] : given[leaf(input)]);
      if (node.kind == LazyNode::Kind::step) {
        const auto results = inputs.begin() + static_cast<ptrdiff_t>(node.outputs.size());
        next.insert(next.end(), results, results + static_cast<ptrdiff_t>(state_count(node)));
        made.emplace_back(inputs.begin(), results);
        continue;
      }
      std::vector<std::string> names;
      const std::string stem = node.name.empty() ? format("{} {}", node.op->name, made.size()) : node.name;
      for (size_t i = 0; i < node.outputs.size(); ++i)
        names.push_back(node.outputs[i].kind == ValueInfo::Kind::absent ? std::string() : i == 0 ? stem : format("{}:{}", stem, i));
      const Node& emitted = emit(graph, node, inputs, names, stem);
      made.emplace_back();
      for (size_t i = 0; i < node.outputs.size(); ++i) made.back().push_back(emitted.output(i));
    }
    for (const LazyNode* node : wanted_)
      for (Value* output : made[node->place])
        if (output) own_output(*output);
    for (Value* value : next) own_output(*value);
    forget_gradient_rules(graph);
    const OperatorSet& operators = operators_ ? *operators_ : OperatorSet::builtin();
    if (const GraphRewriter rewrite = expression_rewriter().load()) {
      infer_static_types(operators, graph);
      rewrite(operators, graph);
    }
    infer_types(operators, graph);
    form->context.threads = form->runtime->threads;
    form->account = std::make_shared<MemoryAccount>(form->runtime->options.memory_limit);
    form->context.environment.wanted_backends = form->runtime->wanted_backends;
    form->context.plan_with(operators, form->runtime->backends, form->packed, form->runtime->options.memory_limit);
    return form;
  }

  void check_states(std::span<const Tensor> next) {
    for (const auto* step : steps_)
      for (const LazyValue& state : states_of(**step)) {
        const Tensor& value = next.front();
        next = next.subspan(1);
        if (!value || !takes(*state.node, value.dtype(), value.shape()))
          throw InvalidArgument("the state \"{}\" is {}{}, its next value is {}{}", output_of(state).name, output_of(state).dtype,
                                state.node->dims, value.dtype(), value.shape());
      }
  }

  void run(Form& form, Executor& executor) {
    thread_local std::vector<Slot> slots;
    thread_local std::vector<const Slot*> live_ins;
    // A run may begin another (a custom operator that computes expressions): then these are in use.
    std::vector<Slot> my_slots = std::move(slots);
    std::vector<const Slot*> my_live_ins = std::move(live_ins);
    my_slots.resize(std::max(my_slots.size(), leaves_.size()));
    my_live_ins.clear();
    size_t used = 0;
    for (const Leaf& leaf : leaves_) {
      if (leaf.weight) continue;
      Slot& slot = my_slots[used++];
      const Output& output = output_of(*leaf.value);
      if (output.kind == ValueInfo::Kind::tensor)
        slot.view = output.tensor.view();
      else
        slot.datum = *output.datum;
      my_live_ins.push_back(&slot);
    }
    size_t count = 0;
    for (const LazyNode* node : wanted_)
      for (const Output& output : node->outputs) count += output.kind != ValueInfo::Kind::absent;
    const size_t values_of_wanted = count;
    for (const auto* step : steps_) count += state_count(**step);
    std::vector<Tensor> tensors(count);
    {
      const ChargeTo session(form.account);
      executor.run(my_live_ins, [&](size_t k, DType dtype, const Shape& shape) -> void* {
        std::shared_ptr<void> memory = allocate_value(static_cast<size_t>(shape.elements()) * size_of(dtype));
        void* place = memory.get();
        tensors[k] = Tensor(dtype, shape, place, std::move(memory));
        return place;
      });
    }
    check_states(std::span(tensors).last(tensors.size() - values_of_wanted));
    const uint64_t epoch = steps_.empty() ? LazyNode::current_epoch.load(std::memory_order_relaxed) : LazyNode::next_epoch();
    size_t k = 0;
    for (LazyNode* node : wanted_) {
      for (Output& output : node->outputs) {
        if (output.kind == ValueInfo::Kind::absent) continue;
        if (tensors[k]) {
          output.kind = ValueInfo::Kind::tensor;
          output.dtype = tensors[k].dtype();
          if (!node->fed_by_others) output.shape_known = true, output.shape = tensors[k].shape();
          output.tensor = std::move(tensors[k]);
          output.memory_is_ours = true;
        } else {
          output.datum = std::make_shared<Datum>(copy_of(executor.output(k).datum));
        }
        ++k;
      }
      node->set_computed();
      node->epoch = epoch;
      node->pending = 0;
    }
    for (const auto* step : steps_)
      for (const LazyValue& state : states_of(**step)) output_of(state).tensor = std::move(tensors[k++]);
    for (size_t i = 0; i < used; ++i) my_slots[i].datum = {};
    slots = std::move(my_slots);
    live_ins = std::move(my_live_ins);
    // Computed nodes drop their expressions, unless these may be computed again, saved or differentiated.
    std::vector<std::vector<LazyValue>> dropped;
    for (LazyNode* node : wanted_)
      if (!node->keeps_inputs) dropped.push_back(std::move(node->inputs)), node->inputs.clear();
  }

  struct PairHash {
    size_t operator()(const std::pair<const LazyNode*, uint32_t>& pair) const noexcept {
      return std::hash<const LazyNode*>()(pair.first) * 31 + pair.second;
    }
  };

  std::span<const LazyValue> roots_;
  uint64_t mark_ = 0;
  std::vector<const std::shared_ptr<LazyNode>*> nodes_;
  std::vector<Leaf> leaves_;
  std::unordered_map<std::pair<const LazyNode*, uint32_t>, uint32_t, PairHash> leaf_places_;
  std::vector<LazyNode*> wanted_;
  std::vector<const std::shared_ptr<LazyNode>*> steps_;
  std::shared_ptr<const OperatorSet> operators_;
};

}  // namespace

void evaluate(std::span<const LazyValue> roots) {
  for (;;) {
    Expression expression(roots);
    if (expression.empty()) return;
    if (const LazyValue weight = expression.unready_weight()) {
      evaluate(weight);
      continue;
    }
    if (const std::vector<LazyValue> steps = expression.earlier_steps(); !steps.empty()) {
      for (const LazyValue& step : steps) evaluate(step);
      continue;
    }
    return expression.run();
  }
}

const Tensor& tensor_of(const LazyValue& value) {
  evaluate(value);
  const Output& output = output_of(value);
  if (!output.tensor)
    throw InvalidArgument("a {} is read as a tensor; use datum()",
                          output.kind == ValueInfo::Kind::sequence ? "sequence" : "missing optional");
  return output.tensor;
}

}  // namespace minnow::express

namespace minnow::expr {

CacheCounts cache_counts() {
  express::Cache& cache = express::Cache::instance();
  const std::lock_guard lock(cache.mutex);
  return {cache.hits, cache.misses, cache.forms.size()};
}

void clear_cache() {
  express::Cache& cache = express::Cache::instance();
  const std::lock_guard lock(cache.mutex);
  cache.forms.clear();
  cache.hits = cache.misses = 0;
  express::release_kept_memory();
}

}  // namespace minnow::expr
