#include "base/flags/man_page.h"

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
  AddSeeAlso(page, pages, text);
  return text;
}

}  // namespace penstock
