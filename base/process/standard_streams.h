// Standard input, output and error.
#ifndef PENSTOCK_BASE_PROCESS_STANDARD_STREAMS_H_
#define PENSTOCK_BASE_PROCESS_STANDARD_STREAMS_H_

#include "absl/status/status.h"

namespace penstock {

// Call it in main(), before anything is opened. If the program was started with one of the three
// closed (`penstock ... >&-`), the next file or connection would get its number, and printed text
// would go there. After this call the number is taken, and reading or writing it fails.
void HoldStandardStreams();

// True if standard output is a pipe whose reader has gone, like `| head` once it has read enough.
bool OutputReaderHasGone();

// Call it in main(), after everything was printed. kUnavailable: standard output did not accept all
// of it, although its reader is still there.
absl::Status FlushStandardOutput();

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_STANDARD_STREAMS_H_
