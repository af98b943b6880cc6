// SPDX-License-Identifier: Apache-2.0
// Whole networks with random weights, for tests that want a model's structure: as exporters write them, before any pass.
#pragma once
#include <memory>
#include <string_view>

#include "graph/graph.h"

namespace minnow::test {

/// "mobilenet_v1", "squeezenet_1_1", "resnet_18" of the usual widths; input "data" [1, 3, size, size], output [1, 1000].
std::unique_ptr<Graph> make_network(std::string_view name, int64_t size);
inline constexpr std::string_view kNetworks[] = {"mobilenet_v1", "squeezenet_1_1", "resnet_18"};

}  // namespace minnow::test
