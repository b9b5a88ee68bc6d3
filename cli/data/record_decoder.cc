#include "cli/data/record_decoder.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {

absl::StatusOr<RecordDecoder> RecordDecoder::Create(const Program& program,
                                                    uint64_t augmentation_key) {
  ChunkLayout layout(program.features(), "", /*holdout_threshold=*/0);
  PENSTOCK_ASSIGN_OR_RETURN(RecordPacker packer, RecordPacker::Create(layout));
  return RecordDecoder(program, augmentation_key, std::move(layout), std::move(packer));
}

RecordDecoder::RecordDecoder(const Program& program, uint64_t augmentation_key, ChunkLayout layout,
                             RecordPacker packer)
    : program_(program),
      augmentation_key_(augmentation_key),
      layout_(std::move(layout)),
      packer_(std::move(packer)),
      blocks_(program.tensors().size()) {}

absl::Status RecordDecoder::Add(std::span<const uint8_t> payload) {
  if (pending_ == rows_.size()) rows_.emplace_back();
  std::vector<uint8_t>& row = rows_[pending_];
  row.resize(layout_.row_bytes() + layout_.ValueBytes(payload.size()));
  uint8_t* values = row.data() + layout_.row_bytes();
  PENSTOCK_RETURN_IF_ERROR(packer_.Pack(payload, row.data(), values).status());
  ++pending_;
  return absl::OkStatus();
}

absl::Status RecordDecoder::Decode() {
  const uint64_t first = decoded_;
  const std::optional<DecodeFailure> failure = DecodePending();
  if (!failure.has_value()) return absl::OkStatus();
  return Annotate(failure->status, absl::StrCat("record ", first + failure->row));
}

absl::Status RecordDecoder::DecodeOne(std::span<const uint8_t> payload, uint64_t ordinal) {
  PENSTOCK_RETURN_IF_ERROR(Add(payload));
  decoded_ = ordinal;
  const std::optional<DecodeFailure> failure = DecodePending();
  return failure.has_value() ? failure->status : absl::OkStatus();
}

std::optional<DecodeFailure> RecordDecoder::DecodePending() {
  const size_t count = std::exchange(pending_, 0);
  std::vector<std::vector<const uint8_t*>> pointers(program_.features().size());
  std::vector<FeatureColumn> columns;
  for (size_t i = 0; i < pointers.size(); ++i) {
    for (size_t row = 0; row < count; ++row) {
      pointers[i].push_back(rows_[row].data() + layout_.feature_offset(i));
    }
    columns.push_back(pointers[i].data());
  }
  std::vector<uint8_t*> outputs;
  for (size_t t = 0; t < blocks_.size(); ++t) {
    blocks_[t].resize(count * program_.tensors()[t].row_bytes);
    outputs.push_back(blocks_[t].data());
  }
  std::vector<int64_t> ordinals(count);
  std::iota(ordinals.begin(), ordinals.end(), static_cast<int64_t>(decoded_));
  decoded_ += count;
  return program_
      .DecodeRows(columns, count, outputs, {.images = {images_.get(), augmentation_key_, ordinals}})
      .failure;
}

}  // namespace penstock
