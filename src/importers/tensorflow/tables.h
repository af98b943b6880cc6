// SPDX-License-Identifier: Apache-2.0
// Lookup tables that are filled once, when a model is loaded: what they are filled with.
#pragma once
#include <map>

#include "importers/tensorflow/graph_def.h"

namespace minnow::tensorflow {

/// The constants that hold a table's keys and values.
struct TableContents {
  const NodeDef *keys = nullptr, *values = nullptr;
};

/// By the names of the nodes that are the tables (HashTableV2). Tables that are filled from a file, or with what is computed, are not
/// there.
std::map<std::string_view, TableContents> find_tables(const GraphDef& graph);

/// True for an operator that fills a table.
bool fills_table(std::string_view op);

}  // namespace minnow::tensorflow
