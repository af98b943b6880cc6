// SPDX-License-Identifier: Apache-2.0
// Every operator of the set has its function, with its documentation, in the generated header.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "ops/operator.h"
#include "support/paths.h"

namespace minnow {
namespace {

TEST(OperatorFunctions, there_is_one_for_every_operator) {
  std::ifstream file(test::binary_dir() / "generated" / "minnow" / "operators.h");
  std::ostringstream text;
  text << file.rdbuf();
  std::string header = text.str();
  // A name may be at the end of a line.
  for (size_t at; (at = header.find("\n/// ")) != std::string::npos;) header.replace(at, 5, " ");
  ASSERT_FALSE(header.empty());
  size_t functions = 0;
  for (const Operator* op : OperatorSet::builtin().list()) {
    const bool by_hand = op->name == "Constant" || std::any_of(op->attributes.begin(), op->attributes.end(), [](const AttributeSpec& a) {
                           return a.kind == AttributeKind::graph || a.kind == AttributeKind::type;
                         });
    const bool found = header.find("(" + std::string(op->name) + ")\nMINNOW_API ") != std::string::npos;
    EXPECT_NE(found, by_hand) << op->name;
    functions += found;
  }
  EXPECT_GT(functions, 190u);
}

}  // namespace
}  // namespace minnow
