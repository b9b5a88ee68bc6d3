// Shows statistics of images as text and as JSON.
#ifndef PENSTOCK_CLI_DATA_STATISTICS_TEXT_H_
#define PENSTOCK_CLI_DATA_STATISTICS_TEXT_H_

#include "nlohmann/json.hpp"
#include "records/dataset/image_statistics.h"

namespace penstock {

// Prints a line for each measured feature: "pixels    image/encoded: mean 0.4914,0.4822,0.4465,
// deviation 0.247,0.2435,0.2616 over 50,000 training images".
void PrintStatistics(const Manifest& manifest);

// Returns an array with an object for each measured feature; its numbers are exact.
nlohmann::json StatisticsToJson(const Manifest& manifest);

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_STATISTICS_TEXT_H_
