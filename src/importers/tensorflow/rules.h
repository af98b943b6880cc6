// SPDX-License-Identifier: Apache-2.0
// Rules that lie in files of their own beside rules.cpp, where the one table is.
#pragma once
#include "importers/tensorflow/tf_node.h"

namespace minnow::tensorflow {

// rules_lists.cpp: lists of tensors are sequences.
Exprs tensor_array(TfNode& node, Parts& p);
Exprs tensor_array_write(TfNode& node, Parts& p);
Exprs tensor_array_read(TfNode& node, Parts& p);
Exprs tensor_array_gather(TfNode& node, Parts& p);
Exprs tensor_array_scatter(TfNode& node, Parts& p);
Exprs tensor_array_concat(TfNode& node, Parts& p);
Exprs tensor_array_split(TfNode& node, Parts& p);
Exprs tensor_array_size(TfNode& node, Parts& p);
Exprs list_reserve(TfNode& node, Parts& p);
Exprs list_empty(TfNode& node, Parts& p);
Exprs list_from_tensor(TfNode& node, Parts& p);
Exprs list_get(TfNode& node, Parts& p);
Exprs list_set(TfNode& node, Parts& p);
Exprs list_stack(TfNode& node, Parts& p);
Exprs list_length(TfNode& node, Parts& p);
Exprs list_push(TfNode& node, Parts& p);
Exprs list_pop(TfNode& node, Parts& p);
Exprs list_gather(TfNode& node, Parts& p);
Exprs list_scatter(TfNode& node, Parts& p);
Exprs list_concat(TfNode& node, Parts& p);

}  // namespace minnow::tensorflow
