// SPDX-License-Identifier: Apache-2.0
// The `minnow` command: its subcommands, help, errors and exit statuses.
#include "cli/command_line.h"

#include <exception>
#include <iostream>

#include "base/nearest.h"
#include "cli/commands.h"

namespace minnow::cli {
namespace {

constexpr size_t kNames = 30, kWidth = 100;  // columns of help

/// Breaks `text` into lines that are indented by `indent` spaces, the first one from the cursor on.
std::string wrapped(const std::string& text, size_t indent) {
  std::string out;
  size_t column = indent;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (column > indent && column + 1 + end - at > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += text.substr(at, end - at);
    column += end - at;
    at = end + 1;
  }
  return out + "\n";
}

std::string row(const std::string& names, const std::string& text) {
  std::string line = "  " + names;
  line += line.size() + 1 < kNames ? std::string(kNames - line.size(), ' ') : "\n" + std::string(kNames, ' ');
  return line + wrapped(text, kNames);
}

/// The word behind an option: "N", "{high,normal,low}", "".
std::string value_word(const CLI::Option& option) {
  std::string word = option.get_type_size() == 0 ? std::string() : option.get_type_name();
  while (word.starts_with(':')) word.erase(0, 1);
  while (word.ends_with(':')) word.pop_back();
  return word;
}

/// Help in the form "-t,--threads N  description (default: 0)", in lines of 100 columns.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    if (!app->get_parent()) return "Usage: minnow COMMAND [OPTIONS] ...\n";
    std::string usage = "Usage: " + name + " [OPTIONS]";
    for (const CLI::Option* option : app->get_options())
      if (option->get_positional()) usage += option->get_required() ? " " + place(*option) : " [" + place(*option) + "]";
    return usage + "\n";
  }
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    const std::string word = value_word(*option), standard = option->get_default_str();
    std::string names = is_positional ? place(*option) : option->get_name(false, true) + (word.empty() ? "" : " " + word);
    std::string text = option->get_description();
    if (!standard.empty() && standard != "\"\"" && standard != "[]") text += " (default: " + standard + ")";
    return row(names, text);
  }
  std::string make_subcommand(const CLI::App* command) const override { return row(command->get_name(), command->get_description()); }

 private:
  static std::string place(const CLI::Option& option) {
    return option.get_name(true, false) + (option.get_items_expected_max() > 1 ? "..." : "");
  }
};

std::string in_quotes(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "\"" : ", \"") + word + "\"";
  return list;
}

/// The sentence for a command line that CLI11 refuses with `error`.
std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> given = app.get_subcommands();
  if (const std::vector<std::string> rest = app.remaining(); !rest.empty() && given.empty())
    return format("there is no option {}", in_quotes(rest));
  else if (!rest.empty())
    return format("{} stands before the command; write minnow {}, then the options", in_quotes(rest), given.back()->get_name());
  if (given.empty()) return "a command is missing";
  const CLI::App& command = *given.back();
  const std::string& name = command.get_name();
  std::vector<std::string> options;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& each : option->get_lnames()) options.push_back("--" + each);
  if (std::vector<std::string> rest = command.remaining(); !rest.empty()) {
    for (const std::string& word : rest)
      if (word == "--")
        break;
      else if (word.size() > 1 && word[0] == '-') {
        const std::string option = word.substr(0, word.find('='));
        return format("{} has no option \"{}\"{}", name, option, option.starts_with("--") ? nearest(option, options) : std::string());
      }
    std::erase(rest, "--");
    std::string places;
    for (const CLI::Option* option : command.get_options())
      if (option->get_positional()) places += (places.empty() ? "" : " ") + option->get_name(true, false);
    const bool has_inputs = std::find(options.begin(), options.end(), "--input") != options.end();
    return format("{} takes {}; {} {} too many{}", name, places.empty() ? "options alone" : places, in_quotes(rest),
                  rest.size() == 1 ? "is" : "are", has_inputs ? " (files with inputs are given by --input)" : "");
  }
  for (const CLI::Option* option : command.get_options()) {
    const std::string each = option->get_name(false, false);
    if (option->count() == 0 && error.get_name() == "ArgumentMismatch" && std::string_view(error.what()).starts_with(each + ":"))
      return format("{} needs a value", each);
    if (option->get_required() && option->count() == 0)
      return format("{} needs {}", name, option->get_positional() ? option->get_name(true, false) : each);
    if (option->count() > 1 && option->get_items_expected_max() <= 1) return format("{} is given {} times", each, option->count());
  }
  return error.what();
}

void add_help(CLI::App& app) {
  auto word = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("help", "Explains a command: minnow help run");
  command->add_option("COMMAND", *word, "the command to explain")->type_name("");
  command->footer("\n  minnow help\n  minnow help convert");
  command->callback([word, &app] {
    if (word->empty()) {
      std::cout << app.get_formatter()->make_help(&app, "", CLI::AppFormatMode::Normal);
      return;
    }
    std::vector<std::string> names;
    for (CLI::App* each : app.get_subcommands({})) {
      names.push_back(each->get_name());
      if (each->get_name() != *word) continue;
      std::cout << each->help("minnow");
      return;
    }
    throw UsageError("there is no command \"{}\"{}; see minnow --help", *word, nearest(*word, names));
  });
}

const char* name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_model:
      return "invalid_model";
    case ErrorKind::invalid_argument:
      return "invalid_argument";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::out_of_memory:
      return "out_of_memory";
    case ErrorKind::io:
      return "io";
    case ErrorKind::cancelled:
      return "cancelled";
    default:
      return "internal";
  }
}

class CommandLine {
 public:
  int run(int argc, const char* const* argv) {
    app_.set_version_flag("-V,--version", std::string("minnow ") + version());
    app_.require_subcommand(1);
    app_.fallthrough(false);
    app_.formatter(std::make_shared<HelpFormatter>());
    app_.set_help_flag("-h,--help", "explain");
    for (const auto add : {add_convert, add_run, add_bench, add_tune, add_train, add_quantize, add_prune, add_compare, add_inspect,
                           add_profile, add_ops, add_devices, add_completion})
      add(app_);
    add_help(app_);
    set_log_hook([](std::string_view message) { say(format("minnow: {}", message)); });
    for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
      const std::string_view word = argv[i];
      json_ |= word == "--json" || word == "-j";
      if (command_.empty() && i == 1 && word[0] != '-') command_ = word;
    }
    try {
      parse(argc, argv);
    } catch (const CLI::RuntimeError& error) {  // a command's exit status without a message
      return finished(error.get_exit_code());
    } catch (const CLI::Success& help) {
      return finished(app_.exit(help));
    } catch (const CLI::ParseError& error) {
      return misused(explain(app_, error));
    } catch (const UsageError& error) {
      return misused(error.what());
    } catch (const Error& error) {
      return failed(error.what(), name_of(error.kind()));
    } catch (const std::bad_alloc&) {
      return failed("the system has no more memory", "out_of_memory");
    } catch (const std::exception& error) {
      return failed(error.what(), "internal");
    }
    return finished(0);
  }

 private:
  void parse(int argc, const char* const* argv) {
    if (!command_.empty()) {
      std::vector<std::string> names;
      for (const CLI::App* command : app_.get_subcommands({})) names.push_back(command->get_name());
      if (std::find(names.begin(), names.end(), command_) == names.end())
        throw UsageError("there is no command \"{}\"{}; see minnow --help", command_, nearest(command_, names));
    }
    app_.parse(argc, argv);
  }

  int finished(int status) {
    std::cout.flush();
    if (std::cout) return status;
    say("minnow: the output could not be written");
    return error_status();
  }
  int misused(std::string sentence) {
    if (const std::vector<CLI::App*> given = app_.get_subcommands(); !given.empty()) command_ = given.back()->get_name();
    if (sentence.find("; see minnow") == sentence.npos)
      sentence += format("; see minnow {}--help", command_.empty() ? std::string() : command_ + " ");
    report(sentence, "usage");
    return kMisused;
  }
  int failed(const std::string& sentence, const char* kind) {
    report(sentence, kind);
    return error_status();
  }
  int error_status() const { return command_ == "compare" ? 2 : kFailed; }

  void report(const std::string& sentence, const char* kind) const {
    if (!json_) return say("minnow: " + sentence);
    print_json({{"error", {{"kind", kind}, {"message", sentence}}}});
    std::cout.flush();
    if (!std::cout) say("minnow: " + sentence);
  }

  CLI::App app_{
      "Minnow converts, runs and examines deep-learning models.\n\n"
      "  minnow convert model.onnx model.minnow       optimize a model and write it in Minnow's format\n"
      "  minnow run model.minnow --input x.npy        compute its outputs, one .npy file each\n"
      "  minnow bench model.minnow --threads 1        measure how fast it runs here\n"
      "  minnow tune model.minnow --file tuning.txt   find the fastest ways to compute it here, and remember them\n"
      "  minnow train recipe.toml                     train or fine-tune a network (the Python package's command)\n"
      "  minnow quantize model.onnx small.minnow --calibration pictures/   compute with 8-bit integers\n"
      "  minnow prune model.onnx sparse.minnow           four of five weights become zero\n"
      "  minnow compare model.onnx model.minnow       find where two models differ\n"
      "  minnow inspect model.minnow --plan           show what it consists of and how it will be computed\n",
      "minnow"};
  std::string command_;  // the first word
  bool json_ = false;
};

}  // namespace

int command_line(int argc, const char* const* argv) noexcept {
  try {
    return CommandLine().run(argc, argv);
  } catch (...) {  // while an error was reported
    std::fputs("minnow: the system has no more memory\n", stderr);
    return kFailed;
  }
}

}  // namespace minnow::cli
