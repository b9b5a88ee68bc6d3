// Writes the files from which a shell completes a program's commands, and man shows its pages.
#ifndef PENSTOCK_BASE_FLAGS_SHELL_FILES_H_
#define PENSTOCK_BASE_FLAGS_SHELL_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/flags/command_page.h"

namespace penstock {

// Writes below `folder`, laid out as /usr/share is:
//   man/man1/NAME.1                        for each page
//   bash-completion/completions/PROGRAM
//   zsh/site-functions/_PROGRAM
//   penstock/PROGRAM.json                  the pages as they are, for the reference in docs/
//
// `pages` are all pages of one program; the first is the page of the program itself. `version` is,
// for example, "0.1.0".
absl::Status WriteShellFiles(const std::vector<CommandPage>& pages, absl::string_view version,
                             const std::string& folder);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FLAGS_SHELL_FILES_H_
