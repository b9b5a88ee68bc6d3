// penstock pack --from npy and --from npz.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/pack/array_records.h"
#include "cli/pack/pack_gathered.h"
#include "cli/pack/pack_inputs.h"

namespace penstock {
namespace {

using Sources = std::vector<std::unique_ptr<ByteSource>>;

}  // namespace

absl::Status PackArrays(PackOptions options) {
  const absl::StatusOr<Columns> columns = Columns::Parse(options.columns);
  if (!columns.ok()) return UsageError(absl::StrCat("--columns: ", columns.status().message()));
  const std::string kind = absl::StrCat(options.from, " ", options.columns);
  if (options.from == "npy") {
    const auto open = [&](Sources sources) {
      return ArrayRecords::OpenNpy(std::move(sources), *columns);
    };
    const std::vector<InputFiles> together = {options.inputs};
    return PackGathered(together, open, kind, std::move(options));
  }
  const auto open = [&](Sources sources) {
    return ArrayRecords::OpenNpz(std::move(sources[0]), *columns);
  };
  const std::vector<InputFiles> archives = EachAlone(options.inputs);
  return PackGathered(archives, open, kind, std::move(options));
}

}  // namespace penstock
