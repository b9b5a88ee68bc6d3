// The part of DeviceBackend that works with other ranks.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/backend/device/device_backend.h"
#include "trainer/comm/gather.h"

namespace penstock {

absl::StatusOr<double> DeviceBackend::GatherLoss(const Sent& batch) {
  const PhaseScope phase(ranks_.size() > 1 ? recorder_ : nullptr, Phase::kCollective);
  const size_t first = FirstRowOf(ranks_.rank(), ranks_.size(), batch.global_rows);
  predictions_.resize(batch.global_rows * results());
  targets_.resize(batch.global_rows);
  const std::span<float> own =
      std::span(predictions_).subspan(first * results(), batch.rows * results());
  own_predictions_ = own;
  sender_->TakePredictions(batch.slot, batch.global_rows, own);
  sender_->TakeTargets(batch.slot, batch.global_rows,
                       std::span(targets_).subspan(first, batch.rows));
  const std::span<float> arrays[] = {predictions_, targets_};
  PENSTOCK_RETURN_IF_ERROR(GatherRows(ranks_, batch.global_rows, arrays));
  return LossSum(results(), predictions_, targets_) / static_cast<double>(batch.global_rows);
}

absl::Status DeviceBackend::Update(const Sent& batch) {
  StepLists& lists = ListsOf(batch);
  const GradientRange all{0, layout_.padded().arena_size()};
  auto exchange = [&](const Transfer& transfer) {
    return merge_->ranks().Exchange(transfer.out, transfer.in);
  };
  {
    const PhaseScope phase(recorder_, Phase::kCollective);
    PENSTOCK_RETURN_IF_ERROR(exchange(merge_->Exchange(all)));
  }
  PENSTOCK_RETURN_IF_ERROR(RunAndAwait(lists.middle, batch, "merge"));
  {
    const PhaseScope phase(recorder_, Phase::kCollective);
    PENSTOCK_RETURN_IF_ERROR(exchange(merge_->Gather(all)));
  }
  return RunAndAwait(lists.last, batch, "update");
}

const DeviceBackend::Sent& DeviceBackend::NewestThatExchanges(const Sent& batch) const {
  const Sent* newest = &batch;
  for (const Sent& begun : begun_) {
    const bool together = GroupOf(begun.slot) == GroupOf(batch.slot);
    if (together && progress_.exchanges(begun.slot)) newest = &begun;
  }
  return *newest;
}

const DeviceBackend::Sent& DeviceBackend::LastOfGroup(const Sent& batch) const {
  const auto last = std::find_if(begun_.rbegin(), begun_.rend(), [&](const Sent& begun) {
    return GroupOf(begun.slot) == GroupOf(batch.slot);
  });
  return *last;
}

// Waits for an exchange whose progress the device itself reports. Late ranks are therefore reported
// by bucket, and time in which the device only waits for other ranks counts as collective. Once an
// error has ended the wait, the device goes on.
absl::Status DeviceBackend::AwaitExchange(const Sent& batch) {
  Communicator& ranks = merge_->ranks();
  const PhaseScope phase(recorder_, Phase::kCompute);
  bool computed = false;
  uint64_t step = batch.step - 1;
  uint32_t bucket = 0;
  auto look = [&]() -> absl::StatusOr<Communicator::Queued> {
    const absl::StatusOr<bool> done = device_->Done(DoneOf(GroupOf(batch.slot)));
    const Sent& now = NewestThatExchanges(batch);
    step = now.step - 1;
    bucket = progress_.bucket(now.slot);
    if (!computed && recorder_ != nullptr && progress_.computed(LastOfGroup(batch).slot)) {
      computed = true;
      recorder_->Enter(Phase::kCollective);
    }
    PENSTOCK_RETURN_IF_ERROR(done.status());
    Communicator::Queued queued{.done = *done};
    if (progress_.exchanges(now.slot)) queued.place = {step, bucket};
    return queued;
  };
  const absl::Status status = ranks.AwaitQueued(look);
  return Annotate(status, absl::StrCat("the exchange of gradients of step ", step, ", bucket ",
                                       bucket, " of ", buckets_.size()));
}

absl::Status DeviceBackend::AwaitExchanges() {
  if (!Overlaps()) return absl::OkStatus();
  for (const Sent& batch : begun_) {
    if (batch.done) continue;
    PENSTOCK_RETURN_IF_ERROR(AwaitExchange(batch));
    MarkDone(batch);
  }
  return absl::OkStatus();
}

}  // namespace penstock
