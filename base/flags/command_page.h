// The command line that a command takes, as a table. --help, man pages, shell completion and the
// reference pages are all made from it.
#ifndef PENSTOCK_BASE_FLAGS_COMMAND_PAGE_H_
#define PENSTOCK_BASE_FLAGS_COMMAND_PAGE_H_

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace penstock {

struct OptionRow {
  std::vector<std::string> names;  // "-o", "--output"; a name without dashes is an argument.
  std::string placeholder;         // "FILE"; empty for a switch that takes no value.
  std::string description;         // One line.
  std::vector<std::string> choices;
  std::string range;          // "0 to 1024", "above 0"; empty if every value is accepted.
  std::string default_value;  // The value if the option is not given; empty if there is none.
  std::string variable;  // The environment variable that gives the value; empty if there is none.
  std::string excludes;  // The option that it cannot be combined with; empty if there is none.
  bool required = false;
  bool repeated = false;  // True if it takes several values.
};

struct OptionGroup {
  std::string title;  // "Arguments", "Data", ...
  std::vector<OptionRow> options;
};

struct CommandSummary {
  std::string name;
  std::string description;  // The first sentence of CommandPage::description.
};

struct CommandGroup {
  std::string title;
  std::vector<CommandSummary> commands;
};

// A term and what it means, in a section that only the manual has.
struct ManualEntry {
  std::string term;
  std::string meaning;
};

struct CommandPage {
  std::string name;         // "penstock stream".
  std::string description;  // One paragraph without line breaks.
  std::string usage;        // "penstock stream [OPTIONS] [DATASET]".
  std::vector<OptionGroup> groups;
  std::vector<CommandGroup> commands;
  std::vector<std::string> examples;  // Lines of a shell.
  std::vector<std::string> notes;     // Paragraphs, one line each.
  // Exit codes with a meaning of their own, files, and environment variables besides those of
  // options.
  std::vector<ManualEntry> exit_codes, files, environment;
};

// Arguments come first, then the groups of options in one order for all commands. Options of the
// group "" are left out.
CommandPage DescribeCommand(const CLI::App& app);

// Returns how a usage line names the option: "--output FILE", "--force", or "INPUT" for an
// argument.
std::string UsageOf(const CLI::Option& option);

// The pages of `app` and of all its subcommands.
std::vector<CommandPage> DescribeCommands(const CLI::App& app);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FLAGS_COMMAND_PAGE_H_
