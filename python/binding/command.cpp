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
      [](const std::vector<std::string>& arguments, const nb::callable& train) {
        cli::train_command() = [train](const cli::TrainArguments& given) {
          const nb::gil_scoped_acquire acquire;
          return nb::cast<int>(train(given.recipe, given.output, given.epochs, given.restart, given.quiet));
        };
        std::vector<const char*> words;
        for (const std::string& word : arguments) words.push_back(word.c_str());
        words.push_back(nullptr);
        int status = 0;
        {
          const nb::gil_scoped_release release;
          status = cli::command_line(static_cast<int>(arguments.size()), words.data());
        }
        keep_messages();  // the command has a hook of its own
        cli::train_command() = nullptr;
        return status;
      },
      nb::arg("arguments"), nb::arg("train"),
      "Runs the command with these words, the first being its name; gives the exit status. train: called for `minnow train`.");
  m.def("progress_line", &cli::progress_line, nb::arg("what"), nb::arg("part"), nb::arg("seconds"));
}

}  // namespace minnow::python
