// penstock pack --from csv and --from jsonl.
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/pack/csv_records.h"
#include "cli/pack/json_records.h"
#include "cli/pack/pack_gathered.h"
#include "cli/pack/pack_inputs.h"
#include "cli/pack/table_columns.h"

namespace penstock {
namespace {

using OpenTable = absl::StatusOr<std::unique_ptr<InputRecords>> (*)(std::unique_ptr<ByteSource>,
                                                                    TableColumns&);

// Reports the columns and types of the first file, in the form of --columns.
void TellColumns(const TableColumns& table) {
  PrintEscaped(stderr, "penstock: packing with --columns %s\n", table.columns().Text());
}

}  // namespace

absl::Status PackTables(PackOptions options) {
  absl::StatusOr<Columns> columns = Columns::Parse(options.columns);
  if (!columns.ok()) return UsageError(absl::StrCat("--columns: ", columns.status().message()));
  TableColumns table(*std::move(columns));
  const OpenTable open_table = options.from == "csv" ? &CsvRecords::Open : &JsonRecords::Open;
  const auto open = [&](std::vector<std::unique_ptr<ByteSource>> sources) {
    const bool first = !table.known();
    absl::StatusOr<std::unique_ptr<InputRecords>> records =
        open_table(std::move(sources[0]), table);
    if (first && records.ok()) TellColumns(table);
    return records;
  };
  const std::string kind = absl::StrCat(options.from, " ", options.columns);
  const std::vector<InputFiles> files = EachAlone(options.inputs);
  return PackGathered(files, open, kind, std::move(options));
}

}  // namespace penstock
