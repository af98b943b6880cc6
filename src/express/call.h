// SPDX-License-Identifier: Apache-2.0
// A call of an operator as the generated functions of <minnow/operators.h> write it. All of it is out of line, as there are hundreds of
// them.
#pragma once
#include <atomic>

#include "express/node.h"

namespace minnow::express {

/// A function's cache of its operator, which is looked up at the first call.
using Site = std::atomic<const Operator*>;

class Call {
 public:
  Call(Site& site, const char* op);
  ~Call();

  void set(const char* name, int64_t value);
  void set(const char* name, float value);
  void set(const char* name, DType value);
  void set(const char* name, const std::string& value);
  void set(const char* name, const Tensor& value);
  void set(const char* name, const std::vector<int64_t>& value);
  void set(const char* name, const std::vector<float>& value);
  void set(const char* name, const std::vector<std::string>& value);
  /// Sets an option if it differs from the default; the overloads for optional values set it if it is present.
  void option(const char* name, int64_t value, int64_t fallback);
  void option(const char* name, float value, float fallback);
  void option(const char* name, DType value, DType fallback);
  void option(const char* name, const std::string& value, const char* fallback);
  void option(const char* name, const std::optional<int64_t>& value);
  void option(const char* name, const std::optional<float>& value);
  void option(const char* name, const Tensor& value);
  void option(const char* name, const std::vector<int64_t>& value);
  void option(const char* name, const std::vector<float>& value);
  void option(const char* name, const std::vector<std::string>& value);

  void add(Var&& input);
  void add(Vars&& inputs);
  Var one();
  Vars many(size_t outputs);

 private:
  CallRequest request_;
};

/// The first output of an operator without attributes. The inputs are moved from.
Var call_of(Site& site, const char* op, std::initializer_list<Var*> inputs);

}  // namespace minnow::express
