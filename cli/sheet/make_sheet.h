// A contact sheet of a dataset.
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
  v1::DecodeSpec spec;    // Of no tensors: the sheet shows the originals.
  std::string spec_name;  // What people call it.
  uint64_t rows = 36;
  uint64_t seed = 0;
  uint64_t epoch = 0;
  std::vector<std::string> class_names = {};
};

// The records that a sheet may show. All must outlive the calls that take it.
struct SheetSource {
  const Manifest* manifest = nullptr;  // Records are evenly spaced over it: files may be sorted.
  // Without a manifest: the first records of a shard, and how many it has.
  std::span<const std::string> payloads = {};
  uint64_t records = 0;
  const RecordFacts& facts;
};

// A record that cannot be decoded is shown with its reason. Errors otherwise as
// OriginalFeatures::Choose(), DecodedCells::Create() and SampleEvenly().
absl::StatusOr<ContactSheet> MakeSheet(const SheetOptions& options, const SheetSource& source);

}  // namespace penstock

#endif  // PENSTOCK_CLI_SHEET_MAKE_SHEET_H_
