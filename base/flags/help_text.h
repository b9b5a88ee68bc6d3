// Formats the text that --help prints.
#ifndef PENSTOCK_BASE_FLAGS_HELP_TEXT_H_
#define PENSTOCK_BASE_FLAGS_HELP_TEXT_H_

#include <cstddef>
#include <string>

#include "base/flags/command_page.h"

namespace penstock {

// Lines have at most `columns` bytes, except examples, which are not broken.
std::string HelpText(const CommandPage& page, size_t columns);

// Returns "-o, --output FILE".
std::string Declaration(const OptionRow& row);

// Returns the remarks that follow a description in brackets: "one of: a, b; default: a". May be
// empty.
std::string Remarks(const OptionRow& row);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FLAGS_HELP_TEXT_H_
