#include "trainer/cuda/staged_communicator.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/comm/poll.h"

namespace penstock {

absl::Status StagedCommunicator::Reserve(size_t bytes) {
  if (bytes <= capacity_) return absl::OkStatus();
  pinned_.reset();
  capacity_ = 0;
  PENSTOCK_ASSIGN_OR_RETURN(pinned_, stream_.Allocate(DeviceStream::Place::kPinnedHost, bytes));
  capacity_ = bytes;
  return absl::OkStatus();
}

absl::Status StagedCommunicator::Copy(std::span<const uint8_t> from, uint8_t* to) {
  return from.empty() ? absl::OkStatus() : stream_.Copy(to, from.data(), from.size());
}

absl::Status StagedCommunicator::WaitForStream() {
  PENSTOCK_ASSIGN_OR_RETURN(const bool done,
                            PollUntil(Patience(timeout_), [this] { return stream_.Done(); }));
  if (done) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the GPU did not finish its work within ", absl::FormatDuration(timeout_)));
}

absl::Status StagedCommunicator::Barrier() {
  PENSTOCK_RETURN_IF_ERROR(ended_);
  return host_.Barrier();
}

absl::Status StagedCommunicator::Exchange(std::span<const Outgoing> out,
                                          std::span<const Incoming> in) {
  PENSTOCK_RETURN_IF_ERROR(ended_);
  const absl::Status status = RunExchange(out, in);
  if (!absl::IsInvalidArgument(status)) ended_ = status;
  return status;
}

absl::Status StagedCommunicator::RunExchange(std::span<const Outgoing> out,
                                             std::span<const Incoming> in) {
  size_t bytes = 0;
  for (const Outgoing& message : out) bytes += message.bytes.size();
  for (const Incoming& message : in) bytes += message.bytes.size();
  PENSTOCK_RETURN_IF_ERROR(Reserve(bytes));

  std::vector<Outgoing> host_out;
  std::vector<Incoming> host_in;
  uint8_t* place = pinned_.get();
  for (const Outgoing& message : out) {
    PENSTOCK_RETURN_IF_ERROR(Copy(message.bytes, place));
    host_out.push_back({message.to, {place, message.bytes.size()}});
    place += message.bytes.size();
  }
  for (const Incoming& message : in) {
    host_in.push_back({message.from, {place, message.bytes.size()}});
    place += message.bytes.size();
  }
  PENSTOCK_RETURN_IF_ERROR(WaitForStream());
  PENSTOCK_RETURN_IF_ERROR(host_.Exchange(host_out, host_in));
  for (size_t i = 0; i < in.size(); ++i) {
    PENSTOCK_RETURN_IF_ERROR(Copy(host_in[i].bytes, in[i].bytes.data()));
  }
  return WaitForStream();
}

}  // namespace penstock
