// Manual pages.
#ifndef PENSTOCK_BASE_FLAGS_MAN_PAGE_H_
#define PENSTOCK_BASE_FLAGS_MAN_PAGE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/flags/command_page.h"

namespace penstock {

// Returns "penstock-chess-generate" for "penstock chess generate".
std::string ManPageName(const CommandPage& page);

// Returns the page as roff source, in section 1. `pages` are all pages of the program, for SEE
// ALSO.
std::string ManPage(const CommandPage& page, const std::vector<CommandPage>& pages,
                    absl::string_view version);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FLAGS_MAN_PAGE_H_
