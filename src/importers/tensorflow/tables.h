// SPDX-License-Identifier: Apache-2.0
// The contents of lookup tables that are filled once, when a model is loaded.
#pragma once
#include <map>

#include "importers/tensorflow/graph_def.h"

namespace minnow::tensorflow {

/// The constants that hold a table's keys and values.
struct TableContents {
  const NodeDef *keys = nullptr, *values = nullptr;
};

/// Returns the tables by the names of their nodes (HashTableV2). Tables that are filled from a file, or with computed values, are not
/// included.
std::map<std::string_view, TableContents> find_tables(const GraphDef& graph);

/// True for an operator that fills a table.
bool fills_table(std::string_view op);

}  // namespace minnow::tensorflow
