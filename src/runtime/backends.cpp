// SPDX-License-Identifier: Apache-2.0
// The one list of the backends of this build.
#include "runtime/backends.h"

#include "backends/cpu/cpu.h"
#include "backends/reference/reference.h"

namespace minnow {
namespace {

struct Row {
  std::string_view name;
  std::shared_ptr<Backend> (*make)(const BackendOptions&);
};

constexpr Row kBackends[] = {
    {"cpu", make_cpu_backend},
    {"reference", make_reference_backend},
};

}  // namespace

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Row& row : kBackends) names.emplace_back(row.name);
  return names;
}

std::shared_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options) {
  for (const Row& row : kBackends)
    if (row.name == name) return row.make(options);
  throw InvalidArgument("there is no backend \"{}\"; this build has {}", name, backend_names());
}

}  // namespace minnow
