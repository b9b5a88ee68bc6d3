// Numbers in narrow columns.
#ifndef PENSTOCK_CLI_SHORT_NUMBER_H_
#define PENSTOCK_CLI_SHORT_NUMBER_H_

#include <string>

namespace penstock {

// 987, 1.23k, 45.6M: at most 5 columns up to 10^15.
std::string ShortCount(double count);

// 987, 1.2Ki, 46Mi: of 1024, at most 5 columns up to 10^18.
std::string ShortBytes(double bytes);

// 987, 9999, 10k: at most 4 columns up to 10^7.
std::string ShortWhole(double count);

// 0.5, 99.9, 100: at most 4 columns up to 10^7.
std::string ShortCores(double cores);

// 0.5 as 50%.
std::string ShortPercent(double share);

}  // namespace penstock

#endif  // PENSTOCK_CLI_SHORT_NUMBER_H_
