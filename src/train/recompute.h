// SPDX-License-Identifier: Apache-2.0
// Activations that are computed again in the backward pass instead of being kept.
#pragma once
#include "ops/operator.h"

namespace minnow::train {

/// Moves nodes that only lead to outputs, such as gradients of weights, to where their inputs are there: activations that they read last
/// are free before the gradients of activations are made.
void move_gradients_forward(Graph& graph, const OperatorSet& operators);

/// Rewrites the graph of a training step, whose inputs have shapes and whose output 0 is the loss, so that the values between its nodes
/// take at most about `bytes` at a time: values of the forward pass are dropped behind their last use there, and nodes that compute them
/// again are inserted before their first use behind the loss. Chooses by bytes saved for the time that it costs. Returns an estimate of the
/// bytes that the result needs, which may be more than asked for.
size_t recompute(Graph& graph, const OperatorSet& operators, size_t bytes);

}  // namespace minnow::train
