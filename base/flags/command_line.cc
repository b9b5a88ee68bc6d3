#include "base/flags/command_line.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <sstream>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/flags/help_text.h"
#include "base/flags/number_flags.h"
#include "base/flags/parse_message.h"
#include "base/flags/shell_files.h"
#include "base/io/input_file.h"
#include "base/print_escaped.h"
#include "base/process/standard_streams.h"
#include "base/terminal.h"

namespace penstock {
namespace {

// The innermost subcommand that was given.
const CLI::App& Deepest(const CLI::App& app) {
  const CLI::App* deepest = &app;
  while (!deepest->get_subcommands().empty()) deepest = deepest->get_subcommands().back();
  return *deepest;
}

std::vector<std::string> LongNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  return names;
}

// Returns "a" for "--a=3".
std::string NameOf(absl::string_view option) {
  return std::string(*absl::StrSplit(absl::StripPrefix(option, "--"), '=').begin());
}

// Returns `line` up to the first # outside quotes.
absl::string_view WithoutComment(absl::string_view line) {
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (quote == 0 && line[i] == '#') return line.substr(0, i);
    if (quote == 0 && (line[i] == '"' || line[i] == '\'')) {
      quote = line[i];
    } else if (line[i] == quote) {
      quote = 0;
    }
  }
  return line;
}

constexpr uint64_t kMaxConfigBytes = 1 << 20;

// Reads the file of --config. CLI11 would open the file itself, and would wait for ever on a pipe
// that nobody writes. So the file is read here, once, and CLI11 is given /dev/null. A # within
// quotes does not begin a comment here; CLI11 would take it for one.
class ConfigFile final : public CLI::ConfigBase {
 public:
  // A CLI11 transformation: reads the file and replaces `path`. Returns what is wrong with `path`,
  // or "".
  std::string Read(std::string& path) {
    if (path == kRead) return "";
    if (path != path_) {
      absl::StatusOr<std::string> text = ReadInput(path, kMaxConfigBytes);
      if (!text.ok()) return std::string(text.status().message());
      text_ = *std::move(text);
      path_ = path;
    }
    path = kRead;
    return "";
  }

  std::vector<CLI::ConfigItem> from_config(std::istream&) const override {
    std::stringstream text;
    for (const absl::string_view line : absl::StrSplit(text_, '\n')) {
      text << WithoutComment(line) << '\n';
    }
    CLI::ConfigBase rest;
    rest.comment('\0');
    return rest.from_config(text);
  }

  // Empty if no file was given.
  const std::string& path() const { return path_; }
  // Returns the place that sets `name`: "FILE:3", or only the file if no line sets it.
  std::string PlaceOf(absl::string_view name) const {
    size_t number = 1;
    for (const absl::string_view line : absl::StrSplit(text_, '\n')) {
      const std::vector<absl::string_view> sides = absl::StrSplit(line, absl::MaxSplits('=', 1));
      if (absl::StripAsciiWhitespace(sides[0]) == name) return absl::StrCat(path_, ":", number);
      ++number;
    }
    return path_;
  }

 private:
  static constexpr char kRead[] = "/dev/null";

  std::string path_;
  std::string text_;
};

// Returns the ConfigFile of `app`, or installs one that reads the file with ConfigFile::Read().
std::shared_ptr<ConfigFile> ConfigFileOf(CLI::App& app) {
  auto file = std::dynamic_pointer_cast<ConfigFile>(app.get_config_formatter());
  if (file != nullptr) return file;
  file = std::make_shared<ConfigFile>();
  app.config_formatter(file);
  if (CLI::Option* option = app.get_config_ptr(); option != nullptr) {
    option->transform(CLI::Validator([file](std::string& path) { return file->Read(path); }, ""));
  }
  return file;
}

// Describes one failed parse.
class Mistake {
 public:
  Mistake(const CLI::App& app, const ConfigFile& file, const CLI::ParseError& error, int argc,
          const char* const* argv)
      : app_(app), file_(file), error_(error), arguments_(argv, argv + argc) {}

  std::string Describe(const std::vector<std::string>& commands) const {
    if (error_.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
      return DescribeExtras(commands);
    }
    // A missing option or command may have been given with a misspelt name.
    if (error_.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError)) {
      const bool command = Deepest(app_).get_require_subcommand_min() > 0;
      if (command ? !Deepest(app_).remaining().empty() : HasUnknownOption()) {
        return DescribeExtras(commands);
      }
    }
    const std::string what = error_.what();
    absl::string_view rest = what;
    if (absl::ConsumePrefix(&rest, "INI was not able to parse ")) return NoSuchLine(rest);
    if (absl::ConsumePrefix(&rest, "Could not convert: ")) return InFile(DescribeValue(rest));
    return InFile(PlainMessage(Deepest(app_), error_, CommandsOf(commands)));
  }

 private:
  // Whether a word that no option takes looks like an option.
  static bool IsOption(const std::string& word) {
    return absl::StartsWith(word, "-") && word.size() > 1;
  }

  bool HasUnknownOption() const {
    const std::vector<std::string> extras = Deepest(app_).remaining();
    return !Deepest(app_).get_allow_extras() && std::ranges::any_of(extras, IsOption);
  }

  // Returns the commands that the deepest command takes beside its subcommands. `commands` are
  // those of the program, so a subcommand does not take them.
  std::vector<std::string> CommandsOf(const std::vector<std::string>& commands) const {
    return &Deepest(app_) == &app_ ? commands : std::vector<std::string>();
  }

  // Options are reported before values: the values may belong to an option that is misspelt.
  std::string DescribeExtras(const std::vector<std::string>& commands) const {
    const CLI::App& command = Deepest(app_);
    std::vector<std::string> extras = command.remaining();
    if (extras.empty()) extras = app_.remaining(/*recurse=*/true);
    const auto option = std::ranges::find_if(extras, IsOption);
    if (option != extras.end()) {
      return absl::StrCat("there is no option ", *option,
                          Meant("--", NameOf(*option), LongNames(command)));
    }
    if (extras.empty()) return error_.what();
    std::vector<std::string> words = commands;
    for (const CLI::App* sub : command.get_subcommands({})) words.push_back(sub->get_name());
    return absl::StrCat("unexpected argument '", extras.front(), "'",
                        Meant("", extras.front(), words));
  }

  std::string NoSuchLine(absl::string_view name) const {
    return absl::StrCat(file_.PlaceOf(name), ": there is no option '", name, "'",
                        Meant("", name, LongNames(app_)),
                        " Run with --print-config for all options");
  }

  // `pair` is, for example, "--world-size = 99999999999".
  std::string DescribeValue(absl::string_view pair) const {
    const std::pair<std::string, std::string> sides = absl::StrSplit(pair, " = ");
    const CLI::Option* option = Deepest(app_).get_option_no_throw(sides.first);
    const bool flag = option != nullptr && option->get_expected_max() == 0;
    return absl::StrCat(sides.first, ": '", sides.second, "' is ",
                        flag ? "neither true nor false" : "not a valid value, or is too large");
  }

  // Puts the file and line before `message`, unless the option at its start is on the command line.
  std::string InFile(const std::string& message) const {
    const std::string name = NameOf(message.substr(0, message.find_first_of(": ")));
    const bool given =
        std::any_of(arguments_.begin(), arguments_.end(),
                    [&](const std::string& word) { return absl::StartsWith(word, "--" + name); });
    if (file_.path().empty() || given) return message;
    const std::string place = file_.PlaceOf(name);
    return place == file_.path() ? message : absl::StrCat(place, ": ", message);
  }

  const CLI::App& app_;
  const ConfigFile& file_;
  const CLI::ParseError& error_;
  const std::vector<std::string> arguments_;
};

// The last one counts, because a script appends its options to those of its user.
void LetTheLastOneCount(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_multi_option_policy() != CLI::MultiOptionPolicy::Throw) continue;
    if (option->get_items_expected_max() > 1) continue;  // It takes several values.
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  for (CLI::App* command : app.get_subcommands({})) LetTheLastOneCount(*command);
}

// Returns the exit code: 0, or 1 after printing the reason on stderr.
int Report(const absl::Status& status, absl::string_view program) {
  if (status.ok()) return 0;
  PrintError(program, status.message());
  return 1;
}

std::vector<CommandPage> PagesOf(const CommandPages& commands) {
  return commands ? commands() : std::vector<CommandPage>();
}

// Returns "evaluate" for "penstock-train evaluate".
std::string NameOf(const CommandPage& page) { return page.name.substr(page.name.find(' ') + 1); }

// Returns the program's own page, which lists `commands` beside the subcommands of `app`.
CommandPage ProgramPage(const CLI::App& app, const std::vector<CommandPage>& commands) {
  CommandPage page = DescribeCommand(app);
  CommandGroup group = {"Other commands", {}};
  for (const CommandPage& command : commands) {
    group.commands.push_back({NameOf(command), command.description});
  }
  if (!commands.empty()) page.commands.push_back(std::move(group));
  return page;
}

void SetHelp(CLI::App& app, const CommandPages& commands) {
  app.formatter_fn([commands](const CLI::App* shown, const std::string&, CLI::AppFormatMode) {
    return HelpText(ProgramPage(*shown, PagesOf(commands)), ColumnsFor(STDOUT_FILENO));
  });
  for (CLI::App* command : app.get_subcommands({})) SetHelp(*command, nullptr);
}

// Prints the titles of groups in bold. `help` has no escape sequences.
void PrintHelp(const std::string& help) {
  for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(help, "\n"), '\n')) {
    const bool title = absl::EndsWith(line, ":") && !absl::StartsWith(line, " ");
    if (title) {
      PrintTitle(stdout, line);
    } else {
      PrintEscaped(stdout, "%s\n", Multiline(line));
    }
  }
}

// Returns "0.1.0" for "penstock 0.1.0 (commit 0123abc)".
std::string VersionNumber(const CLI::App& app) {
  const std::vector<std::string> words = absl::StrSplit(app.version(), ' ');
  return words.size() < 2 ? "" : words[1];
}

absl::Status WriteShellFilesOf(const CLI::App& app, const std::vector<CommandPage>& commands,
                               const std::string& folder) {
  std::vector<CommandPage> pages = DescribeCommands(app);
  pages.front() = ProgramPage(app, commands);
  pages.insert(pages.end(), commands.begin(), commands.end());
  return WriteShellFiles(pages, VersionNumber(app), folder);
}

}  // namespace

std::optional<int> ParseCommandLine(CLI::App& app, absl::string_view program, int argc,
                                    const char* const* argv, const CommandPages& commands) {
  CheckNumbers(app);
  LetTheLastOneCount(app);
  SetHelp(app, commands);
  if (argc == 3 && absl::string_view(argv[1]) == "--write-shell-files") {
    return Report(WriteShellFilesOf(app, PagesOf(commands), argv[2]), program);
  }
  const std::shared_ptr<ConfigFile> config = ConfigFileOf(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      std::ostringstream help;
      app.exit(error, help, help);
      PrintHelp(help.str());
      return Report(FlushStandardOutput(), program);
    }
    std::vector<std::string> names;
    for (const CommandPage& page : PagesOf(commands)) names.push_back(NameOf(page));
    PrintError(program, Mistake(app, *config, error, argc, argv).Describe(names));
    PrintEscaped(stderr, "Run with --help for the options.\n");
    return kUsageExitCode;
  }
  return std::nullopt;
}

}  // namespace penstock
