// SPDX-License-Identifier: Apache-2.0
// An optimizer as data: a row of the table in rules.cpp. Its arithmetic is in two places of a family's file: coefficients, computed once
// for a tensor and step in f64, and loops over elements, compiled for each instruction set (loops.inc).
#pragma once
#include <minnow/optimizer.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/tape.h"

struct minnow_custom_optimizer;

namespace minnow::train {

inline constexpr size_t kMostStates = 8, kMostScalars = 6, kMostSums = 4, kMostCoefficients = 24;
inline constexpr size_t kMostHistory = 1000;    // of pairs of L-BFGS
inline constexpr size_t kBlock = 256;           // elements that share the scale of an 8-bit state
inline constexpr int64_t kChunk = 64 * kBlock;  // elements of one task: its streams stay within the L2 cache

/// The coefficients that every loop over elements begins with: g = scale clamp(g, low, high) + decay w; w -= shrink w.
enum : size_t { kScale, kLow, kHigh, kDecay, kShrink, kOwn };

/// Elements of one tensor, and what a loop over them needs.
struct Chunk {
  size_t count;
  void* w;
  const void* g;
  void* s[kMostStates];
  const void* c;  // coefficients, of the tensor's dtype
  double* sums;   // of this chunk; the loop sets as many as it has
  bool* is_bad;   // set where the gradient has a number that is not finite
};
struct Loop {
  std::string_view name;
  void (*f32)(const Chunk&);
  void (*f64)(const Chunk&);
  Tape (*tape)();  // for one element
};

/// The inputs of a rule's coefficients, computed once for each tensor, step and phase.
struct Step {
  std::span<const double> settings;  // the row's own, in its order
  int64_t t;                         // the number of this step of the tensor, from 1
  double lr, weight_decay;           // lr with the schedule's factor
  double count;                      // of elements
  bool has_curvature;                // this step
  double* scalars;                   // f64 state
  const double* sums;                // of the phase before, over the tensor
  const double* all_sums;            // ... and over all tensors of this step
  double* c;                         // to be set from kOwn on

  /// const auto [beta1, beta2] = step.own<2>();
  template <size_t n>
  std::array<double, n> own() const {
    std::array<double, n> values;
    for (size_t i = 0; i < n; ++i) values[i] = settings[i];
    return values;
  }
};

/// One pass over the elements of all tensors.
struct Phase {
  void (*coefficients)(Step& step);
  std::vector<std::string_view> loops =
      {};  // one for each combination of the row's switches: bit i of the index is switch i; "": not possible
};

/// A tensor as rules see it that look at rows, columns or whole matrices.
struct Whole {
  const Step& step;
  const Shape& shape;
  void* w;
  const void* g;
  void* s[kMostStates];
  void* scratch;  // of Rule::scratch elements
  int threads;    // 1 unless WholeLoop::own_threads
};
struct WholeLoop {
  std::string_view name;
  void (*f32)(const Whole&);
  void (*f64)(const Whole&);
  bool own_threads = false;  // it divides a tensor among threads itself; tensors come one after the other
};

/// A tensor as rules see it whose vectors are all tensors together.
struct Member {
  const Step* step;
  DType dtype;
  size_t count;
  void* w;
  const void* g;
  void* s[kMostStates];
};

struct SettingRow {
  enum class Kind : uint8_t { number, integer, flag };
  std::string name;
  Kind kind;
  double fallback;
  double low, high;
  std::string meaning;
};
inline SettingRow number(std::string name, double fallback, std::string meaning, double low = 0,
                         double high = std::numeric_limits<double>::infinity()) {
  return {std::move(name), SettingRow::Kind::number, fallback, low, high, std::move(meaning)};
}
inline SettingRow fraction(std::string name, double fallback, std::string meaning) {
  return number(std::move(name), fallback, std::move(meaning), 0, 1);
}
inline SettingRow integer(std::string name, double fallback, std::string meaning, double low = 1, double high = 1e9) {
  return {std::move(name), SettingRow::Kind::integer, fallback, low, high, std::move(meaning)};
}
inline SettingRow flag(std::string name, bool fallback, std::string meaning) {
  return {std::move(name), SettingRow::Kind::flag, fallback ? 1.0 : 0.0, 0, 1, std::move(meaning)};
}

/// State of each tensor, under the name "TENSOR.name".
struct StateRow {
  enum class Size : uint8_t {
    elements,   // as the tensor
    bytes,      // i8, as many as elements
    blocks,     // f32, one for each kBlock elements
    rows,       // the tensor without its last axis
    columns,    // the tensor without its last axis but one
    axes,       // the lengths of all axes, one after another
    history,    // one for each of setting "history" and one more
    histories,  // as the tensor, so many times
    curvature,  // no state: Trainable::curvature, or the gradient where that is absent
  };
  std::string name;
  std::string only_with = {};  // a switch of the row; "!x": without it
  std::string begin = {};      // "": 0; "weights": a copy; else the name of a setting
  Size size = Size::elements;
  enum class Of : uint8_t { all, matrices, vectors } of = Of::all;  // tensors of rank 2 and more; of rank 0 and 1
};

/// weight_decay of rules: added to the gradient, taken from the weights, or as the rule says itself. The first two are the defaults of
/// decoupled_weight_decay.
enum class Decay : uint8_t { coupled, decoupled, own };

struct Rule {
  std::string name, formula;
  double lr = 1e-3;
  Decay decay = Decay::coupled;
  double weight_decay = 0;
  std::vector<SettingRow> settings = {};
  std::vector<std::string> switches = {};  // settings: whether they are 0 chooses states and loops
  std::vector<StateRow> states = {};
  std::vector<Phase> phases = {};
  std::vector<std::string> scalars = {};  // f64 state of each tensor
  // In place of loops over elements: phases[0].coefficients, then this for each tensor.
  std::string_view whole = {};
  // In place of both: one call for all tensors.
  void (*together)(std::span<const Member> tensors) = nullptr;
  // ... for on_minimize(), where the row's setting "line_search" is on.
  void (*search)(std::span<const Member> tensors, double loss, const std::function<double()>& again) = nullptr;
  double (*whole_operations)(const Shape& shape) = nullptr;
  size_t (*scratch)(const Shape& shape) = nullptr;  // elements; null: none
  bool joint = false;                               // coefficients depend on sums over all tensors
  const minnow_custom_optimizer* table = nullptr;   // of another library: its update serves
  bool table_threads = true;                        // ... and may be called from several threads at once
};

/// The loops of all families for this machine's instruction set. Throws InternalError for a name that does not exist.
const Loop& loop_named(std::string_view name);
const WholeLoop& whole_named(std::string_view name);

/// The table of built-in optimizers.
std::span<const Rule> rules();
std::unique_ptr<Optimizer> make_optimizer(const Rule& rule, const Optimizer::Config& config);
OptimizerDescription describe(const Rule& rule);

}  // namespace minnow::train
