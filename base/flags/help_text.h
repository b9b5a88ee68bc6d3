// What --help prints.
#ifndef PENSTOCK_BASE_FLAGS_HELP_TEXT_H_
#define PENSTOCK_BASE_FLAGS_HELP_TEXT_H_

#include <cstddef>
#include <string>

#include "base/flags/command_page.h"

namespace penstock {

// In lines of at most `columns`, but for words and examples that are longer.
std::string HelpText(const CommandPage& page, size_t columns);

// "-o, --output FILE".
std::string Declaration(const OptionRow& row);

// "one of: a, b; default: a", as it stands in brackets behind a description; may be empty.
std::string Remarks(const OptionRow& row);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FLAGS_HELP_TEXT_H_
