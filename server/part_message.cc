#include "server/part_message.h"

#include <atomic>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace penstock {
namespace {

// A part whose pieces gRPC is sending.
struct LentPart {
  PartBuffer part;
  std::atomic<size_t> pieces;

  static void ReturnPiece(void* lent) {
    auto* self = static_cast<LentPart*>(lent);
    if (self->pieces.fetch_sub(1, std::memory_order_acq_rel) == 1) delete self;
  }
};

}  // namespace

wire::PartHeader HeaderOf(const PartBuffer& part) {
  return {.request = part.request,
          .first_row = part.first_row,
          .rows = part.rows,
          .crc32c = part.crc32c};
}

grpc::ByteBuffer ToMessage(const wire::PartHeader& header, PartBuffer part) {
  uint8_t start[wire::kMaxPartHeaderBytes];
  const size_t start_size = wire::WritePartHeader(header, start);
  absl::InlinedVector<grpc::Slice, 5> slices = {grpc::Slice(start, start_size)};
  if (part.size() > 0) {
    const size_t num_pieces = part.pieces().size();
    auto* lent = new LentPart{std::move(part), num_pieces};
    for (const std::span<uint8_t> piece : lent->part.pieces()) {
      slices.emplace_back(piece.data(), piece.size(), &LentPart::ReturnPiece, lent);
    }
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace penstock
