// Makes a contact sheet of a dataset.
#ifndef PENSTOCK_CLI_SHEET_MAKE_SHEET_H_
#define PENSTOCK_CLI_SHEET_MAKE_SHEET_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/data/record_facts.h"
#include "cli/sheet/contact_sheet.h"
#include "proto/decode_spec.pb.h"
#include "records/dataset/manifest.h"

namespace penstock {

struct SheetOptions {
  std::string title;
  v1::DecodeSpec spec;    // If it has no tensors, the sheet shows the originals.
  std::string spec_name;  // Shown in messages and titles.
  uint64_t rows = 36;
  uint64_t seed = 0;
  uint64_t epoch = 0;
  std::vector<std::string> class_names = {};
};

// The records that a sheet may show. All must outlive the calls that take this.
struct SheetSource {
  // The dataset. Records are taken from all over it, because files may be sorted.
  const Manifest* manifest = nullptr;
  // If there is no manifest: the first records of a shard, and the number of its records.
  std::span<const std::string> payloads = {};
  uint64_t records = 0;
  const RecordFacts& facts;
};

// Shows a record that cannot be decoded with its reason. Other errors are those of
// OriginalFeatures::Choose(), DecodedCells::Create() and SampleEvenly().
absl::StatusOr<ContactSheet> MakeSheet(const SheetOptions& options, const SheetSource& source);

}  // namespace penstock

#endif  // PENSTOCK_CLI_SHEET_MAKE_SHEET_H_
