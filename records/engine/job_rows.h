// The rows of a job, decoded into a part or by the client itself.
#ifndef PENSTOCK_RECORDS_ENGINE_JOB_ROWS_H_
#define PENSTOCK_RECORDS_ENGINE_JOB_ROWS_H_

#include <optional>
#include <utility>

#include "records/engine/job.h"
#include "records/engine/piece.h"
#include "records/engine/row_source.h"
#include "records/engine/undecodable.h"

namespace penstock {

// REQUIRES: the job is of kind kDecode.
inline Piece PieceOf(const Job& job) {
  return {*job.request->decoding,
          *job.session->layout,
          *job.window->shared,
          job.request->pattern,
          job.begin,
          job.rows,
          job.session->record_ids};
}

// Hands the rows of a job to a client. The job and the decoder must outlive it. Not thread-safe.
class JobRows final : public RowSource {
 public:
  JobRows(const Job& job, PieceDecoder& decoder)
      : job_(job), piece_(PieceOf(job)), decoder_(decoder) {
    decoder_.Begin();
  }
  uint64_t request() const override { return job_.request->number; }
  uint32_t first_row() const override { return static_cast<uint32_t>(job_.begin); }
  uint32_t rows() const override { return job_.rows; }
  size_t row_bytes() const override { return job_.request->decoding->row_bytes; }
  bool Decode(uint32_t begin, uint32_t n, std::span<uint8_t* const> outputs) override {
    PieceOutcome outcome = decoder_.DecodeRows(piece_, begin, n, outputs, Stores::kStreaming);
    decoded_.counters += outcome.counters;
    if (!outcome.failure) return true;
    if (!failed_) failed_ = std::move(outcome);
    return false;
  }
  ImageCounts images() const override { return decoded_.counters.images; }
  absl::Status failure() const override {
    if (!failed_) return absl::OkStatus();
    const uint64_t row = job_.request->pattern.window_row(job_.begin + failed_->failure->row);
    return Undecodable(*job_.window, row, *failed_).status;
  }
  const Decoded& decoded() const { return decoded_; }
  // The outcome of the first call that failed. Its row is a row of the piece.
  const std::optional<PieceOutcome>& failed() const { return failed_; }

 private:
  const Job& job_;
  const Piece piece_;
  PieceDecoder& decoder_;
  Decoded decoded_;
  std::optional<PieceOutcome> failed_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_JOB_ROWS_H_
