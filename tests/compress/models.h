// SPDX-License-Identifier: Apache-2.0
// Models of graphs as they are, before any pass.
#pragma once
#include <minnow/convert.h>

#include <memory>
#include <string_view>

#include "graph/graph.h"

namespace minnow::compress {

inline Model model_of(std::unique_ptr<Graph> graph) {
  return convert_model(Model::from_graph(std::move(graph)), {.optimize = Optimize::none});
}
inline Model model_of(std::string_view text) { return model_of(parse_graph(text)); }

}  // namespace minnow::compress
