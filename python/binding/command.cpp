// SPDX-License-Identifier: Apache-2.0
// The `minnow` command, for `python -m minnow` and the script that pip installs.
#include <nanobind/stl/vector.h>

#include "binding.h"
#include "cli/command_line.h"
#include "cli/commands.h"

namespace minnow::python {

void define_command(nb::module_& m) {
  m.def(
      "main",
      [](const std::vector<std::string>& arguments) {
        std::vector<const char*> words;
        for (const std::string& word : arguments) words.push_back(word.c_str());
        words.push_back(nullptr);
        const nb::gil_scoped_release release;
        return cli::command_line(static_cast<int>(arguments.size()), words.data());
      },
      nb::arg("arguments"), "Runs the command with these words, the first being its name; gives the exit status.");
  m.def("progress_line", &cli::progress_line, nb::arg("what"), nb::arg("part"), nb::arg("seconds"));
}

}  // namespace minnow::python
