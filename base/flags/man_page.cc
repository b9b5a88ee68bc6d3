#include "base/flags/man_page.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/flags/help_text.h"

namespace penstock {
namespace {

// Escapes backslashes, which begin an escape in roff, and dashes, which roff would print as
// hyphens.
std::string Roff(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
}

// Returns one line of text. If it begins like a roff request, it is escaped.
std::string Line(absl::string_view text) {
  const bool request = absl::StartsWith(text, ".") || absl::StartsWith(text, "'");
  return absl::StrCat(request ? "\\&" : "", Roff(text), "\n");
}

void AddOption(const OptionRow& row, std::string& page) {
  absl::StrAppend(&page, ".TP\n.B ", Line(Declaration(row)), Line(row.description));
  const std::string remarks = Remarks(row);
  if (!remarks.empty()) absl::StrAppend(&page, "[", Roff(remarks), "]\n");
}

void AddExamples(const CommandPage& page, std::string& text) {
  if (page.examples.empty()) return;
  absl::StrAppend(&text, ".SH EXAMPLES\n.nf\n");
  for (const std::string& line : page.examples) absl::StrAppend(&text, Line(line));
  absl::StrAppend(&text, ".fi\n");
}

void AddNotes(const CommandPage& page, std::string& text) {
  if (!page.notes.empty()) absl::StrAppend(&text, ".SH NOTES\n");
  for (const std::string& note : page.notes) absl::StrAppend(&text, ".PP\n", Line(note));
}

void AddEntries(absl::string_view title, const std::vector<ManualEntry>& entries,
                std::string& text) {
  if (!entries.empty()) absl::StrAppend(&text, ".SH ", title, "\n");
  for (const ManualEntry& entry : entries) {
    absl::StrAppend(&text, ".TP\n.B ", Line(entry.term), Line(entry.meaning));
  }
}

// The codes of every program, unless the command has its own meaning for one.
std::vector<ManualEntry> ExitCodes(const CommandPage& page) {
  std::vector<ManualEntry> codes = {
      {"0", "The program did its work."},
      {"1", "It failed; the last line on stderr says why."},
      {"2", "The options are wrong; nothing was done."},
      {"128 + N", "Signal N stopped it: 130 after Ctrl-C, 143 after SIGTERM."}};
  for (const ManualEntry& own : page.exit_codes) {
    std::erase_if(codes, [&own](const ManualEntry& code) { return code.term == own.term; });
    codes.push_back(own);
  }
  return codes;
}

std::vector<ManualEntry> Variables(const CommandPage& page) {
  std::vector<ManualEntry> variables;
  for (const OptionGroup& group : page.groups) {
    for (const OptionRow& row : group.options) {
      if (row.variable.empty()) continue;
      variables.push_back(
          {row.variable, absl::StrCat("The value of ", row.names.back(), " if it is not given.")});
    }
  }
  variables.insert(variables.end(), page.environment.begin(), page.environment.end());
  return variables;
}

void AddSeeAlso(const CommandPage& page, const std::vector<CommandPage>& pages, std::string& text) {
  std::string names;
  for (const CommandPage& other : pages) {
    if (other.name == page.name) continue;
    absl::StrAppend(&names, names.empty() ? "" : ",\n", ".BR ", Roff(ManPageName(other)), " (1)");
  }
  if (!names.empty()) absl::StrAppend(&text, ".SH SEE ALSO\n", names, "\n");
}

}  // namespace

std::string ManPageName(const CommandPage& page) {
  return absl::StrReplaceAll(page.name, {{" ", "-"}});
}

std::string ManPage(const CommandPage& page, const std::vector<CommandPage>& pages,
                    absl::string_view version) {
  const std::string name = ManPageName(page);
  std::string text = absl::StrCat(".TH ", absl::AsciiStrToUpper(name), " 1 \"\" \"penstock ",
                                  version, "\" \"Penstock\"\n.SH NAME\n", Roff(name), " \\- ",
                                  Line(page.description), ".SH SYNOPSIS\n.B ", Line(page.usage));
  for (const CommandGroup& group : page.commands) {
    absl::StrAppend(&text, ".SH ", absl::AsciiStrToUpper(group.title), "\n");
    for (const CommandSummary& command : group.commands) {
      absl::StrAppend(&text, ".TP\n.B ", Line(command.name), Line(command.description));
    }
  }
  absl::StrAppend(&text, ".SH OPTIONS\n");
  for (const OptionGroup& group : page.groups) {
    absl::StrAppend(&text, ".SS ", group.title, "\n");
    for (const OptionRow& row : group.options) AddOption(row, text);
  }
  AddExamples(page, text);
  AddNotes(page, text);
  AddEntries("EXIT STATUS", ExitCodes(page), text);
  AddEntries("FILES", page.files, text);
  AddEntries("ENVIRONMENT", Variables(page), text);
  AddSeeAlso(page, pages, text);
  return text;
}

}  // namespace penstock
