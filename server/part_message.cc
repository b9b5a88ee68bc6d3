#include "server/part_message.h"

#include <atomic>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace penstock {
namespace {

// A part whose bytes gRPC is sending.
struct LentPart {
  PartBuffer part;
  std::atomic<size_t> pieces;

  static void ReturnPiece(void* lent) {
    auto* self = static_cast<LentPart*>(lent);
    if (self->pieces.fetch_sub(1, std::memory_order_acq_rel) == 1) delete self;
  }
};

grpc::Slice StartOf(const wire::PartHeader& header) {
  if (header.has_lists()) return grpc::Slice(wire::EncodePartHeader(header));
  uint8_t start[wire::kMaxPartHeaderBytes];
  return grpc::Slice(start, wire::WritePartHeader(header, start));
}

}  // namespace

wire::PartHeader HeaderOf(const PartBuffer& part) {
  return {.request = part.request,
          .first_row = part.first_row,
          .rows = part.rows,
          .crc32c = part.crc32c,
          .replaced = part.replaced,
          .image_notes = part.image_notes};
}

grpc::ByteBuffer ToMessage(const wire::PartHeader& header, PartBuffer part) {
  absl::InlinedVector<grpc::Slice, 5> slices = {StartOf(header)};
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
