#include "trainer/comm/socket_communicator.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/comm/late_watch.h"
#include "trainer/comm/local_address.h"
#include "trainer/comm/poll.h"
#include "trainer/comm/socket_mesh.h"

namespace penstock {
namespace {

// Messages in one direction between this rank and another. Each follows its size.
class MessageQueue {
 public:
  void Add(const uint8_t* bytes, size_t size) {
    messages_.push_back({size, const_cast<uint8_t*>(bytes), size});
  }
  bool done() const { return next_ == messages_.size(); }

  // The remaining bytes of the first message that is not done.
  std::array<iovec, 2> Rest();
  // Records that `bytes` more have travelled. kInternal: the message has another size than its
  // receiver expects.
  absl::Status Advance(size_t bytes);

 private:
  struct Message {
    uint64_t told_size;  // The size as sent ahead of the bytes.
    uint8_t* bytes;
    size_t size;
  };
  std::vector<Message> messages_;
  size_t next_ = 0;
  size_t travelled_ = 0;  // Bytes of messages_[next_] and its size that have travelled.
};

std::array<iovec, 2> MessageQueue::Rest() {
  Message& message = messages_[next_];
  constexpr size_t kHead = sizeof message.told_size;
  const size_t head = std::min(travelled_, kHead), body = travelled_ - head;
  return {{{reinterpret_cast<uint8_t*>(&message.told_size) + head, kHead - head},
           {message.bytes + body, message.size - body}}};
}

absl::Status MessageQueue::Advance(size_t bytes) {
  const Message& message = messages_[next_];
  travelled_ += bytes;
  if (travelled_ < sizeof message.told_size) return absl::OkStatus();
  if (message.told_size != message.size) {
    return absl::InternalError(absl::StrCat(
        "it sent a message of ", message.told_size, " bytes where one of ", message.size,
        " was expected; start all ranks from the same build, with the same options"));
  }
  if (travelled_ == sizeof message.told_size + message.size) {
    ++next_;
    travelled_ = 0;
  }
  return absl::OkStatus();
}

// The messages between this rank and one other.
struct Lane {
  size_t peer;
  int socket;
  MessageQueue out, in;

  short events() const {
    return static_cast<short>((out.done() ? 0 : POLLOUT) | (in.done() ? 0 : POLLIN));
  }
};

// Moves what the socket accepts or has now. Sets `moved` if that is anything.
absl::Status SendSome(Lane& lane, bool& moved) {
  std::array<iovec, 2> rest = lane.out.Rest();
  msghdr message = {};
  message.msg_iov = rest.data();
  message.msg_iovlen = rest.size();
  const ssize_t bytes = sendmsg(lane.socket, &message, MSG_NOSIGNAL);
  if (bytes < 0) return errno == EAGAIN ? absl::OkStatus() : ErrnoToStatus(errno, "sending");
  moved = true;
  return lane.out.Advance(static_cast<size_t>(bytes));
}
absl::Status ReceiveSome(Lane& lane, bool& moved) {
  std::array<iovec, 2> rest = lane.in.Rest();
  const ssize_t bytes = readv(lane.socket, rest.data(), rest.size());
  if (bytes == 0) return absl::UnavailableError("that rank closed the connection");
  if (bytes < 0) return errno == EAGAIN ? absl::OkStatus() : ErrnoToStatus(errno, "receiving");
  moved = true;
  return lane.in.Advance(static_cast<size_t>(bytes));
}

absl::Status MoveSome(Lane& lane, short events, bool& moved) {
  constexpr short kBroken = POLLERR | POLLHUP;
  if (!lane.in.done() && (events & (POLLIN | kBroken)) != 0) {
    PENSTOCK_RETURN_IF_ERROR(ReceiveSome(lane, moved));
  }
  if (!lane.out.done() && (events & (POLLOUT | kBroken)) != 0) return SendSome(lane, moved);
  return absl::OkStatus();
}

class SocketCommunicator final : public Communicator {
 public:
  SocketCommunicator(const RankInfo& info, StoreClient& store, const TcpOptions& options,
                     std::unique_ptr<LossAlarm> alarm, std::vector<UniqueFd> sockets,
                     std::unique_ptr<LateWatch> watch)
      : rank_(info.rank),
        store_(store),
        timeout_(options.timeout),
        verdict_timeout_(options.verdict_timeout),
        alarm_(std::move(alarm)),
        sockets_(std::move(sockets)),
        watch_(std::move(watch)) {}

  size_t rank() const override { return rank_; }
  size_t size() const override { return sockets_.size(); }
  void Mark(uint64_t step, uint32_t bucket) override { watch_->Mark(step, bucket); }
  absl::Status Exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override;

 private:
  // One lane for each rank that exchanges messages with this one.
  std::vector<Lane> MakeLanes(const Travelling& travelling) const;
  absl::Status MoveAll(std::vector<Lane>& lanes);
  // Waits until something can move, moves it, and renews `patience`.
  absl::Status MoveReady(std::vector<Lane>& lanes, Patience& patience);
  // Turns a failed exchange with `peer` into the error that ends the communicator.
  absl::Status Fail(size_t peer, const absl::Status& status);

  const size_t rank_;
  StoreClient& store_;
  const absl::Duration timeout_, verdict_timeout_;
  const std::unique_ptr<LossAlarm> alarm_;
  const std::vector<UniqueFd> sockets_;
  const std::unique_ptr<LateWatch> watch_;
  std::vector<pollfd> polled_;
  absl::Status ended_;
};

absl::Status SocketCommunicator::Exchange(std::span<const Outgoing> out,
                                          std::span<const Incoming> in) {
  PENSTOCK_RETURN_IF_ERROR(ended_);
  PENSTOCK_RETURN_IF_ERROR(ended_ = store_.lost());
  Travelling travelling;
  PENSTOCK_RETURN_IF_ERROR(CopyOwn(rank(), size(), out, in, travelling));
  std::vector<Lane> lanes = MakeLanes(travelling);
  watch_->Begin();
  const absl::Status status = MoveAll(lanes);
  watch_->End();
  return status;
}

std::vector<Lane> SocketCommunicator::MakeLanes(const Travelling& travelling) const {
  std::vector<Lane> lanes(size());
  for (size_t peer = 0; peer < size(); ++peer) {
    lanes[peer].peer = peer;
    lanes[peer].socket = sockets_[peer].get();
  }
  for (const Outgoing& message : travelling.out) {
    lanes[message.to].out.Add(message.bytes.data(), message.bytes.size());
  }
  for (const Incoming& message : travelling.in) {
    lanes[message.from].in.Add(message.bytes.data(), message.bytes.size());
  }
  return lanes;
}

absl::Status SocketCommunicator::MoveAll(std::vector<Lane>& lanes) {
  Patience patience(timeout_);
  while (true) {
    std::erase_if(lanes, [](const Lane& lane) { return lane.events() == 0; });
    if (lanes.empty()) return absl::OkStatus();
    PENSTOCK_RETURN_IF_ERROR(MoveReady(lanes, patience));
  }
}

absl::Status SocketCommunicator::MoveReady(std::vector<Lane>& lanes, Patience& patience) {
  polled_.clear();
  for (const Lane& lane : lanes) polled_.push_back({lane.socket, lane.events(), 0});
  const absl::StatusOr<bool> going_on = alarm_->Poll(polled_, patience);
  if (!going_on.ok()) return Fail(lanes[0].peer, going_on.status());
  if (!*going_on) {
    return Fail(lanes[0].peer,
                absl::DeadlineExceededError(absl::StrCat("no data was sent or received for ",
                                                         absl::FormatDuration(timeout_))));
  }
  bool moved = false;
  for (size_t i = 0; i < lanes.size(); ++i) {
    const absl::Status status = MoveSome(lanes[i], polled_[i].revents, moved);
    if (!status.ok()) return Fail(lanes[i].peer, status);
  }
  if (moved) patience.Renew();
  return absl::OkStatus();
}

absl::Status SocketCommunicator::Fail(size_t peer, const absl::Status& status) {
  const absl::Status verdict = store_.WaitForLost(verdict_timeout_);
  const absl::Status failed =
      absl::IsInternal(status) ? status : absl::UnavailableError(status.message());
  ended_ = verdict.ok() ? ExplainFailedExchange(peer, failed, *watch_) : verdict;
  return ended_;
}

absl::StatusOr<std::string> OwnAddress(const RankInfo& info, const std::string& interface) {
  return interface.empty() ? LocalAddress(info) : InterfaceAddress(interface);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> ConnectSockets(const RankInfo& info,
                                                             StoreClient& store,
                                                             const TcpOptions& options) {
  auto alarm = std::make_unique<LossAlarm>(store);
  SocketMesh mesh(info, store, *alarm);
  PENSTOCK_ASSIGN_OR_RETURN(const std::string address, OwnAddress(info, options.interface));
  const absl::Status status = mesh.Connect(address, options.connect_timeout);
  if (!status.ok()) return ExplainNoConnection(store, options, address, status);
  PENSTOCK_ASSIGN_OR_RETURN(
      std::unique_ptr<LateWatch> watch,
      LateWatch::Start(
          info, store,
          {kSocketsName, absl::ToChronoMilliseconds(options.late_after), options.report}));
  return std::make_unique<SocketCommunicator>(info, store, options, std::move(alarm),
                                              mesh.TakeSockets(), std::move(watch));
}

}  // namespace penstock
