#include "base/flags/completion.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/flags/help_command.h"

namespace penstock {
namespace {

std::string HelpPageName(const CommandPage& program) {
  return absl::StrCat(program.name, " ", kHelpCommand);
}

// Returns the pages that a command line can reach. If the program has the command `help`, they
// include pages like "tool help chess", which has the commands of "tool chess" and no options.
std::vector<CommandPage> PagesToComplete(std::vector<CommandPage> pages) {
  const CommandPage program = pages.front();
  const std::string help = HelpPageName(program);
  const auto own = std::ranges::find(pages, help, &CommandPage::name);
  if (own == pages.end()) return pages;
  own->commands = program.commands;
  std::vector<CommandPage> asked;
  for (const CommandPage& page : pages) {
    if (&page == &pages.front() || page.name == help) continue;
    CommandPage& copy = asked.emplace_back();
    copy.name = help + page.name.substr(program.name.size());
    copy.commands = page.commands;
  }
  pages.insert(pages.end(), asked.begin(), asked.end());
  return pages;
}

// The options of a page, without its arguments.
std::vector<OptionRow> OptionsOf(const CommandPage& page) {
  std::vector<OptionRow> options;
  for (const OptionGroup& group : page.groups) {
    std::ranges::copy_if(group.options, std::back_inserter(options),
                         [](const OptionRow& row) { return row.names.front().front() == '-'; });
  }
  return options;
}

// Returns true if the value is a file or a folder.
bool IsPath(const OptionRow& row) {
  constexpr absl::string_view kPaths[] = {"DATASET", "DIR", "FILE", "PATH", "PROGRAM", "SPEC"};
  return std::ranges::find(kPaths, row.placeholder) != std::end(kPaths);
}

// Returns false for `help`, which takes no files.
bool TakesFiles(const CommandPage& page, const CommandPage& program) {
  return !absl::StartsWith(page.name, HelpPageName(program));
}

// Returns the options and commands that may come next, separated by spaces.
std::string WordsOf(const CommandPage& page) {
  std::vector<std::string> words;
  for (const CommandGroup& group : page.commands) {
    for (const CommandSummary& command : group.commands) words.push_back(command.name);
  }
  for (const OptionRow& row : OptionsOf(page)) words.push_back(row.names.back());
  return absl::StrJoin(words, " ");
}

std::string FunctionName(const CommandPage& program) {
  return "_" + absl::StrReplaceAll(program.name, {{"-", "_"}});
}

constexpr char kNoFiles[] = " files=no";

// Returns the cases that list the values of each option.
std::string BashValues(const CommandPage& page) {
  std::string cases;
  for (const OptionRow& row : OptionsOf(page)) {
    if (row.placeholder.empty()) continue;
    std::string pattern;
    for (const std::string& name : row.names) {
      absl::StrAppend(&pattern, pattern.empty() ? "" : "|", "'", page.name, " ", name, "'");
    }
    absl::StrAppend(&cases, "    ", pattern, ") words='", absl::StrJoin(row.choices, " "), "'",
                    IsPath(row) ? "" : kNoFiles, " ;;\n");
  }
  return cases;
}

constexpr char kNextSpec[] = " \\\n      ";

// Text of an _arguments specification, within single quotes. zsh would evaluate backticks and
// dollar signs in the descriptions of commands, so these are left out.
std::string ZshText(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"`", ""},
                                    {"$", ""},
                                    {"\"", ""},
                                    {"\\", "\\\\"},
                                    {"[", "\\["},
                                    {"]", "\\]"},
                                    {"'", "'\\''"},
                                    {":", "\\:"}});
}

std::string ZshValue(const OptionRow& row) {
  if (row.placeholder.empty()) return "";
  std::string action = IsPath(row) ? "_files" : " ";  // A space: only the placeholder is shown.
  if (!row.choices.empty()) action = absl::StrCat("(", absl::StrJoin(row.choices, " "), ")");
  return absl::StrCat(":", ZshText(row.placeholder), ":", action);
}

// Returns the specifications of _arguments, each of which ends with kNextSpec.
std::string ZshSpecs(const CommandPage& page) {
  std::string specs;
  for (const CommandGroup& group : page.commands) {
    for (const CommandSummary& command : group.commands) {
      absl::StrAppend(&specs, specs.empty() ? "'1:command:((" : " ", command.name, "\\:\"",
                      ZshText(command.description), "\"");
    }
  }
  if (!specs.empty()) absl::StrAppend(&specs, "))'", kNextSpec);
  for (const OptionRow& row : OptionsOf(page)) {
    for (const std::string& name : row.names) {
      absl::StrAppend(&specs, "'*", name, "[", ZshText(row.description), "]", ZshValue(row), "'",
                      kNextSpec);
    }
  }
  return specs;
}

// Returns a shell pattern that matches all commands below the program.
std::string CommandPattern(const std::vector<CommandPage>& pages) {
  std::vector<std::string> names;
  for (size_t i = 1; i < pages.size(); ++i) names.push_back("'" + pages[i].name + "'");
  return names.empty() ? "''" : absl::StrJoin(names, "|");
}

}  // namespace

std::string BashCompletion(const std::vector<CommandPage>& described) {
  const std::vector<CommandPage> pages = PagesToComplete(described);
  const CommandPage& program = pages.front();
  const std::string function = FunctionName(program);
  std::string script = absl::StrCat(
      "# bash completion for ", program.name, "\n", function, "() {\n",
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= word\n"
      "  local files=yes page='",
      program.name,
      "'\n"
      "  if [ \"$cur\" = = ]; then cur=; fi\n"
      "  if [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \"$page $word\" in\n"
      "      ",
      CommandPattern(pages),
      ") page=\"$page $word\" ;;\n"
      "      *) break ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$page\" in\n");
  for (const CommandPage& page : pages) {
    absl::StrAppend(&script, "    '", page.name, "') words='", WordsOf(page), "'",
                    TakesFiles(page, program) ? "" : kNoFiles, " ;;\n");
  }
  absl::StrAppend(&script, "  esac\n  case \"$page $prev\" in\n");
  for (const CommandPage& page : pages) absl::StrAppend(&script, BashValues(page));
  absl::StrAppend(&script, "  esac\n",
                  "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                  "  # Without an answer, bash completes names of files (-o default).\n"
                  "  if [ $files = no ]; then compopt +o default 2>/dev/null; fi\n"
                  "}\n"
                  "complete -o default -F ",
                  function, " ", program.name, "\n");
  return script;
}

std::string ZshCompletion(const std::vector<CommandPage>& described) {
  const std::vector<CommandPage> pages = PagesToComplete(described);
  const CommandPage& program = pages.front();
  std::string script = absl::StrCat("#compdef ", program.name,
                                    "\n"
                                    "local page='",
                                    program.name,
                                    "'\n"
                                    "while (( CURRENT > 2 )); do\n"
                                    "  case \"$page $words[2]\" in\n"
                                    "    ",
                                    CommandPattern(pages),
                                    ") page=\"$page $words[2]\"; shift words; (( CURRENT-- )) ;;\n"
                                    "    *) break ;;\n"
                                    "  esac\n"
                                    "done\n"
                                    "case \"$page\" in\n");
  for (const CommandPage& page : pages) {
    absl::StrAppend(&script, "  '", page.name, "')\n    _arguments", kNextSpec, ZshSpecs(page),
                    TakesFiles(page, program) ? "'*:file:_files'" : "'*:no more words: '", " ;;\n");
  }
  return script + "esac\n";
}

}  // namespace penstock
