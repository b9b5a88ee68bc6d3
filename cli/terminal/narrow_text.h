// Fits numbers, addresses and sentences into narrow columns.
#ifndef PENSTOCK_CLI_TERMINAL_NARROW_TEXT_H_
#define PENSTOCK_CLI_TERMINAL_NARROW_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

// Returns 987, 1.23k, 45.6M: at most 5 columns up to 10^15.
std::string ShortCount(double count);

// Returns 987, 1.2Ki, 46Mi: with units of 1024, at most 5 columns up to 10^18.
std::string ShortBytes(double bytes);

// Returns 987, 9999, 10k: at most 4 columns up to 10^7.
std::string ShortWhole(double count);

// Returns 0.5, 99.9, 100: at most 4 columns up to 10^7.
std::string ShortCores(double cores);

// Returns 50% for 0.5.
std::string ShortPercent(double share);

// The width of an address in a table.
inline constexpr size_t kAddressColumns = 21;  // 255.255.255.255:65535

// Returns `text` in at most `columns`. If it is longer, its middle is left out:
// "preproce..er-17:7070".
std::string CutInTheMiddle(const std::string& text, size_t columns);

// Shortens each HOST:PORT to at most `columns`, so that it still differs from the others. If one is
// longer, all names lose the domain that they share. Names that are still longer are cut in the
// middle.
std::vector<std::string> ShortAddresses(std::vector<std::string> addresses, size_t columns);

// Maximum number of lines that a screen shows of a cause.
inline constexpr size_t kMaxCauseLines = 3;

// Returns the first `most` of `lines`, which WrapWords() (base/wrap_words.h) made with the same
// `columns`. If there are more, the last of them ends with "..". REQUIRES: most > 0.
std::vector<std::string> FirstLines(std::vector<std::string> lines, size_t most, size_t columns);

}  // namespace penstock

#endif  // PENSTOCK_CLI_TERMINAL_NARROW_TEXT_H_
