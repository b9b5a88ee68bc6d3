#include "base/flags/help_command.h"

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/flags/parse_message.h"

namespace penstock {

void AddHelpArgument(CLI::App& help) {
  help.add_option_function<std::vector<std::string>>(
          "command", [](const std::vector<std::string>&) {},
          "Command to explain; absent: the program itself")
      ->type_name("COMMAND");
}

std::vector<const char*> WithHelpAsOption(int argc, const char* const* argv) {
  std::vector<const char*> words(argv, argv + argc);
  if (argc < 2 || absl::string_view(argv[1]) != kHelpCommand) return words;
  const absl::string_view next = argc == 3 ? argv[2] : "";
  if (next == "--help" || next == "-h") return words;
  words.erase(words.begin() + 1);
  words.push_back("--help");
  return words;
}

std::string CommandOfHelp(int argc, const char* const* argv) {
  if (argc < 2 || absl::string_view(argv[1]) != kHelpCommand) return "";
  const char* const* end = argv + 2;
  while (end < argv + argc && **end != '-') ++end;
  return absl::StrJoin(argv + 2, end, " ");
}

std::string NoSuchCommand(absl::string_view name, const std::vector<std::string>& commands) {
  if (commands.empty()) {
    return absl::StrCat("there is no command '", name, "': this program has only options");
  }
  const std::string nearest = Nearest(name, commands);
  return absl::StrCat("there is no command '", name, "'",
                      nearest.empty() ? "." : absl::StrCat("; did you mean '", nearest, "'?"),
                      " The commands are: ", absl::StrJoin(commands, ", "));
}

}  // namespace penstock
