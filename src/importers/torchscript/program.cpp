// SPDX-License-Identifier: Apache-2.0
#include "importers/torchscript/program.h"

#include <algorithm>

#include "base/error.h"

namespace minnow::torchscript {

const Module* Program::module_of(const std::string& name, std::string& last) {
  const size_t dot = name.rfind('.');
  if (dot == name.npos) return nullptr;
  last = name.substr(dot + 1);
  const std::string package = name.substr(0, dot);
  const auto found = modules_.find(package);
  if (found != modules_.end()) return &found->second;
  std::string path = "code/" + package;
  std::replace(path.begin(), path.end(), '.', '/');
  path += ".py";
  Module module;
  if (archive_.has(path)) module = parse_module(archive_.text(path), format("{}: {}", archive_.source(), path));
  return &modules_.emplace(package, std::move(module)).first->second;
}

std::shared_ptr<Class> Program::find_class(const std::string& name) {
  std::string last;
  const Module* module = module_of(name, last);
  if (!module) return nullptr;
  const auto found = module->classes.find(last);
  return found == module->classes.end() ? nullptr : found->second;
}

std::shared_ptr<Function> Program::find_function(const std::string& name) {
  std::string last;
  const Module* module = module_of(name, last);
  if (!module) return nullptr;
  const auto found = module->functions.find(last);
  return found == module->functions.end() ? nullptr : found->second;
}

std::shared_ptr<Function> Program::find_method(const std::string& class_name, std::string_view method) {
  const std::shared_ptr<Class> owner = find_class(class_name);
  if (!owner) return nullptr;
  const auto found = owner->methods.find(method);
  return found == owner->methods.end() ? nullptr : found->second;
}

}  // namespace minnow::torchscript
