#include "trainer/comm/communicator.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {

absl::Status Communicator::Send(size_t to, std::span<const uint8_t> bytes) {
  const Outgoing out{to, bytes};
  return Exchange({&out, 1}, {});
}

absl::Status Communicator::Receive(size_t from, std::span<uint8_t> bytes) {
  const Incoming in{from, bytes};
  return Exchange({}, {&in, 1});
}

absl::Status Communicator::Queue(std::span<const Outgoing>, std::span<const Incoming>) {
  return absl::UnimplementedError("this communicator cannot queue exchanges");
}

absl::Status Communicator::AwaitQueued(absl::FunctionRef<absl::StatusOr<Queued>()>) {
  return absl::UnimplementedError("this communicator cannot queue exchanges");
}

absl::Status Communicator::Barrier() {
  std::vector<uint8_t> marks(size());
  std::vector<std::span<uint8_t>> parts;
  for (uint8_t& mark : marks) parts.push_back({&mark, 1});
  return AllGather(parts);
}

absl::Status Communicator::Broadcast(size_t root, std::span<uint8_t> bytes) {
  if (rank() != root) return Receive(root, bytes);
  std::vector<Outgoing> out;
  for (size_t r = 0; r < size(); ++r) {
    if (r != root) out.push_back({r, bytes});
  }
  return Exchange(out, {});
}

absl::Status Communicator::AllGather(std::span<const std::span<uint8_t>> parts) {
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (size_t r = 0; r < size(); ++r) {
    if (r == rank()) continue;
    out.push_back({r, parts[rank()]});
    in.push_back({r, parts[r]});
  }
  return Exchange(out, in);
}

absl::Status Communicator::AllToAll(std::span<const std::span<const uint8_t>> out,
                                    std::span<const std::span<uint8_t>> in) {
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  for (size_t r = 0; r < size(); ++r) {
    outgoing.push_back({r, out[r]});
    incoming.push_back({r, in[r]});
  }
  return Exchange(outgoing, incoming);
}

absl::Status SingleCommunicator::Exchange(std::span<const Outgoing> out,
                                          std::span<const Incoming> in) {
  Travelling travelling;
  return CopyOwn(0, 1, out, in, travelling);
}

absl::Status CopyOnHost(uint8_t* to, const uint8_t* from, size_t bytes) {
  std::memmove(to, from, bytes);
  return absl::OkStatus();
}

absl::Status CopyOwn(size_t rank, size_t size, std::span<const Communicator::Outgoing> out,
                     std::span<const Communicator::Incoming> in, Travelling& travelling,
                     CopyBytes copy) {
  std::vector<std::span<const uint8_t>> own;
  for (const auto& message : out) {
    if (message.to >= size) {
      return absl::InvalidArgumentError(absl::StrCat(
          "rank ", message.to, " does not exist: there are ", size, " ranks, counted from 0"));
    }
    if (message.to == rank) {
      own.push_back(message.bytes);
    } else {
      travelling.out.push_back(message);
    }
  }
  size_t copied = 0;
  for (const auto& message : in) {
    if (message.from >= size) {
      return absl::InvalidArgumentError(absl::StrCat(
          "rank ", message.from, " does not exist: there are ", size, " ranks, counted from 0"));
    }
    if (message.from != rank) {
      travelling.in.push_back(message);
      continue;
    }
    if (copied == own.size() || own[copied].size() != message.bytes.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("rank ", rank, " receives a message from itself that it does not send"));
    }
    if (!message.bytes.empty()) {
      PENSTOCK_RETURN_IF_ERROR(
          copy(message.bytes.data(), own[copied].data(), message.bytes.size()));
    }
    ++copied;
  }
  if (copied == own.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("rank ", rank, " sends a message to itself that it does not receive"));
}

}  // namespace penstock
