// SPDX-License-Identifier: Apache-2.0
// Collects everything that an importer does not support, so that one error lists all of it.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace minnow {

/// Adds the file and the node to the sentence of an error: "FILE: node \"x\" (Op): ...". `place` is put before a sentence that has neither;
/// it begins with the file's name, `source`.
std::string located(const std::string& source, std::string_view place, std::string_view sentence);

class Refusals {
 public:
  /// The format's words for operators and nodes ("operator", "node"; "layer", "layer"), and how many nodes are named per operator.
  explicit Refusals(std::string_view operators = "operator", std::string_view nodes = "node", size_t most_named = 3)
      : operators_(operators), nodes_(nodes), most_named_(most_named) {}

  /// `op` has no rule; `node` is one of its kind.
  void add_missing(const std::string& op, std::string_view node);
  /// A rule's reason for refusing, as a whole sentence without the file's name.
  void add(std::string sentence) { sentences_.push_back(std::move(sentence)); }
  /// The message that a rule threw for the node at `place`; see located().
  void add_thrown(const std::string& source, std::string_view place, std::string_view sentence);
  /// Advice for the user about missing operators; it follows their names.
  void advise(std::string advice) { advice_ = std::move(advice); }
  /// Operators without a rule and sentences.
  size_t size() const noexcept { return missing_.size() + sentences_.size(); }
  bool empty() const noexcept { return size() == 0; }
  /// Throws Unsupported for the file `source` unless this is empty.
  void throw_if_any(const std::string& source) const;

 private:
  struct Missing {
    size_t count = 0;
    std::vector<std::string> named;  // the first few
  };
  std::string_view operators_, nodes_;
  size_t most_named_;
  std::map<std::string, Missing> missing_;
  std::vector<std::string> sentences_;
  std::string advice_;
};

}  // namespace minnow
