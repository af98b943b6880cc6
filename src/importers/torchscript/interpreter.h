// SPDX-License-Identifier: Apache-2.0
// Interprets a TorchScript program with values of a graph as tensors. Decisions that depend only on constants are made at once, methods and
// submodules are inlined, and decisions that depend on data become If and Loop.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "importers/importer.h"
#include "importers/refusals.h"
#include "importers/torchscript/call.h"
#include "importers/torchscript/pickle.h"
#include "importers/torchscript/program.h"
#include "importers/unique_names.h"
#include "ops/evaluate.h"

namespace minnow::torchscript {

/// Thrown where the program raises an error whatever the data are.
struct Raised {
  std::string message;
};
/// Thrown when the importer needs to know the rank of a model input: one of `ranks`, or any if that is empty.
struct RankNeeded {
  std::string input;
  Ints ranks;
};

/// Thrown where an input that was taken for floats holds integers.
struct IntegersNeeded {
  std::string input;
};

class Interpreter final : public Host {
 public:
  Interpreter(Program& program, Graph& graph, const OperatorSet& operators, SizeTable& sizes, Refusals& refusals, ObjectStore& store,
              std::string source, std::function<void(const std::string&)> warn, int64_t version);

  void set_constants(Items constants) { constants_ = std::move(constants); }
  /// Restores objects with the method of their class, such as opaque quantized weights.
  void restore(const Item& root);
  Item call(const std::shared_ptr<Function>& function, Items arguments, const std::string& path);
  /// Objects that were made before `born` and were changed since the beginning.
  std::vector<std::shared_ptr<Object>> changed(uint64_t born) const;
  const Object* before(const Object& object) const;
  TypedBuilder& builder() noexcept { return *p_; }
  /// The tensor or number as a value of the graph, with its own dimensions: for outputs.
  Expr output(const Item& item);
  std::string unique(std::string name) { return names_.make(std::move(name)); }
  /// Sets the counter of work, so that several attempts share one limit.
  void count_steps_in(size_t& steps) { steps_ = &steps; }

  Expr expr(const Item& tensor) override;
  void touch(const std::shared_ptr<Object>& object) override;
  void write(const std::shared_ptr<TensorObject>& tensor, const Expr& value) override;
  Item keep(Item item) override { return store_.keep(item); }
  int64_t rank(const Expr& x) override;
  void expect_rank(const Expr& x, std::initializer_list<int64_t> ranks) override;
  void expect_integers(const Expr& x) override;
  void warn(const std::string& sentence) override { warn_(sentence); }
  int64_t version() const override { return version_; }
  void spend(size_t steps) override;

 private:
  struct Frame {
    std::unordered_map<std::string, Item> variables;
    std::string path;  // of the module whose method this is
    Item result;
    bool done = false;
  };
  /// A graph inside the graph that is being built, and the results of following a block in it.
  struct Inner {
    std::unique_ptr<InnerGraph> body;
    std::unordered_map<std::string, Item> variables;
    std::vector<std::pair<std::shared_ptr<Object>, std::shared_ptr<Object>>> changes;  // objects and their contents afterwards
    bool raised = false;
    std::string message;
  };
  struct Joiner;
  struct Deeper;
  struct LoopShape;
  struct Leaf;

  // Statements.
  void run(const Block& block, Frame& frame);
  void run(const Statement& statement, Frame& frame);
  void assign(const Syntax& target, const Item& item, Frame& frame);
  void branch(const Statement& statement, Frame& frame);
  Inner follow(const Block& block, Frame& frame);
  template <class F>
  void inside(Inner& inner, F&& body);
  Expr raised_rank(Inner& inner, const Expr& nothing, const Expr& other);
  void counted(const Statement& statement, Frame& frame);
  void repeated(const Statement& statement, Frame& frame);
  void loop(const Statement& statement, Frame& frame, const Item& count);
  bool carry(const Statement& statement, Frame& frame, const Item& count, LoopShape& shape);
  Item widened(const Item& item, LoopShape& shape, const std::string& label);
  void widen_state(Object& object, LoopShape& shape, const std::string& label);
  int64_t element_rank(const ListObject& list);
  bool gather(const Item& before, const Item& after, LoopShape& shape, const std::string& label, Exprs& outputs);
  bool gather_state(const Object& before, const Object& after, LoopShape& shape, const std::string& label, Exprs& outputs);

  // Expressions.
  Item evaluate(const Syntax& syntax, Frame& frame);
  Item evaluate_call(const Syntax& syntax, Frame& frame);
  Item special(const std::string& name, const Syntax& syntax, Frame& frame, bool& known);
  Item global(const std::string& name, Frame& frame);
  Item attribute(const Item& item, const std::string& name, Frame& frame);
  Item index(const Item& item, const Item& at, Frame& frame);
  Item make(const std::string& class_name, const Items& arguments, Frame& frame);
  Item call_method(const Item& object, const std::string& method, const Items& arguments, Frame& frame);
  Item apply(std::string op, Items positional, const std::vector<std::string>& names, Items named, Frame& frame);
  Item apply_to_parts(const std::string& op, const Items& positional, const std::vector<std::string>& names, const Items& named,
                      Frame& frame);
  static bool holds_complex(const Items& items);
  Item apply_rule(const Signature& signature, Items arguments, const std::string& place, bool in_place);
  Item annotated(const std::string& type, const Item& item, Frame& frame);
  Item truth(const Item& item, Frame& frame);
  Expr condition(const Item& truth) { return p_->reshape(p_->wrap(truth.symbol()), Ints{}); }
  bool is_instance(const Item& item, const std::string& type);
  void attach_views(Item& result, const Signature& signature, const Items& arguments, const std::string& place);
  void refresh(const std::shared_ptr<TensorObject>& tensor);
  void fold(Item& item, int depth = 0);
  Expr folded(const Expr& x);
  std::string place(const Frame& frame, std::string_view op) const;
  [[noreturn]] void fail(const Frame& frame, std::string_view what) const;
  [[noreturn]] void refuse(const Frame& frame, std::string_view what) const;

  Program& program_;
  Graph& graph_;
  const OperatorSet& operators_;
  const ConstantEvaluator evaluator_{operators_, ConstantEvaluator::kFewElements};
  SizeTable& sizes_;
  Refusals& refusals_;
  ObjectStore& store_;
  std::string source_;
  std::function<void(const std::string&)> warn_;
  int64_t version_;
  TypedBuilder root_;
  TypedBuilder* p_ = nullptr;
  Items constants_;
  std::vector<std::pair<std::shared_ptr<Object>, std::shared_ptr<Object>>> journal_;  // objects and their contents before
  std::vector<std::unordered_map<const Object*, size_t>> marks_;                      // the journal's entries since each mark
  std::vector<size_t> mark_starts_;
  UniqueNames names_;
  std::string stem_;
  int nesting_ = 0;  // of statements and expressions in each other, through all calls
  size_t own_steps_ = 0, *steps_ = &own_steps_;
  uint32_t line_ = 0;

  void mark();
  /// Undoes all changes since the last mark and returns the objects with the contents that were undone.
  std::vector<std::pair<std::shared_ptr<Object>, std::shared_ptr<Object>>> roll_back();
};

}  // namespace minnow::torchscript
