// SPDX-License-Identifier: Apache-2.0
// The end of an import.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "importers/builder/typed_builder.h"
#include "importers/unique_names.h"

namespace minnow {

/// Makes the values outputs of the graph under these names; a name that an input or an output before it has gets a number.
void add_named_outputs(TypedBuilder& builder, const std::vector<std::pair<std::string, Expr>>& outputs, UniqueNames& names);

/// Escapes (printable()) characters in names of values, nodes, graphs and dimensions, and in the metadata, that terminals and other
/// languages than C could not show.
void make_names_printable(Graph& graph);

/// Constants that nobody uses go, and the names of dimensions that were made while importing; weights without names get those of their
/// layers; types are inferred, the graph is verified.
void finish_import(Graph& graph, const OperatorSet& operators);

}  // namespace minnow
