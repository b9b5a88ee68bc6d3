// Standard input, output and error as a program is given them.
#ifndef PENSTOCK_BASE_PROCESS_STANDARD_STREAMS_H_
#define PENSTOCK_BASE_PROCESS_STANDARD_STREAMS_H_

#include "absl/status/status.h"

namespace penstock {

// For main(), before anything is opened. Where the program was started with one of the three closed
// (`penstock ... >&-`), the next file or connection would get its number, and what is printed would
// go into that. Afterwards its number is taken; reading or writing it fails.
void HoldStandardStreams();

// Standard output is a pipe whose reader has gone, as `| head` does once it has read enough.
bool OutputReaderHasGone();

// For main(), after all was printed. kUnavailable: standard output did not take all of it, although
// its reader is there.
absl::Status FlushStandardOutput();

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_STANDARD_STREAMS_H_
