#include "trainer/input/board_reader.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "kernels/reference/board_features.h"

namespace penstock {
namespace {

absl::Status Unsupported(const InputBatch& batch) {
  return absl::InvalidArgumentError(
      absl::StrCat("the board model cannot read these tensors: ", DescribeTensors(batch),
                   "; it takes packed d (u8, 194) and s (i64), or planes (64 x 24) and flags (10) "
                   "as i8 or f32 with score (f32): use --dtype packed, i8 or f32"));
}

}  // namespace

absl::StatusOr<BatchRows> BoardReader::Read(const InputBatch& batch) {
  PENSTOCK_RETURN_IF_ERROR(CheckRowBytes(batch));
  return batch.tensor("d") != nullptr ? ReadPacked(batch) : ReadDecoded(batch);
}

absl::StatusOr<BatchRows> BoardReader::ReadPacked(const InputBatch& batch) {
  const TensorView* d = batch.tensor("d");
  const TensorView* s = batch.tensor("s");
  if (!IsTensor(d, Dtype::kU8, reference::kPackedBoardBytes) ||
      !IsTensor(s, Dtype::kI64, sizeof(int64_t))) {
    return Unsupported(batch);
  }
  scores_.resize(batch.rows);
  for (size_t first = 0; first < batch.rows; first += kScoreBlock) {
    const size_t count = std::min(kScoreBlock, batch.rows - first);
    int64_t stored[kScoreBlock] = {};
    uint8_t mates[kScoreBlock] = {};
    double scores[kScoreBlock];
    std::memcpy(stored, s->bytes.data() + first * sizeof(int64_t), count * sizeof(int64_t));
    for (size_t i = 0; i < count; ++i) {
      const uint8_t* record = d->bytes.data() + (first + i) * reference::kPackedBoardBytes;
      mates[i] = reference::PackedBit(record, reference::kMateBit);
    }
    MateScores(params_, BestSimdLevel(), stored, mates, scores);
    std::transform(scores, scores + count, scores_.begin() + static_cast<ptrdiff_t>(first),
                   [](double score) { return static_cast<float>(score); });
  }
  return BatchRows{kPackedBoards, batch.rows, d->bytes.data(), nullptr, scores_.data()};
}

absl::StatusOr<BatchRows> BoardReader::ReadDecoded(const InputBatch& batch) {
  const TensorView *planes = batch.tensor("planes"), *flags = batch.tensor("flags");
  const TensorView* score = batch.tensor("score");
  for (InputFormat format : {kI8Boards, kF32Boards}) {
    const Dtype dtype = format == kI8Boards ? Dtype::kI8 : Dtype::kF32;
    if (!IsTensor(planes, dtype, format.input_bytes) ||
        !IsTensor(flags, dtype, format.flags_bytes) ||
        !IsTensor(score, Dtype::kF32, sizeof(float))) {
      continue;
    }
    scores_.resize(batch.rows);
    std::memcpy(scores_.data(), score->bytes.data(), score->bytes.size());
    return BatchRows{format, batch.rows, planes->bytes.data(), flags->bytes.data(), scores_.data()};
  }
  return Unsupported(batch);
}

}  // namespace penstock
