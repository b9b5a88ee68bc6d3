// Checks that a row fits into a part.
#ifndef PENSTOCK_RECORDS_ENGINE_ROW_LIMIT_H_
#define PENSTOCK_RECORDS_ENGINE_ROW_LIMIT_H_

#include "absl/status/status.h"
#include "base/dtype.h"
#include "records/decode/program.h"

namespace penstock {

// Returns kResourceExhausted if a row is larger than PartBuffer::kMaxRowBytes. The message has the
// size of the row, the limit, and the largest tensor with its feature. `program` was compiled for
// `dtype`. With `record_ids`, each row also has an id.
absl::Status CheckRowSize(const Program& program, WireDtype dtype, bool record_ids);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_ROW_LIMIT_H_
