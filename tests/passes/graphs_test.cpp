// SPDX-License-Identifier: Apache-2.0
// Each pass as graphs before and after, in text. graphs/PASS.txt holds cases of the form
//
//   # A sentence about the case.
//   passes: PASS remove_dead_code     where more than PASS runs
//   tolerance: 0.02                   of the outputs' numbers, if it is not 1e-4
//   graph { ... }                     before
//   =>
//   graph { ... }                     after
//
// Constants named "random..." get random elements; constants of more than 8 elements are omitted afterwards ("..."). Names made by passes
// ("w#7") are numbered again, in the order of the text. With MINNOW_WRITE_GRAPHS=1 the test writes the results of the passes into the
// files; look at the difference before you keep it.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>

#include "passes/pipeline.h"
#include "support/passes.h"
#include "support/paths.h"

namespace minnow::test {
namespace {

constexpr size_t kInlineElements = 8;

struct GraphCase {
  std::string title, passes, before, after;
  std::string tolerance = "1e-4";
};

std::filesystem::path file_of(std::string_view pass) { return source_dir() / "tests" / "passes" / "graphs" / (std::string(pass) + ".txt"); }

std::vector<GraphCase> read_cases(std::string_view pass) {
  std::vector<GraphCase> cases;
  std::ifstream file(file_of(pass));
  bool after = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("# ")) {
      if (cases.empty() || !cases.back().before.empty()) cases.emplace_back(), after = false;
      cases.back().title += line + "\n";
    } else if (line.starts_with("passes: ")) {
      cases.back().passes = line.substr(8);
    } else if (line.starts_with("tolerance: ")) {
      cases.back().tolerance = line.substr(11);
    } else if (line == "=>") {
      after = true;
    } else if (!line.empty()) {
      (after ? cases.back().after : cases.back().before) += line + "\n";
    }
  }
  return cases;
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    found.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return found;
}

// Which number a pass gives to a name depends on how many it made and dropped before.
std::string renumbered(const std::string& text) {
  std::string made;
  std::map<std::string, size_t> counts;
  std::map<std::string, std::string> names;
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '#' || c == '\''; };
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_part(text[end])) ++end;
    const std::string word = text.substr(at, end - at);
    if (const size_t number = word.find('#'); number != std::string::npos) {
      const auto [found, is_new] = names.try_emplace(word);
      const std::string base = word.substr(0, number);
      if (is_new) found->second = base + "#" + std::to_string(++counts[base]);
      made += found->second;
    } else {
      made += word;
    }
    if (end < text.size()) made += text[end];
    at = end + 1;
  }
  return made;
}

class PassGraphs : public testing::TestWithParam<std::string_view> {};

TEST_P(PassGraphs, before_and_after) {
  const std::string_view pass = GetParam();
  std::vector<GraphCase> cases = read_cases(pass);
  ASSERT_FALSE(cases.empty()) << file_of(pass) << " should show what the pass does";
  for (GraphCase& one : cases) {
    SCOPED_TRACE(one.title);
    const Rewrite r = rewrite(one.before, one.passes.empty() ? std::vector{pass} : words(one.passes));
    EXPECT_TRUE(numbers_stay(r, std::stod(one.tolerance)));
    const std::string got = renumbered(to_text(*r.after, kInlineElements));
    if (std::getenv("MINNOW_WRITE_GRAPHS"))
      one.after = got;
    else
      EXPECT_EQ(got, one.after);
  }
  if (!std::getenv("MINNOW_WRITE_GRAPHS")) return;
  std::ofstream file(file_of(pass));
  for (const GraphCase& one : cases)
    file << (&one == &cases[0] ? "" : "\n") << one.title << (one.passes.empty() ? "" : "passes: " + one.passes + "\n")
         << (one.tolerance == "1e-4" ? "" : "tolerance: " + one.tolerance + "\n") << one.before << "=>\n"
         << one.after;
}

std::vector<std::string_view> names_of_passes() {
  std::vector<std::string_view> names;
  for (const Pass& pass : all_passes()) names.push_back(pass.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(EveryPass, PassGraphs, testing::ValuesIn(names_of_passes()),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace minnow::test
