// SPDX-License-Identifier: Apache-2.0
// The source files of an archive, parsed when something of theirs is asked for.
#pragma once
#include <unordered_map>

#include "importers/torchscript/archive.h"
#include "importers/torchscript/script.h"

namespace minnow::torchscript {

class Program {
 public:
  explicit Program(Archive& archive) : archive_(archive) {}
  /// Finds a class by its whole name ("__torch__.torch.nn.modules.linear.Linear"); null if there is none. Throws InvalidModel for a wrong
  /// file.
  std::shared_ptr<Class> find_class(const std::string& name);
  std::shared_ptr<Function> find_function(const std::string& name);
  std::shared_ptr<Function> find_method(const std::string& class_name, std::string_view method);

 private:
  const Module* module_of(const std::string& name, std::string& last);
  Archive& archive_;
  std::unordered_map<std::string, Module> modules_;
};

}  // namespace minnow::torchscript
