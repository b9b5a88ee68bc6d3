#include "trainer/loop/read_batch.h"

#include "absl/status/statusor.h"

namespace penstock {

Intent ReadBatch(Input& input, const std::function<bool()>& should_stop, InputBatch& batch,
                 absl::Status& status) {
  const auto stops = [&] { return should_stop && should_stop(); };
  if (stops()) return Intent::kStop;
  const absl::StatusOr<bool> more = input.Next(batch);
  if (more.ok()) return *more ? Intent::kGo : Intent::kEnd;
  if (absl::IsCancelled(more.status()) && stops()) return Intent::kStop;
  status = more.status();
  return Intent::kFailed;
}

}  // namespace penstock
