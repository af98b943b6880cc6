// SPDX-License-Identifier: Apache-2.0
// Expressions are planned for by a part of the library that does not know the passes; who links both may set what rewrites their graphs.
#pragma once
#include <atomic>

namespace minnow {

class Graph;
class OperatorSet;

/// Rewrites a graph whose types are inferred, for the shapes that they say. Called from many threads, each with a graph of its own.
using GraphRewriter = void (*)(const OperatorSet& operators, Graph& graph);
/// The one for expressions, which are planned once and run a few times; null: none.
std::atomic<GraphRewriter>& expression_rewriter() noexcept;
/// The one for steps of training, which run many times; null: none.
std::atomic<GraphRewriter>& step_rewriter() noexcept;

}  // namespace minnow
