#include "records/container/image_file.h"

#include <algorithm>

#include "base/bytes_of.h"

namespace penstock {

absl::StatusOr<RecordCutter::Cut> ImageFileCutter::Next(std::span<const uint8_t> bytes,
                                                        bool at_end) {
  if (taken_ && bytes.empty()) return Cut{};
  if (bytes.empty() && at_end) return absl::DataLossError("the file is empty");
  if (!at_end) {
    constexpr uint64_t kLeast = uint64_t{256} << 10;
    return Cut{Cut::What::kMore, std::max<uint64_t>(kLeast, 2 * bytes.size()), {}};
  }
  const int64_t label = label_;
  builder_.Clear();
  builder_.AddInt64("image/class/label", std::span(&label, 1));
  builder_.AddBytes("image/encoded", bytes);
  builder_.AddBytes("image/filename", BytesOf(name_));
  taken_ = true;
  return Cut{Cut::What::kRecord, bytes.size(), builder_.Serialize()};
}

}  // namespace penstock
