// Reads any text as the JSON of a checkpoint. Accepted text must survive writing and reading again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "trainer/checkpoint/checkpoint_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto info = penstock::CheckpointInfoFromJson({reinterpret_cast<const char*>(data), size});
  if (!info.ok()) return 0;
  const auto table = penstock::ParameterTable::For(info->model);
  const auto again = penstock::CheckpointInfoFromJson(CheckpointInfoToJson(*info, table));
  if (!again.ok() || !(*again == *info)) abort();
  return 0;
}
