// The functions of `penstock pack` for each kind of input.
#ifndef PENSTOCK_CLI_PACK_PACK_INPUTS_H_
#define PENSTOCK_CLI_PACK_PACK_INPUTS_H_

#include "absl/status/status.h"
#include "cli/pack/pack_options.h"

namespace penstock {

// Packs --from chess-tsv: lines of chess positions.
absl::Status PackPositions(PackOptions options);

// Packs --from folder: a folder of images. Writes classes.txt beside the shards too.
absl::Status PackFolder(PackOptions options);

// Packs --from tfrecord: the records of other shards.
absl::Status PackShards(PackOptions options);

// Packs --from csv and jsonl: tables.
absl::Status PackTables(PackOptions options);

// Packs --from npy and npz: NumPy arrays.
absl::Status PackArrays(PackOptions options);

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_PACK_INPUTS_H_
