// Addresses in a narrow column of a table.
#ifndef PENSTOCK_CLI_SHORT_ADDRESS_H_
#define PENSTOCK_CLI_SHORT_ADDRESS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace penstock {

// Of an address in a table.
inline constexpr size_t kAddressColumns = 21;  // 255.255.255.255:65535

// `text` in at most `columns`; where it is longer, its middle is left out: "preproce..er-17:7070".
std::string CutInTheMiddle(const std::string& text, size_t columns);

// Of each HOST:PORT what tells it from the others, in at most `columns`: where one is longer, names
// lose the domain that all names share, and what is still longer is cut in the middle.
std::vector<std::string> ShortAddresses(std::vector<std::string> addresses, size_t columns);

}  // namespace penstock

#endif  // PENSTOCK_CLI_SHORT_ADDRESS_H_
