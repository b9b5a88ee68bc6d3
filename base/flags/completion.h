// Scripts that complete a program's command line in a shell.
#ifndef PENSTOCK_BASE_FLAGS_COMPLETION_H_
#define PENSTOCK_BASE_FLAGS_COMPLETION_H_

#include <string>
#include <vector>

#include "base/flags/command_page.h"

namespace penstock {

// `pages` are all pages of one program. The first is the page of the program itself.
std::string BashCompletion(const std::vector<CommandPage>& pages);
std::string ZshCompletion(const std::vector<CommandPage>& pages);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FLAGS_COMPLETION_H_
