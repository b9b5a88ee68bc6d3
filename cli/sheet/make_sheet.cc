#include "cli/sheet/make_sheet.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/data/record_sample.h"
#include "cli/sheet/decoded_cells.h"
#include "cli/sheet/original_cells.h"
#include "client/plan/epoch_order.h"

namespace penstock {
namespace {

uint64_t RecordsOf(const SheetSource& source) {
  return source.manifest ? source.manifest->num_records(Split::kAll) : source.records;
}

absl::Status ForEachRow(
    const SheetSource& source, uint64_t rows,
    absl::FunctionRef<void(uint64_t record, std::span<const uint8_t> payload)> visit) {
  if (source.manifest != nullptr) return SampleEvenly(*source.manifest, rows, visit);
  for (size_t i = 0; i < std::min<size_t>(rows, source.payloads.size()); ++i) {
    visit(i, BytesOf(source.payloads[i]));
  }
  return absl::OkStatus();
}

std::string WhichRecords(const SheetSource& source, size_t shown) {
  const uint64_t all = RecordsOf(source);
  if (shown >= all) return Counted(all, "record", "records");
  return absl::StrCat(source.manifest ? "" : "the first ", shown, " of ",
                      Counted(all, "record", "records"),
                      source.manifest ? ", spread over the data" : "");
}

absl::Status AddDecoded(const SheetOptions& options, const SheetSource& source,
                        ContactSheet& sheet) {
  PENSTOCK_ASSIGN_OR_RETURN(
      DecodedCells cells,
      DecodedCells::Create(options.spec, AugmentationKeyOf(options.seed, options.epoch),
                           options.class_names));
  PENSTOCK_RETURN_IF_ERROR(
      ForEachRow(source, options.rows, [&](uint64_t record, std::span<const uint8_t> payload) {
        sheet.cells.push_back(cells.Make(record, payload));
      }));
  sheet.subtitle =
      absl::StrCat(WhichRecords(source, sheet.cells.size()), "; spec ", options.spec_name,
                   ", seed ", options.seed, ", epoch ", options.epoch);
  return absl::OkStatus();
}

absl::Status AddOriginals(const SheetOptions& options, const SheetSource& source,
                          ContactSheet& sheet) {
  const RecordFacts& facts = source.facts;
  PENSTOCK_ASSIGN_OR_RETURN(
      const OriginalFeatures features,
      OriginalFeatures::Choose(facts.format(), facts.Features(), facts.Images()));
  const uint64_t rows = std::min(options.rows, RecordsOf(source));
  OriginalCells cells(features, options.class_names, PictureSide(rows));
  PENSTOCK_RETURN_IF_ERROR(
      ForEachRow(source, rows, [&](uint64_t record, std::span<const uint8_t> payload) {
        sheet.cells.push_back(cells.Make(record, payload));
      }));
  sheet.subtitle =
      absl::StrCat(WhichRecords(source, sheet.cells.size()), "; originals of ", features.image);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ContactSheet> MakeSheet(const SheetOptions& options, const SheetSource& source) {
  ContactSheet sheet{.title = options.title, .subtitle = {}, .cells = {}};
  PENSTOCK_RETURN_IF_ERROR(options.spec.tensor().empty() ? AddOriginals(options, source, sheet)
                                                         : AddDecoded(options, source, sheet));
  return sheet;
}

}  // namespace penstock
