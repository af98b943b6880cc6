// SPDX-License-Identifier: Apache-2.0
// Completion scripts for shells, made from the options that the commands have.
#include <algorithm>
#include <iostream>
#include <sstream>

#include "cli/commands.h"

namespace minnow::cli {
namespace {

struct Choice {
  std::vector<std::string> brief, names;  // without dashes
  std::vector<std::string> words;         // possible values; empty: anything
  std::string help;
  bool has_value = false, is_repeated = false;
  std::string value;  // "FILE", "N"
};

struct Command {
  std::string name, help;
  std::vector<Choice> choices;
  std::vector<std::string> words;  // possible arguments; empty: files
};

std::string joined(const std::vector<std::string>& words, const std::string& between = " ") {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : between) + word;
  return list;
}

/// The first part of an explanation, without characters that are special to shells.
std::string brief_help(const std::string& text, const std::vector<std::string>& words = {}) {
  if (!words.empty() && text.starts_with(words[0] + ":")) return joined(words, ", ");  // it explains each word
  std::string brief;
  for (const char c : text.substr(0, std::min(text.find(';'), text.find(". "))))
    brief += std::string_view("'\"`[]{}$\\:").find(c) == std::string_view::npos ? c : ' ';
  return brief;
}

std::vector<std::string> words_in_braces(const std::string& text) {
  std::vector<std::string> words;
  const size_t open = text.find('{'), close = text.find('}');
  if (open == text.npos || close == text.npos) return words;
  std::istringstream in(text.substr(open + 1, close - open - 1));
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

std::vector<Command> commands_of(const CLI::App& app) {
  std::vector<Command> commands;
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands({})) {
    Command& command = commands.emplace_back(Command{each->get_name(), brief_help(each->get_description()), {}, {}});
    names.push_back(command.name);
    for (const CLI::Option* option : each->get_options()) {
      const std::string type = option->get_type_size() == 0 ? std::string() : option->get_type_name();
      if (option->get_positional()) {
        command.words = words_in_braces(type);
        continue;
      }
      command.choices.push_back(
          {option->get_snames(), option->get_lnames(), words_in_braces(type), brief_help(option->get_description(), words_in_braces(type)),
           option->get_type_size() != 0, option->get_items_expected_max() > 1,
           type.find("FILE") != type.npos || type.find("LIBRARY") != type.npos || type.find("DIR") != type.npos ? "FILE" : ""});
    }
  }
  for (Command& command : commands)
    if (command.name == "help") command.words = names;
  return commands;
}

std::vector<std::string> with_dashes(const Choice& choice) {
  std::vector<std::string> names;
  for (const std::string& name : choice.brief) names.push_back("-" + name);
  for (const std::string& name : choice.names) names.push_back("--" + name);
  return names;
}

void bash(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  std::cout << "# bash completion for minnow: source <(minnow completion bash)\n"
               "_minnow() {\n"
               "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
               "  COMPREPLY=()\n"
               "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
               "    COMPREPLY=($(compgen -W '"
            << joined(names)
            << " --help --version' -- \"$cur\"))\n"
               "    return\n"
               "  fi\n"
               "  # The shell makes words of their own of \"=\" in --option=value.\n"
               "  if [ \"$cur\" = = ]; then cur=; elif [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
               "  case \"${COMP_WORDS[1]} $prev\" in\n";
  for (const Command& command : commands)
    for (const Choice& choice : command.choices) {
      if (!choice.has_value || choice.value == "FILE") continue;
      std::vector<std::string> patterns;
      for (const std::string& name : with_dashes(choice)) patterns.push_back("'" + command.name + " " + name + "'");
      std::cout << "    " << joined(patterns, " | ") << ") COMPREPLY=($(compgen -W '" << joined(choice.words)
                << "' -- \"$cur\")); return ;;\n";
    }
  std::cout << "  esac\n"
               "  case \"${COMP_WORDS[1]}\" in\n";
  for (const Command& command : commands) {
    std::vector<std::string> options;
    for (const Choice& choice : command.choices)
      for (const std::string& name : with_dashes(choice)) options.push_back(name);
    std::cout << "    " << command.name << ")";
    if (!command.words.empty()) std::cout << " words='" << joined(command.words) << "';";
    std::cout << " [[ $cur != -* ]] || words='" << joined(options) << "' ;;\n";
  }
  std::cout << "  esac\n"
               "  if [ -n \"$words\" ]; then\n"
               "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
               "  else\n"
               "    compopt -o filenames 2> /dev/null\n"
               "    COMPREPLY=($(compgen -f -- \"$cur\"))\n"
               "  fi\n"
               "}\n"
               "complete -F _minnow minnow\n";
}

void zsh(const std::vector<Command>& commands) {
  std::cout << "#compdef minnow\n"
               "# zsh completion for minnow: source <(minnow completion zsh), or a file _minnow in a folder of $fpath\n"
               "_minnow() {\n"
               "  local -a commands\n"
               "  commands=(\n";
  for (const Command& command : commands) std::cout << "    '" << command.name << ":" << command.help << "'\n";
  std::cout << "  )\n"
               "  if (( CURRENT == 2 )); then\n"
               "    _describe command commands\n"
               "    return\n"
               "  fi\n"
               "  local command=$words[2]\n"
               "  shift words\n"
               "  (( CURRENT-- ))\n"
               "  case $command in\n";
  for (const Command& command : commands) {
    std::cout << "    " << command.name << ")\n      _arguments \\\n";
    for (const Choice& choice : command.choices) {
      const std::vector<std::string> names = with_dashes(choice);
      const std::string value = !choice.has_value        ? ""
                                : choice.value == "FILE" ? ":file:_files"
                                : choice.words.empty()   ? ":value:"
                                                         : ":value:(" + joined(choice.words) + ")";
      for (const std::string& name : names)
        std::cout << "        '" << (choice.is_repeated ? "*" : "(" + joined(names) + ")") << name
                  << (choice.has_value && name.starts_with("--") ? "=" : "") << "[" << choice.help << "]" << value << "' \\\n";
    }
    std::cout << "        '*:" << (command.words.empty() ? "file:_files" : "word:(" + joined(command.words) + ")") << "'\n      ;;\n";
  }
  std::cout << "  esac\n"
               "}\n"
               "if [ \"$funcstack[1]\" = _minnow ]; then _minnow \"$@\"; else compdef _minnow minnow; fi\n";
}

void fish(const std::vector<Command>& commands) {
  std::cout << "# fish completion for minnow: minnow completion fish | source\n"
               "complete -c minnow -n __fish_use_subcommand -f\n";
  for (const Command& command : commands)
    std::cout << "complete -c minnow -n __fish_use_subcommand -a " << command.name << " -d '" << command.help << "'\n";
  for (const Command& command : commands) {
    const std::string start = "complete -c minnow -n '__fish_seen_subcommand_from " + command.name + "'";
    if (!command.words.empty()) std::cout << start << " -f -a '" << joined(command.words) << "'\n";
    for (const Choice& choice : command.choices) {
      std::cout << start;
      for (const std::string& name : choice.brief) std::cout << " -s " << name;
      for (const std::string& name : choice.names) std::cout << " -l " << name;
      if (choice.has_value) std::cout << (choice.value == "FILE" ? " -r -F" : " -x");
      if (!choice.words.empty()) std::cout << " -a '" << joined(choice.words) << "'";
      std::cout << " -d '" << choice.help << "'\n";
    }
  }
}

}  // namespace

void add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Prints a script that completes commands and options in a shell");
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(one_of({"bash", "zsh", "fish"}))->type_name("");
  command->footer(
      "\n  source <(minnow completion bash)                                  in ~/.bashrc\n"
      "  source <(minnow completion zsh)                                   in ~/.zshrc, behind compinit\n"
      "  minnow completion fish > ~/.config/fish/completions/minnow.fish   once");
  command->callback([shell, &app] {
    const std::vector<Command> commands = commands_of(app);
    *shell == "bash" ? bash(commands) : *shell == "zsh" ? zsh(commands) : fish(commands);
  });
}

}  // namespace minnow::cli
