// SPDX-License-Identifier: Apache-2.0
// Operators from shared libraries, through the C tables of <minnow/minnow_c.h>.
#pragma once
#include <minnow/minnow_c.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/operator.h"

namespace minnow {

/// Services of the engine that only a scheme's call can ask for.
struct SchemeServices {
  virtual int threads() const noexcept = 0;
  virtual int precision() const noexcept = 0;
  virtual double flop_time(double operations, double efficiency) const noexcept = 0;
  virtual double byte_time(double bytes) const noexcept = 0;
  virtual void* scratch() const noexcept = 0;
  virtual void parallel_for(size_t tasks, FunctionRef<void(size_t)> task) const noexcept = 0;

 protected:
  ~SchemeServices() = default;
};

}  // namespace minnow

// One call of a custom operator's function: what the functions of minnow_op_api work on.
struct minnow_op_call {
  static constexpr size_t kNothing = ~size_t{0};
  const minnow::NodeView* node;
  minnow::KernelArgs* args = nullptr;                // of compute
  const minnow::SchemeServices* services = nullptr;  // of a scheme's functions
  std::vector<minnow_tensor> inputs = {}, outputs = {};
  std::string failure = {};
  size_t needed = kNothing;  // the input whose contents are needed
};

namespace minnow {

const minnow_op_api& custom_op_api();
/// The table of a custom operator.
const minnow_custom_op& custom_op_table(const Operator& op);
/// The schemes of a custom operator.
std::span<const minnow_op_scheme* const> custom_op_schemes(const Operator& op);
/// As a call sees a value; `data` may be null.
minnow_tensor describe_for_call(const ValueInfo& info, const void* data);

/// The built-in operators and those of the libraries, which stay loaded as long as the set lives.
/// Throws IoError for a library that cannot be loaded, InvalidArgument for one that exports no operators of this ABI version.
/// `more`: operators of this process, which live as long as it does.
std::shared_ptr<const OperatorSet> load_custom_operators(const std::vector<std::string>& libraries,
                                                         std::span<const minnow_custom_op* const> more = {});

}  // namespace minnow
