// SPDX-License-Identifier: Apache-2.0
// The one list of operators. A new operator is one file and one line here.
#include "ops/all.h"

namespace minnow {

// Operators that appear in gradients alone.
#if MINNOW_GRADIENTS
#define MINNOW_GRADIENT_FAMILIES(X) \
  X(batch_normalization_gradient)   \
  X(conv_gradient)                  \
  X(layer_normalization_gradient)   \
  X(pool_gradient)                  \
  X(recurrent_gradient)
#else
#define MINNOW_GRADIENT_FAMILIES(X)
#endif

// Each gives the operator, or the family, that its file defines.
#define MINNOW_OPERATOR_FAMILIES(X) \
  X(activation)                     \
  X(argmax)                         \
  X(attention)                      \
  X(audio)                          \
  X(batch_normalization)            \
  X(binary)                         \
  X(cast)                           \
  X(causal_conv)                    \
  X(channel_shuffle)                \
  X(comparison)                     \
  X(compress)                       \
  X(concat)                         \
  X(control_flow)                   \
  X(conv)                           \
  X(cumulative)                     \
  X(deform_conv)                    \
  X(determinant)                    \
  X(dropout)                        \
  X(einsum)                         \
  X(expand)                         \
  X(fill)                           \
  X(fixed_point_lstm)               \
  X(fourier)                        \
  X(fused)                          \
  X(fused_elementwise)              \
  X(gather)                         \
  X(grid)                           \
  X(identity)                       \
  X(linear_attention)               \
  X(logic)                          \
  X(look_up)                        \
  X(loss)                           \
  X(machine_learning)               \
  X(matmul)                         \
  X(nbits)                          \
  X(non_max_suppression)            \
  X(normalization)                  \
  X(norms)                          \
  X(optional)                       \
  X(optimizers)                     \
  X(pad)                            \
  X(pool)                           \
  X(quantize_linear)                \
  X(quantized)                      \
  X(random)                         \
  X(recurrent)                      \
  X(reduce)                         \
  X(reshape)                        \
  X(resize)                         \
  X(roi)                            \
  X(rotary_embedding)               \
  X(scan)                           \
  X(scatter)                        \
  X(sequence)                       \
  X(sequence_split)                 \
  X(shape)                          \
  X(singular_values)                \
  X(slice)                          \
  X(softmax)                        \
  X(space)                          \
  X(tfidf_vectorizer)               \
  X(transpose)                      \
  X(tree_ensemble)                  \
  X(unary)                          \
  X(unique)                         \
  X(unpool)                         \
  X(variadic)                       \
  MINNOW_GRADIENT_FAMILIES(X)

#define MINNOW_DECLARE(family) std::span<const Operator> family##_operators();
MINNOW_OPERATOR_FAMILIES(MINNOW_DECLARE)
#undef MINNOW_DECLARE

std::vector<const Operator*> all_operators() {
#define MINNOW_FAMILY(family) family##_operators(),
  const std::span<const Operator> families[] = {MINNOW_OPERATOR_FAMILIES(MINNOW_FAMILY)};
#undef MINNOW_FAMILY
  std::vector<const Operator*> list;
  for (const std::span<const Operator> family : families)
    for (const Operator& op : family) list.push_back(&op);
  return list;
}

}  // namespace minnow
