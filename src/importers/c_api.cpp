// SPDX-License-Identifier: Apache-2.0
#include <minnow/convert.h>
#include <minnow/convert_c.h>

#include "base/c_status.h"

extern "C" minnow_status minnow_convert(const char* const* paths, size_t path_count, const char* destination) {
  using namespace minnow;
  return c_status([&] {
    std::vector<std::string> files;
    for (size_t i = 0; i < path_count; ++i) files.emplace_back(&given((&given(paths, "paths"))[i], "a path of paths"));
    if (files.empty()) throw InvalidArgument("no path is given to convert");
    const std::string to = &given(destination, "destination");
    save(convert(files), to);
  });
}
