// SPDX-License-Identifier: Apache-2.0
// From an archive to a graph. TorchScript does not store the shapes and dtypes of inputs. If the program depends on one, the importer
// guesses a value that the program accepts, and follows the program again.
#include "importers/torchscript/importer.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "base/error.h"
#include "base/os.h"
#include "importers/driver.h"
#include "importers/finish.h"
#include "importers/source.h"
#include "importers/torchscript/interpreter.h"
#include "ops/infer.h"
#include "passes/rewrite.h"

namespace minnow {
namespace torchscript {
namespace {

using Kind = Item::Kind;

constexpr int kMostAttempts = 60;
constexpr size_t kMostListed = 1000;  // inputs of one list
// Numbers of dimensions that an input may have, the usual ones first.
constexpr int64_t kRanks[] = {4, 3, 2, 1, 5, 0, 6};

/// Assumptions about the inputs, and the attributes that a run changes.
struct Guess {
  std::map<std::string, int64_t> ranks;
  std::set<std::string> integers;
  std::map<std::string, int64_t>
      states;                    // "path.attribute", or "=" and a tensor's name; how many dimensions it has after a run (-1: unknown)
  std::set<std::string> unread;  // attributes that change, but tell no later run anything
};

class Importer {
 public:
  Importer(SharedBytes bytes, const ImportOptions& options, const std::string& source)
      : options_(options),
        operators_(options.operators ? *options.operators : OperatorSet::builtin()),
        source_(source),
        archive_(std::move(bytes), source),
        program_(archive_) {}

  std::unique_ptr<Graph> run();

 private:
  std::unique_ptr<Graph> search(Guess guess);
  std::unique_ptr<Graph> try_ranks(const Guess& guess, const std::string& name, const Ints& likely);
  std::unique_ptr<Graph> attempt(Guess& guess, bool& again);
  void find_slots(const Item& model, const Guess& guess);
  bool find_changed(Interpreter& interpreter, uint64_t born, Guess& guess);
  void set_next_states(Interpreter& interpreter, Graph& graph);
  bool find_unread(const Graph& graph, Guess& guess);
  Item input(Interpreter& interpreter, Graph& graph, const std::string& name, const std::string& type, const Guess& guess);
  void add_outputs(Interpreter& interpreter, Graph& graph, const Item& item, const std::string& name, int depth);
  void add_states(Interpreter& interpreter, Graph& graph);
  /// True if the caller gave the shape of an input, or of a tensor in it.
  bool has_shape(const std::string& name) const;
  void finish(Graph& graph);

  const ImportOptions& options_;
  const OperatorSet& operators_;
  std::string source_;
  Archive archive_;
  Program program_;
  int64_t version_ = 3;
  int attempts_ = 0;
  size_t steps_ = 0;
  size_t outputs_ = 0;
  struct StateSlot {
    std::string name;
    std::shared_ptr<Object> owner;
    std::string attribute;  // empty: the owner is the tensor itself
    int64_t rank = -1;
    size_t state = 0;
    Kind kind = Kind::tensor;
  };
  std::vector<StateSlot> slots_;
  std::set<std::string> warned_;
};

bool sounds_like_integers(std::string_view name) {
  static constexpr std::string_view kWords[] = {"ids", "mask", "token", "index", "indices", "length", "position"};
  return std::any_of(std::begin(kWords), std::end(kWords), [&](std::string_view word) { return name.find(word) != name.npos; });
}

bool Importer::has_shape(const std::string& name) const {
  if (options_.shapes.contains(name)) return true;
  const auto inner = options_.shapes.lower_bound(name + ".");
  return inner != options_.shapes.end() && inner->first.starts_with(name + ".");
}

Item Importer::input(Interpreter& interpreter, Graph& graph, const std::string& name, const std::string& type, const Guess& guess) {
  TypedBuilder& builder = interpreter.builder();
  if (type == "int" || type == "float" || type == "bool" || type == "number") {
    const DType dtype = type == "int" ? DType::i64 : type == "bool" ? DType::boolean : DType::f32;
    const Expr x = builder.wrap(&graph.add_input(interpreter.unique(name), ValueType::tensor(dtype, Shape{})));
    return Item::symbol(type == "int"    ? Kind::integer
                        : type == "bool" ? Kind::boolean
                                         : Kind::real,
                        interpreter.builder().reshape(dtype == DType::f32 ? interpreter.builder().cast(x, DType::f64) : x, Ints{1}));
  }
  if (type == "Tensor" || type.empty() || type == "Optional[Tensor]") {
    ValueType value = ValueType::tensor(guess.integers.contains(name) || sounds_like_integers(name) ? DType::i64 : DType::f32);
    const size_t place = graph.inputs().size();
    const auto named = options_.shapes.find(name);
    const Ints shape = named != options_.shapes.end()            ? Ints(named->second)
                       : place < options_.shapes_in_order.size() ? Ints(options_.shapes_in_order[place])
                                                                 : Ints();
    const auto rank = guess.ranks.find(name);
    if (named != options_.shapes.end() || !shape.empty()) {
      value.dims.emplace();
      for (int64_t size : shape) value.dims->push_back(Dim{size < 0 ? -1 : size, {}});
    } else if (rank != guess.ranks.end()) {
      value.dims = std::vector<Dim>(static_cast<size_t>(rank->second));
    }
    if (value.dims)
      for (size_t i = 0; i < value.dims->size(); ++i)
        if (Dim& dim = (*value.dims)[i]; !dim.known()) dim.symbol = name + "_" + std::to_string(i);
    return interpreter.keep(Item::tensor(builder.wrap(&graph.add_input(interpreter.unique(name), std::move(value)))));
  }
  if (type.starts_with("List[")) {  // of as many as shapes are given for
    size_t count = 0;
    while (count < kMostListed && has_shape(name + "." + std::to_string(count))) ++count;
    if (count == 0 && options_.warn && warned_.insert(name).second)
      options_.warn(format("{}: input \"{}\" is taken to be a list of one; give the shapes of \"{}.0\", \"{}.1\" ... where it has more",
                           source_, name, name, name));
    Items items;
    for (size_t i = 0; i < std::max<size_t>(count, 1); ++i)
      items.push_back(input(interpreter, graph, name + "." + std::to_string(i), type.substr(5, type.size() - 6), guess));
    return interpreter.keep(Item::list(std::move(items)));
  }
  if (type.starts_with("Dict[str,")) {  // of the keys that shapes are given for
    const size_t comma = type.find_first_not_of(' ', 9);
    const std::string inner = comma == type.npos ? std::string() : type.substr(comma, type.size() - comma - 1);
    std::set<std::string> keys;
    for (auto at = options_.shapes.lower_bound(name + "."); at != options_.shapes.end() && at->first.starts_with(name + "."); ++at)
      keys.insert(inner == "Tensor" ? at->first.substr(name.size() + 1)
                                    : at->first.substr(name.size() + 1, at->first.find('.', name.size() + 1) - name.size() - 1));
    if (keys.empty())
      throw Unsupported("{}: input \"{}\" is a dictionary whose keys the file does not name; give the shape of each (\"{}.KEY\")", source_,
                        name, name);
    auto made = std::make_shared<DictObject>();
    for (const std::string& key : keys)
      made->items.emplace_back(Item::text(key), input(interpreter, graph, name + "." + key, inner, guess));
    return interpreter.keep(Item::object(Kind::dict, std::move(made)));
  }
  if (type.starts_with("Tuple[")) {
    Items items;
    std::string part;
    int open = 0;
    for (size_t i = 6; i < type.size(); ++i) {
      const char c = type[i];
      open += c == '[' ? 1 : c == ']' ? -1 : 0;
      if ((c == ',' && open == 0) || open < 0) {
        items.push_back(input(interpreter, graph, name + "." + std::to_string(items.size()), part, guess));
        part.clear();
      } else if (c != ' ') {
        part += c;
      }
    }
    return interpreter.keep(Item::tuple(std::move(items)));
  }
  throw Unsupported("{}: input \"{}\" is of type {}; tensors, numbers, and tuples, lists and dictionaries of such are supported", source_,
                    name, type.substr(0, 200));
}

void Importer::add_outputs(Interpreter& interpreter, Graph& graph, const Item& item, const std::string& name, int depth) {
  if (depth > 20) throw Unsupported("{}: its result has tuples in each other very deep", source_);
  interpreter.spend(64);  // a shared object is visited once per reference
  const auto next = [&](const std::string& given) { return given.empty() ? "output" + std::to_string(outputs_++) : given; };
  switch (item.kind()) {
    case Kind::none:
    case Kind::text:
      return;
    case Kind::tuple:
      for (const Item& one : item.as_tuple().items) add_outputs(interpreter, graph, one, {}, depth + 1);
      return;
    case Kind::list:
      if (!item.as_list().sequence) {
        for (const Item& one : item.as_list().items) add_outputs(interpreter, graph, one, {}, depth + 1);
        return;
      }
      break;
    case Kind::dict:
      for (const auto& [key, value] : item.as_dict().items)
        add_outputs(interpreter, graph, value, key.is(Kind::text) ? key.text() : std::string(), depth + 1);
      return;
    case Kind::boolean:
    case Kind::integer:
    case Kind::real:
    case Kind::tensor:
      break;
    default:
      throw Unsupported("{}: its result is {}", source_, describe(item));
  }
  TypedBuilder& p = interpreter.builder();
  Expr x;
  if (item.is(Kind::list)) {
    x = p.op("Identity", {p.wrap(item.as_list().sequence)});
  } else if (item.is(Kind::tensor) && item.as_tensor().quantization) {
    throw Unsupported("{}: its result is a quantized tensor", source_);
  } else if (is_complex(item)) {  // pairs along a last dimension, as ONNX gives them
    x = p.concat({p.unsqueeze(p.wrap(item.as_tensor().value), {-1}), p.unsqueeze(p.wrap(item.as_tensor().imaginary), {-1})}, -1);
  } else {
    x = interpreter.output(item);
  }
  const std::string label = interpreter.unique(next(name));
  if (!x.value()->producer() || x.value()->is_graph_output()) {
    p.set_stem(label);
    x = p.op("Identity", {x});
  }
  x.value()->rename(label);
  graph.add_output(*x.value());
}

/// Attributes that the last attempt found changed become states.
void Importer::add_states(Interpreter& interpreter, Graph& graph) {
  for (StateSlot& slot : slots_) {
    Item item =
        slot.attribute.empty() ? Item::object(Kind::tensor, slot.owner) : *static_cast<InstanceObject&>(*slot.owner).find(slot.attribute);
    slot.kind = item.kind();
    Tensor initial;
    if (item.is(Kind::tensor)) {
      initial = item.as_tensor().literal;
      if (!initial) throw Unsupported("{}: \"{}\", which a run changes, does not begin as a tensor of the file", source_, slot.name);
    } else if (item.is(Kind::integer)) {
      initial = Tensor::of_i64({1}, Ints{item.integer()});
    } else if (item.is(Kind::boolean)) {
      initial = Tensor(DType::boolean, {1});
      *initial.writable().data<uint8_t>() = item.truth() ? 1 : 0;
    } else {
      initial = Tensor::of_f32({1}, std::vector<float>{static_cast<float>(item.real())});
    }
    slot.state = graph.states().size();
    State state;
    state.name = interpreter.unique(slot.name);
    state.current = nullptr;
    state.next = nullptr;
    state.initial = std::move(initial);
    graph.add_state(std::move(state));
    Value* current = graph.states()[slot.state].current;
    // The program relies on the state's rank after a run, which may differ from the initial one, such as zeros([0]).
    if (slot.kind == Kind::tensor) {
      current->type.dims.reset();
      if (slot.rank >= 0) current->type.dims = std::vector<Dim>(static_cast<size_t>(slot.rank));
    }
    const Expr x = interpreter.builder().wrap(current);
    const Item made = slot.kind == Kind::tensor ? interpreter.keep(Item::tensor(x))
                      : slot.kind == Kind::real ? Item::symbol(slot.kind, interpreter.builder().cast(x, DType::f64))
                                                : Item::symbol(slot.kind, x);
    if (slot.attribute.empty()) {
      auto& tensor = static_cast<TensorObject&>(*slot.owner);
      tensor.value = current;
    } else {
      static_cast<InstanceObject&>(*slot.owner).set(slot.attribute, made);
    }
  }
}

void Importer::finish(Graph& graph) {
  graph.metadata.source_format = "torchscript";
  graph.metadata.producer = "PyTorch";
  finish_import(graph, operators_);
}

/// Unused nodes, which following a program leaves behind.
void remove_unused(Graph& graph) {
  for (Node* node = graph.last(); node;) {
    Node* const before = node->previous();
    bool unused = true;
    for (size_t i = 0; i < node->output_count(); ++i) unused = unused && (!node->output(i) || node->output(i)->is_unused());
    if (unused) graph.remove(*node);
    node = before;
  }
}

/// For each state, whether an output depends on it.
std::vector<bool> states_read(const Graph& graph) {
  std::unordered_map<const Value*, size_t> states;
  for (size_t i = 0; i < graph.states().size(); ++i) states.emplace(graph.states()[i].current, i);
  std::vector<bool> read(graph.states().size());
  std::vector<const Value*> open(graph.outputs().begin(), graph.outputs().end());
  std::unordered_set<const Value*> seen;
  while (!open.empty()) {
    const Value* value = open.back();
    open.pop_back();
    if (!value || !seen.insert(value).second) continue;
    if (const auto state = states.find(value); state != states.end()) {
      read[state->second] = true;
      open.push_back(graph.states()[state->second].next);
    }
    const Node* node = value->producer();
    for (size_t i = 0; node && i < node->input_count(); ++i) open.push_back(node->input(i));
    if (!node) continue;
    for (const auto& [name, attribute] : node->attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute))
        for (const Value* captured : captured_values(**subgraph)) open.push_back(captured);
  }
  return read;
}

/// Maps the names of states to attributes.
void Importer::find_slots(const Item& model, const Guess& guess) {
  slots_.clear();
  std::vector<std::pair<Item, int>> open = {{model, 0}};
  std::unordered_set<const Object*> seen;
  for (size_t at = 0; at < open.size() && !guess.states.empty(); ++at) {
    const auto [item, depth] = open[at];
    if (!item.object() || !seen.insert(item.object().get()).second) continue;
    if (item.is(Kind::tensor))
      if (const auto found = guess.states.find("=" + item.as_tensor().name); found != guess.states.end())
        slots_.push_back({item.as_tensor().name, item.object(), "", found->second, 0, Kind::tensor});
    if (!item.is(Kind::instance)) continue;
    const std::string& path = item.as_instance().path;
    for (const auto& [name, value] : item.as_instance().attributes) {
      const std::string whole = path.empty() ? name : path + "." + name;
      if (const auto found = guess.states.find(whole); found != guess.states.end())
        slots_.push_back({whole, item.object(), name, found->second, 0, value.kind()});
      open.emplace_back(value, depth + 1);
    }
  }
}

/// Adds the attributes that a run changes, since object number `born`, to the guess. Returns whether there are new ones.
bool Importer::find_changed(Interpreter& interpreter, uint64_t born, Guess& guess) {
  bool found = false;
  for (const auto& object : interpreter.changed(born)) {
    const Object* before = interpreter.before(*object);
    if (const auto* instance = dynamic_cast<const InstanceObject*>(object.get())) {
      for (const auto& [name, item] : instance->attributes) {
        const Item* old = static_cast<const InstanceObject*>(before)->find(name);
        const std::string whole = instance->path.empty() ? name : instance->path + "." + name;
        const bool can = old && (old->is_number() || (old->is(Kind::tensor) && old->as_tensor().literal)) &&
                         (item.kind() == old->kind() || (item.is_number() && old->is_number()));
        if (old && old->object() && old->object() == item.object()) continue;
        if (old && old->is_known() && item.is_known() && old->real() == item.real() && old->integer() == item.integer()) continue;
        const int64_t rank = can && item.is(Kind::tensor) ? interpreter.builder().rank(interpreter.expr(item)) : -1;
        if (can && !guess.unread.contains(whole) && guess.states.emplace(whole, rank).second) found = true;
      }
    } else if (const auto* tensor = dynamic_cast<const TensorObject*>(object.get())) {
      const auto* old = static_cast<const TensorObject*>(before);
      if (!tensor->name.empty() && tensor->literal && tensor->value != old->value && tensor->version != old->version && !tensor->base &&
          !guess.unread.contains("=" + tensor->name) &&
          guess.states.emplace("=" + tensor->name, static_cast<int64_t>(tensor->literal.shape().rank())).second)
        found = true;
    }
  }
  return found;
}

void Importer::set_next_states(Interpreter& interpreter, Graph& graph) {
  for (const StateSlot& slot : slots_) {
    Expr next;
    const Value& current = *graph.states()[slot.state].current;
    TypedBuilder& p = interpreter.builder();
    p.set_stem(slot.name + ".next");
    if (slot.attribute.empty()) {
      next = interpreter.expr(Item::object(Kind::tensor, slot.owner));
    } else {
      const Item item = *static_cast<InstanceObject&>(*slot.owner).find(slot.attribute);
      next = item.is(Kind::tensor) ? interpreter.expr(item) : p.reshape(interpreter.output(item), Ints{1});
    }
    next = p.cast(next, current.type.dtype);
    if (!next.value()->producer()) next = p.op("Identity", {next});
    graph.set_state_next(slot.state, *next.value());
  }
}

/// Takes states that nothing reads out of the guess. Returns whether there are any.
bool Importer::find_unread(const Graph& graph, Guess& guess) {
  bool found = false;
  const std::vector<bool> read = states_read(graph);
  for (const StateSlot& slot : slots_) {
    if (read[slot.state]) continue;
    const std::string key = slot.attribute.empty() ? "=" + slot.name : slot.name;
    guess.states.erase(key);
    guess.unread.insert(key);
    found = true;
  }
  return found;
}

std::unique_ptr<Graph> Importer::attempt(Guess& guess, bool& again) {
  if (++attempts_ > kMostAttempts) throw Unsupported("{}: what its inputs are is not found; give their shapes", source_);
  again = false;
  outputs_ = 0;
  // The store holds objects whose functions refer to the interpreter; it goes last.
  ObjectStore store;
  const Item constants = archive_.has("constants.pkl") ? unpickle(archive_, "constants", store) : Item::tuple({});
  const Item model = unpickle(archive_, "data", store);
  if (!model.is(Kind::instance)) throw InvalidModel("{}: its object is {}, a module is expected", source_, describe(model));
  if (!constants.is(Kind::tuple)) throw InvalidModel("{}: its constants are {}, a tuple is expected", source_, describe(constants));
  auto graph = std::make_unique<Graph>();
  graph->source = source_;
  SizeTable sizes;
  Refusals refusals;
  const auto warn = [&](const std::string& sentence) {
    if (options_.warn && warned_.insert(sentence).second) options_.warn(source_ + ": " + sentence);
  };
  Interpreter interpreter(program_, *graph, operators_, sizes, refusals, store, source_, warn, version_);
  interpreter.count_steps_in(steps_);
  interpreter.set_constants(constants.as_tuple().items);
  try {
    interpreter.restore(model);
  } catch (const Raised& raised) {
    throw InvalidModel("{}: its program raises an error where its objects are restored: {}", source_, raised.message.substr(0, 300));
  }

  const std::string& class_name = model.as_instance().class_name;
  std::shared_ptr<Function> forward;
  for (const std::string_view name : {"forward", "forward__0"})
    if (!forward) forward = program_.find_method(class_name, name);
  if (!forward) throw InvalidModel("{}: its module {} has no method forward", source_, class_name.substr(0, 200));

  find_slots(model, guess);
  const uint64_t born = Object::next();
  try {
    add_states(interpreter, *graph);
    Items arguments = {model};
    for (size_t i = 1; i < forward->parameters.size(); ++i) {
      const Parameter& parameter = forward->parameters[i];
      const std::string type = type_text(parameter.type.get());
      if (parameter.fallback && !has_shape(parameter.name)) {  // called without it
        if (type == "Tensor") warn(format("input \"{}\" has a default, which is used", parameter.name));
        break;
      }
      arguments.push_back(input(interpreter, *graph, parameter.name, type, guess));
    }
    const Item result = interpreter.call(forward, std::move(arguments), "");
    again = find_changed(interpreter, born, guess);
    if (again) return nullptr;
    refusals.throw_if_any(source_);
    set_next_states(interpreter, *graph);
    for (const State& state : graph->states())
      if (state.current->type.dims && state.current->type.dims->size() != state.initial.shape().rank()) state.current->type.dims.reset();
    add_outputs(interpreter, *graph, result, {}, 0);
    if (graph->outputs().empty()) throw InvalidModel("{}: its method forward() gives no tensor", source_);
    again = find_unread(*graph, guess);
    if (again) return nullptr;
  } catch (const Raised& raised) {
    refusals.throw_if_any(source_);
    throw InvalidModel("{}: its program raises an error whatever the data are: {}", source_, raised.message.substr(0, 300));
  } catch (const InvalidModel&) {
    refusals.throw_if_any(source_);  // the missing results of refused operators may have caused the error
    throw;
  }
  for_each_graph(*graph, remove_unused);
  finish(*graph);
  return graph;
}

/// How often tensors of different ranks are added or multiplied. With the rank that the program was written for, this is rare, except with
/// constant tables.
size_t count_uneven(const Graph& graph) {
  size_t count = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op() != "Add" && node.op() != "Sub" && node.op() != "Mul" && node.op() != "Div") continue;
    const Value *a = node.input(0), *b = node.input(1);
    if (a && b && !a->constant() && !b->constant() && a->type.dims && b->type.dims && !a->type.dims->empty() && !b->type.dims->empty())
      count += a->type.dims->size() != b->type.dims->size();
  }
  return count;
}

/// Imports with the first rank that the program accepts. If the program does not restrict the rank: with the first rank for which the
/// fewest tensors of different ranks meet. If none is accepted: throws the error that names operators, else the first error.
std::unique_ptr<Graph> Importer::try_ranks(const Guess& guess, const std::string& name, const Ints& likely) {
  Ints ranks = likely;
  for (int64_t rank : kRanks)
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
  std::exception_ptr first, unsupported;
  std::unique_ptr<Graph> best;
  size_t best_uneven = 0;
  int64_t best_rank = 0;
  const auto warn = [&](int64_t rank) {
    if (likely.empty() && options_.warn)
      options_.warn(format("{}: input \"{}\" is taken to have {} dimensions; give its shape where it has others", source_, name, rank));
  };
  for (int64_t rank : ranks) {
    Guess next = guess;
    next.ranks[name] = rank;
    try {
      std::unique_ptr<Graph> graph = search(next);
      const size_t uneven = likely.empty() ? count_uneven(*graph) : 0;
      if (uneven == 0) {
        warn(rank);
        return graph;
      }
      if (!best || uneven < best_uneven) best = std::move(graph), best_uneven = uneven, best_rank = rank;
    } catch (const Unsupported&) {
      if (!unsupported) unsupported = std::current_exception();
    } catch (const InvalidModel&) {
      if (!first) first = std::current_exception();
    }
    if (attempts_ > kMostAttempts) break;
  }
  if (!best) std::rethrow_exception(unsupported ? unsupported : first);
  warn(best_rank);
  return best;
}

std::unique_ptr<Graph> Importer::search(Guess guess) {
  for (;;) {
    try {
      bool again = false;
      std::unique_ptr<Graph> graph = attempt(guess, again);
      if (!again) return graph;
    } catch (const IntegersNeeded& needed) {
      if (!guess.integers.insert(needed.input).second)
        throw InvalidModel("{}: input \"{}\" is used as floats and as indices", source_, needed.input);
    } catch (const RankNeeded& needed) {
      if (guess.ranks.contains(needed.input))
        throw Unsupported("{}: the number of dimensions of \"{}\" is not found; give its shape", source_, needed.input);
      if (needed.ranks.size() == 1) {
        guess.ranks[needed.input] = needed.ranks[0];
        continue;
      }
      return try_ranks(guess, needed.input, needed.ranks);
    }
  }
}

std::unique_ptr<Graph> Importer::run() {
  if (archive_.has_folder("data/weights/") || archive_.has("models/model.json") || archive_.has("archive_format"))
    throw Unsupported("{}: is a .pt2 archive of torch.export; save the model with torch.jit.save", source_);
  if (!archive_.has_folder("code/") || !archive_.has("data.pkl"))
    throw Unsupported("{}: holds pickled Python objects (a state_dict?), not TorchScript; save the model with torch.jit.save", source_);
  if (archive_.has("byteorder") && archive_.text("byteorder") == "big")
    throw Unsupported("{}: has the byte order of another machine", source_);
  for (const std::string_view name : {"version", ".data/version"})
    if (archive_.has(name)) {
      version_ = 0;
      for (char c : archive_.text(name))
        if (c >= '0' && c <= '9' && version_ < 1000) version_ = version_ * 10 + (c - '0');
    }
  return search({});
}

}  // namespace

std::unique_ptr<Graph> import_model(SharedBytes bytes, const ImportOptions& options, const std::string& source) {
  return read_as("TorchScript archive", source, [&] { return Importer(std::move(bytes), options, source).run(); });
}

}  // namespace torchscript

std::unique_ptr<Graph> import_torchscript(const std::string& path, const ImportOptions& options) {
  const auto file = os::MappedFile::open(path);
  return torchscript::import_model({file->bytes(), file}, options, source_of(options, name_of_file(path)));
}
std::unique_ptr<Graph> import_torchscript(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                          const ImportOptions& options) {
  return torchscript::import_model({bytes, std::move(owner)}, options, source_of(options));
}
bool looks_like_torchscript(std::span<const std::byte> bytes) { return bytes.size() >= 30 && std::memcmp(bytes.data(), "PK\3\4", 4) == 0; }

}  // namespace minnow
