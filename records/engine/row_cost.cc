#include "records/engine/row_cost.h"

#include <algorithm>
#include <span>

#include "records/format/variable_entry.h"
#include "records/image/image_info.h"

namespace penstock {
namespace {

// The scheduler's lock is held meanwhile, so only this part of an image is searched for its header.
constexpr size_t kHeaderBytes = size_t{256} << 10;
// For bytes without a header in this part.
constexpr uint64_t kNanosecondsOfByte = 20;

uint64_t Nanoseconds(std::span<const uint8_t> image) {
  const absl::StatusOr<ImageInfo> info =
      ProbeImage(image.first(std::min(image.size(), kHeaderBytes)));
  return info.ok() ? DecodeNanoseconds(*info, image.size()) : kNanosecondsOfByte * image.size();
}

uint64_t ImageCost(const RequestState& request, uint64_t row) {
  const SessionState& session = *request.window->session;
  const WindowRows& window = request.window->shared->rows;
  const uint8_t* packed = window.rows()[request.pattern.window_row(row)];
  uint64_t nanoseconds = 0;
  for (const size_t column : request.decoding->program.images().columns) {
    nanoseconds += Nanoseconds(LoadVariable(packed + session.layout->feature_offset(column)).bytes);
  }
  return static_cast<uint64_t>(static_cast<double>(CostOfTime(nanoseconds)) *
                               session.time_of_estimate);
}

}  // namespace

RowsCost CostOfNextRows(const RequestState& request, uint32_t most) {
  const uint64_t row_bytes = request.decoding->row_bytes;
  if (!request.decoding->program.images().decodes()) return {most, most * row_bytes};
  RowsCost cost;
  while (cost.rows < most) {
    const uint64_t bytes = std::max(row_bytes, ImageCost(request, request.next_row + cost.rows));
    if (cost.rows > 0 && cost.bytes + bytes > kLongCost) break;
    ++cost.rows;
    cost.bytes += bytes;
  }
  return cost;
}

}  // namespace penstock
