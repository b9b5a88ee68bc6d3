// penstock pack --from npy and --from npz.
#include <memory>
#include <utility>
#include <vector>

#include "cli/pack/array_records.h"
#include "cli/pack/pack_gathered.h"
#include "cli/pack/pack_inputs.h"

namespace penstock {
namespace {

using Sources = std::vector<std::unique_ptr<ByteSource>>;

}  // namespace

absl::Status PackArrays(PackOptions options) {
  if (options.from == "npy") {
    const std::vector<InputFiles> together = {options.inputs};
    return PackGathered(together, &ArrayRecords::OpenNpy, "npy", std::move(options));
  }
  const auto open = [](Sources sources) { return ArrayRecords::OpenNpz(std::move(sources[0])); };
  const std::vector<InputFiles> archives = EachAlone(options.inputs);
  return PackGathered(archives, open, "npz", std::move(options));
}

}  // namespace penstock
