// SPDX-License-Identifier: Apache-2.0
#include "importers/driver.h"

#include <stdexcept>

#include "importers/finish.h"

namespace minnow {

std::unique_ptr<Graph> read_as(std::string_view what, const std::string& source, FunctionRef<std::unique_ptr<Graph>()> import) {
  try {
    return import();
  } catch (const Malformed& error) {
    throw InvalidModel("{}: is not a valid {}: {}", source, what, error.what);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {}
  throw out_of_memory("{}: there is not enough memory to read it", source);
}

ImportDriver::ImportDriver(std::string source, const OperatorSet& operators, Refusals refusals)
    : source_(std::move(source)), operators_(operators), graph_(std::make_unique<Graph>()), refusals_(std::move(refusals)) {
  graph_->source = source_;
}

std::optional<Exprs> ImportDriver::build(const ForeignNode& node, FunctionRef<Exprs()> rule) {
  try {
    return rule();
  } catch (const Unsupported& error) {
    refusals_.add_thrown(source_, node.place, error.what());
  } catch (const InvalidModel& error) {
    // A failure that a stand-in leads to is no fault of the file.
    if (refusals_.empty()) throw InvalidModel("{}", located(source_, node.place, error.what()));
  }
  return {};
}

Exprs ImportDriver::stand_ins(TypedBuilder& builder, std::string_view op, size_t count) { return builder.ops(op, {}, count); }

void ImportDriver::name_outputs(TypedBuilder& builder, const Node* before, const Exprs& made, FunctionRef<std::string(size_t)> name) {
  std::unordered_set<const Value*> fresh = values_made_after(builder.graph(), before);
  for (size_t i = 0; i < made.size(); ++i) {
    if (!made[i]) continue;
    if (fresh.erase(made[i].value())) made[i].value()->rename(unique(name(i)));
    builder.infer(made[i]);
  }
}

std::string ImportDriver::inner_prefix(const std::string& outer, std::string_view name) {
  constexpr size_t kMostCharacters = 250;
  std::string prefix = outer + std::string(name.substr(0, 100)) + "/";
  if (prefix.size() > kMostCharacters) prefix.erase(0, prefix.size() - kMostCharacters);
  return prefix;
}

std::unique_ptr<Graph> ImportDriver::finish(std::string_view format, std::string producer) {
  if (graph_->outputs().empty()) throw InvalidModel("{}: has no outputs", source_);
  graph_->metadata.source_format = format;
  if (!producer.empty()) graph_->metadata.producer = std::move(producer);
  finish_import(*graph_, operators_);
  return std::move(graph_);
}

}  // namespace minnow
