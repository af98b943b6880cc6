// SPDX-License-Identifier: Apache-2.0
// The factory, and the optimizers that others registered.
#include <minnow/optimizer.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/no_memory.h"
#include "base/os.h"
#include "train/custom.h"

namespace minnow {

Optimizer::Parameters::Parameters(int64_t n) try : size_(n) {
  if (n <= 0) throw InvalidArgument("Optimizer::Parameters takes a positive number of floats, not {}", n);
  if (n > std::numeric_limits<int64_t>::max() / 8) throw out_of_memory("{} floats do not fit the memory", n);
  const std::shared_ptr<void> memory = allocate_shared(static_cast<size_t>(n) * sizeof(float));
  std::memset(memory.get(), 0, static_cast<size_t>(n) * sizeof(float));
  data_ = std::shared_ptr<float>(memory, static_cast<float*>(memory.get()));
} catch (...) {
  throw_as_error();
}
Optimizer::Parameters::~Parameters() = default;
Optimizer::Parameters::Parameters(Parameters&& other) noexcept : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
Optimizer::Parameters& Optimizer::Parameters::operator=(Parameters&& other) noexcept {
  data_ = std::move(other.data_);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

double Optimizer::on_minimize(std::span<const Trainable> tensors, const std::function<double()>& loss) {
  const double value = loss();
  on_execute(tensors);
  return value;
}
double Optimizer::gradient_norm() const noexcept { return std::nan(""); }
void Optimizer::evaluate(std::span<const Trainable>, bool) {}
void Optimizer::begin(std::span<const Trainable>) { throw Unsupported("this optimizer takes all gradients together; call on_execute()"); }
void Optimizer::update(size_t, const TensorView&) { throw Unsupported("this optimizer takes all gradients together; call on_execute()"); }
void Optimizer::end() {}

namespace train {
namespace {

struct Registered {
  OptimizerFactory factory;
  const Rule* rule = nullptr;  // of a table
};
struct Registry {
  std::mutex lock;
  std::map<std::string, Registered, std::less<>> entries;
  std::deque<os::SharedLibrary> libraries;
  std::deque<Rule> rules;  // optimizers refer to them
};
Registry& registry() {
  static Registry& made = *new Registry;
  return made;
}

const Rule* built_in(std::string_view name) {
  for (const Rule& rule : rules())
    if (rule.name == name) return &rule;
  return nullptr;
}

Registered find(std::string_view name) {
  if (const Rule* rule = built_in(name)) return {nullptr, rule};
  Registry& known = registry();
  {
    const std::lock_guard guard(known.lock);
    const auto found = known.entries.find(name);
    if (found != known.entries.end()) return found->second;
  }
  const std::vector<std::string> names = optimizer_names();
  std::string all;
  for (const std::string& other : names) all += (all.empty() ? "" : ", ") + other;
  throw InvalidArgument("there is no optimizer \"{}\"{}; all are {}", name, nearest(name, names), all);
}

void check_name(const std::string& name) {
  if (name.empty()) throw InvalidArgument("an optimizer has a name that is not empty");
  if (built_in(name)) throw InvalidArgument("\"{}\" is an optimizer of Minnow; register yours under another name", name);
}

}  // namespace

Rule rule_of(const minnow_custom_optimizer* table, const std::string& where) {
  if (!table || table->struct_size < sizeof(minnow_custom_optimizer) || !table->name || !table->update)
    throw InvalidArgument("{}: an optimizer's table needs its size, a name and an update", where);
  if (table->state_count > MINNOW_MAX_OPTIMIZER_STATES)
    throw InvalidArgument("{}: optimizer \"{}\" has {} states, at most {} are possible", where, table->name, table->state_count,
                          MINNOW_MAX_OPTIMIZER_STATES);
  Rule rule{.name = table->name, .formula = table->doc ? table->doc : "", .lr = table->learning_rate, .decay = Decay::own, .table = table};
  for (size_t i = 0; i < table->setting_count; ++i) {
    const minnow_optimizer_setting& row = table->settings[i];
    rule.settings.push_back(number(row.name, row.fallback, row.meaning ? row.meaning : "", row.low, row.high));
  }
  for (size_t i = 0; i < table->state_count; ++i) rule.states.push_back({.name = table->states[i]});
  return rule;
}

void register_custom(const minnow_custom_optimizer* table, const std::string& where, bool threads) {
  Rule rule = rule_of(table, where);
  rule.table_threads = threads;
  check_name(rule.name);
  Registry& known = registry();
  const std::lock_guard guard(known.lock);
  const Rule& kept = known.rules.emplace_back(std::move(rule));
  known.entries[kept.name] = {nullptr, &kept};
}

double custom_operations(const minnow_custom_optimizer& table) { return table.operations; }

std::string run_custom(const minnow_custom_optimizer& table, DType dtype, const Shape& shape, void* w, const void* g, void* gradient,
                       std::span<void* const> states, const Step& step) {
  const int64_t count = shape.elements();
  const double scale = step.c[kScale], low = step.c[kLow], high = step.c[kHigh];
  const auto prepare = [&]<class T>(const T* from, T* to) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = static_cast<T>(scale) * std::min(std::max(from[i], static_cast<T>(low)), static_cast<T>(high));
  };
  if (dtype == DType::f32)
    prepare(static_cast<const float*>(g), static_cast<float*>(gradient));
  else
    prepare(static_cast<const double*>(g), static_cast<double*>(gradient));
  char error[512] = "";
  minnow_optimizer_call call{sizeof(minnow_optimizer_call),
                             static_cast<int32_t>(dtype),
                             static_cast<int32_t>(shape.rank()),
                             shape.begin(),
                             count,
                             w,
                             gradient,
                             states.data(),
                             step.settings.data(),
                             step.lr,
                             step.weight_decay,
                             step.t,
                             error,
                             sizeof(error)};
  if (table.update(&call, table.user) == 0) return {};
  error[sizeof(error) - 1] = 0;
  return error[0] ? error : "its update failed";
}

}  // namespace train

std::unique_ptr<Optimizer> Optimizer::create(const Config& config) try {
  const train::Registered found = train::find(config.name);
  if (found.rule) return train::make_optimizer(*found.rule, config);
  std::unique_ptr<Optimizer> made = found.factory(config);
  if (!made) throw InvalidArgument("the factory of optimizer \"{}\" returned nothing", config.name);
  return made;
} catch (...) {
  throw_as_error();
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const train::Rule& rule : train::rules()) names.push_back(rule.name);
  train::Registry& known = train::registry();
  const std::lock_guard guard(known.lock);
  for (const auto& [name, entry] : known.entries) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

OptimizerDescription describe_optimizer(std::string_view name) try {
  const train::Registered found = train::find(name);
  return found.rule ? train::describe(*found.rule) : OptimizerDescription{std::string(name), "", {}};
} catch (...) {
  throw_as_error();
}

void register_optimizer(const std::string& name, OptimizerFactory factory) try {
  train::check_name(name);
  if (!factory) throw InvalidArgument("optimizer \"{}\" needs a factory", name);
  train::Registry& known = train::registry();
  const std::lock_guard guard(known.lock);
  known.entries[name] = {std::move(factory), nullptr};
} catch (...) {
  throw_as_error();
}

std::vector<std::string> load_optimizers(const std::string& path) try {
  train::Registry& known = train::registry();
  const os::SharedLibrary* library = nullptr;
  {
    const std::lock_guard guard(known.lock);
    library = &known.libraries.emplace_back(path);
  }
  const auto list = reinterpret_cast<minnow_custom_optimizers_function>(library->symbol("minnow_custom_optimizers"));
  if (!list) throw InvalidArgument("{}: exports no minnow_custom_optimizers; see minnow/optimizer_c.h", path);
  size_t count = 0;
  const minnow_custom_optimizer* const* tables = list(MINNOW_CUSTOM_OPTIMIZER_ABI, &count);
  if (!tables) throw InvalidArgument("{}: was built for another version of optimizers than {}", path, MINNOW_CUSTOM_OPTIMIZER_ABI);
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    train::register_custom(tables[i], path, true);
    names.push_back(tables[i]->name);
  }
  return names;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow
