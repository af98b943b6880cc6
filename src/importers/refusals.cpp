// SPDX-License-Identifier: Apache-2.0
#include "importers/refusals.h"

#include "base/error.h"

namespace minnow {

constexpr size_t kMostSentences = 20;

std::string located(const std::string& source, std::string_view place, std::string_view sentence) {
  if (sentence.starts_with(source) && sentence.substr(source.size()).starts_with(": ")) return std::string(sentence);
  if (sentence.starts_with("node ")) return format("{}: {}", source, sentence);
  return format("{}: {}", place, sentence);
}

void Refusals::add_thrown(const std::string& source, std::string_view place, std::string_view sentence) {
  add(located(source, place, sentence).substr(source.size() + 2));
}

void Refusals::add_missing(const std::string& op, std::string_view node) {
  Missing& missing = missing_[op];
  ++missing.count;
  if (missing.named.size() < most_named_) missing.named.emplace_back(node);
}

void Refusals::throw_if_any(const std::string& source) const {
  if (empty()) return;
  std::string list;
  for (const auto& [op, missing] : missing_) {
    list += format("{}{} ({}{} ", list.empty() ? "" : "; ", op.substr(0, 200), nodes_, missing.count == 1 ? "" : "s");
    for (size_t i = 0; i < missing.named.size(); ++i) list += format("{}\"{}\"", i ? ", " : "", missing.named[i]);
    if (missing.count > missing.named.size()) list += format(" and {} more", missing.count - missing.named.size());
    list += ')';
  }
  for (size_t i = 0; i < sentences_.size() && i < kMostSentences; ++i) list += (list.empty() ? "" : "; ") + sentences_[i];
  if (!missing_.empty() && !advice_.empty()) list += "; " + advice_;
  const std::string_view article = operators_.starts_with('o') ? "an" : "a";
  throw Unsupported("{}: {} not supported: {}", source,
                    size() == 1 ? format("{} {} is", article, operators_) : format("{}s are", operators_), list);
}

}  // namespace minnow
