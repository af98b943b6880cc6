// SPDX-License-Identifier: Apache-2.0
#include "base/os_process.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace minnow::os {

std::string become(const std::vector<std::string>& arguments) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  return std::strerror(errno);
}

}  // namespace minnow::os
