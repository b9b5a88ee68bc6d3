// Builds the error for a row that cannot be decoded.
#ifndef PENSTOCK_RECORDS_ENGINE_UNDECODABLE_H_
#define PENSTOCK_RECORDS_ENGINE_UNDECODABLE_H_

#include <cstdint>

#include "records/engine/chunk_damage.h"
#include "records/engine/piece.h"
#include "records/engine/session_state.h"

namespace penstock {

// Returns the failure, with shard, chunk and record of the row. If no row can stand for it, returns
// kDataLoss with needs_spare. REQUIRES: failed.failure is set; the window's chunks are pinned.
LoadError Undecodable(const WindowState& window, uint64_t window_row, const PieceOutcome& failed);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_UNDECODABLE_H_
