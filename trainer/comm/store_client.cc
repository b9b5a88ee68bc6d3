#include "trainer/comm/store_client.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/mutex.h"
#include "base/process/start_thread.h"
#include "base/status.h"
#include "grpcpp/client_context.h"
#include "proto/rank_store.grpc.pb.h"
#include "trainer/comm/local_address.h"
#include "trainer/comm/store_channel.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

// Interval at which a wait polls conditions that notify no condition variable.
constexpr std::chrono::milliseconds kLook{50};
// The time within which a broken connection is detected.
constexpr absl::Duration kVerdictTimeout = absl::Seconds(5);

Clock::time_point DeadlineAfter(absl::Duration timeout) {
  return Clock::now() + absl::ToChronoMilliseconds(timeout);
}

// "rank 2" or "ranks 2, 3 and 5 more".
std::string Names(const std::vector<uint32_t>& ranks) {
  constexpr size_t kShown = 16;
  const size_t shown = std::min(ranks.size(), kShown);
  std::string text = absl::StrCat(
      ranks.size() == 1 ? "rank " : "ranks ",
      absl::StrJoin(ranks.begin(), ranks.begin() + static_cast<ptrdiff_t>(shown), ", "));
  if (ranks.size() > shown) absl::StrAppend(&text, " and ", ranks.size() - shown, " more");
  return text;
}

class GrpcStoreClient final : public StoreClient {
 public:
  explicit GrpcStoreClient(const RankInfo& info) : info_(info) {}
  ~GrpcStoreClient() override {
    Leave(absl::OkStatus());
    if (stream_ != nullptr) stream_->WritesDone();
    WaitForEnd(std::chrono::seconds(5));
    context_.TryCancel();
  }

  // kUnavailable: you may try again.
  absl::Status Start(const std::shared_ptr<grpc::Channel>& channel, absl::Duration timeout,
                     Clock::time_point deadline, const std::function<bool()>& should_stop);

  absl::Status Put(const std::string& key, const std::string& value) override;
  absl::Status PutForEach(const std::string& key, const std::vector<std::string>& values) override;
  absl::Status PutFor(uint32_t rank, const std::string& key, const std::string& value) override;
  absl::StatusOr<std::string> Get(const std::string& key, absl::Duration timeout) override;
  void Leave(const absl::Status& why) override;
  absl::Status lost() const override {
    MutexLock lock(&mutex_);
    return lost_;
  }
  absl::Status WaitForLost(absl::Duration timeout) const override;
  void OnLost(const void* owner, std::function<void(const absl::Status&)> callback) override;

 private:
  absl::Status StartListening();
  void Listen();
  void Take(const v1::StoreMessage& message);
  void Lose(const absl::Status& why);
  void EndStream(const grpc::Status& status);
  void WaitForEnd(std::chrono::milliseconds timeout);
  absl::Status Write(const v1::RankMessage& message);
  // Writes an entry. If the connection broke, returns which rank was lost.
  absl::Status WriteEntry(const v1::RankMessage& message);
  absl::Status NotAllHere(absl::Duration timeout) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const RankInfo info_;
  std::unique_ptr<v1::RankStore::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::RankMessage, v1::StoreMessage>> stream_;
  Mutex write_mutex_;  // Allows one write at a time.

  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::map<std::string, std::string> entries_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::vector<uint32_t>> missing_ ABSL_GUARDED_BY(mutex_);  // Absent until accepted.
  absl::Status lost_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> ended_ ABSL_GUARDED_BY(mutex_);  // Set when the stream ends.
  bool leaving_ ABSL_GUARDED_BY(mutex_) = false;
  struct Callback {
    const void* owner;
    std::function<void(const absl::Status&)> call;
  };
  Mutex callback_mutex_;  // Held while callbacks run.
  std::vector<Callback> callbacks_ ABSL_GUARDED_BY(callback_mutex_);
  std::jthread listener_;
};

absl::Status GrpcStoreClient::Write(const v1::RankMessage& message) {
  MutexLock lock(&write_mutex_);
  if (stream_->Write(message)) return absl::OkStatus();
  return absl::UnavailableError("the connection to rank 0's store was lost");
}

absl::Status GrpcStoreClient::WriteEntry(const v1::RankMessage& message) {
  const absl::Status status = Write(message);
  if (status.ok()) return status;
  const absl::Status why = WaitForLost(kVerdictTimeout);
  return why.ok() ? status : why;
}

absl::Status GrpcStoreClient::Start(const std::shared_ptr<grpc::Channel>& channel,
                                    absl::Duration timeout, Clock::time_point deadline,
                                    const std::function<bool()>& should_stop) {
  stub_ = v1::RankStore::NewStub(channel);
  stream_ = stub_->Join(&context_);
  v1::RankMessage hello;
  hello.mutable_hello()->set_job(info_.job);
  hello.mutable_hello()->set_generation(info_.generation);
  hello.mutable_hello()->set_rank(info_.rank);
  hello.mutable_hello()->set_world_size(info_.world_size);
  hello.mutable_hello()->set_host(LocalHostName());
  hello.mutable_hello()->set_pid(static_cast<uint32_t>(getpid()));
  (void)Write(hello);  // If the stream is broken, reading it says why.
  PENSTOCK_RETURN_IF_ERROR(StartListening());

  MutexLock lock(&mutex_);
  while (!(missing_.has_value() && missing_->empty())) {
    // Must come first: if other ranks are stopped too, they may have ended already.
    if (should_stop && should_stop())
      return absl::CancelledError("stopped while ranks were joining");
    if (ended_.has_value()) return *ended_;
    if (!lost_.ok()) return Annotate(lost_, "while ranks were joining");
    const Clock::time_point now = Clock::now();
    if (now >= deadline) return NotAllHere(timeout);
    changed_.WaitUntil(&mutex_, std::min(deadline, now + kLook));
  }
  return absl::OkStatus();
}

absl::Status GrpcStoreClient::NotAllHere(absl::Duration timeout) const {
  if (!missing_.has_value()) {
    return absl::UnavailableError("it accepted the connection but did not answer");
  }
  return absl::DeadlineExceededError(absl::StrCat(
      Names(*missing_), " of ", info_.world_size, " did not join within ",
      absl::FormatDuration(timeout),
      ": check their output, and that their hosts can connect to rank 0 at ", info_.rendezvous));
}

absl::Status GrpcStoreClient::StartListening() {
  auto listener = StartThread("that listens to rank 0", [this] { Listen(); });
  if (listener.ok()) {
    listener_ = *std::move(listener);
  } else {
    context_.TryCancel();
    EndStream(stream_->Finish());
  }
  return listener.status();
}

void GrpcStoreClient::Listen() {
  for (v1::StoreMessage message; stream_->Read(&message);) Take(message);
  EndStream(stream_->Finish());
}

void GrpcStoreClient::Take(const v1::StoreMessage& message) {
  if (message.kind_case() == v1::StoreMessage::kLost) {
    const std::string& why = message.lost().why();
    return Lose(message.lost().interrupted() ? absl::CancelledError(why)
                                             : absl::UnavailableError(why));
  }
  MutexLock lock(&mutex_);
  if (message.kind_case() == v1::StoreMessage::kPut) {
    entries_[message.put().key()] = message.put().value();
  } else if (message.kind_case() == v1::StoreMessage::kMissing) {
    missing_.emplace(message.missing().rank().begin(), message.missing().rank().end());
  } else if (message.kind_case() == v1::StoreMessage::kJoined && missing_.has_value()) {
    std::erase(*missing_, message.joined().rank());
  }
  changed_.NotifyAll();
}

void GrpcStoreClient::EndStream(const grpc::Status& status) {
  bool lost = false;
  {
    MutexLock lock(&mutex_);
    lost = missing_.has_value() && !leaving_;
  }
  // Must come first, so that no caller takes this for an error that may be retried.
  if (lost) {
    Lose(absl::UnavailableError(
        absl::StrCat("rank 0 died, or its host cannot be reached (", info_.rendezvous, ")")));
  }
  MutexLock lock(&mutex_);
  // A store that ends cancels its calls, which is not an interruption of this rank.
  const bool went = status.ok() || status.error_code() == grpc::StatusCode::CANCELLED;
  ended_ = went ? absl::UnavailableError("rank 0 has closed its store")
                : absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                               status.error_message());
  changed_.NotifyAll();
}

void GrpcStoreClient::Lose(const absl::Status& why) {
  {
    MutexLock lock(&mutex_);
    if (!lost_.ok()) return;
    lost_ = why;
    changed_.NotifyAll();
  }
  MutexLock lock(&callback_mutex_);
  for (const Callback& callback : std::exchange(callbacks_, {})) callback.call(why);
}

void GrpcStoreClient::OnLost(const void* owner, std::function<void(const absl::Status&)> callback) {
  MutexLock lock(&callback_mutex_);
  std::erase_if(callbacks_, [owner](const Callback& other) { return other.owner == owner; });
  if (!callback) return;
  if (const absl::Status why = lost(); !why.ok()) return callback(why);
  callbacks_.push_back({owner, std::move(callback)});
}

absl::Status GrpcStoreClient::Put(const std::string& key, const std::string& value) {
  v1::RankMessage message;
  message.mutable_put()->set_key(key);
  message.mutable_put()->set_value(value);
  return WriteEntry(message);
}

absl::Status GrpcStoreClient::PutForEach(const std::string& key,
                                         const std::vector<std::string>& values) {
  v1::RankMessage message;
  message.mutable_put()->set_key(key);
  message.mutable_put()->mutable_values()->Add(values.begin(), values.end());
  return WriteEntry(message);
}

absl::Status GrpcStoreClient::PutFor(uint32_t rank, const std::string& key,
                                     const std::string& value) {
  v1::RankMessage message;
  message.mutable_put()->set_key(key);
  message.mutable_put()->set_value(value);
  message.mutable_put()->set_to(rank);
  return WriteEntry(message);
}

absl::StatusOr<std::string> GrpcStoreClient::Get(const std::string& key, absl::Duration timeout) {
  const Clock::time_point deadline = DeadlineAfter(timeout);
  MutexLock lock(&mutex_);
  while (true) {
    if (const auto it = entries_.find(key); it != entries_.end()) return it->second;
    if (!lost_.ok()) return lost_;
    if (Clock::now() >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat("no rank published \"", key,
                                                      "\" in rank 0's store within ",
                                                      absl::FormatDuration(timeout)));
    }
    changed_.WaitUntil(&mutex_, deadline);
  }
}

void GrpcStoreClient::Leave(const absl::Status& why) {
  {
    MutexLock lock(&mutex_);
    if (std::exchange(leaving_, true) || stream_ == nullptr || ended_.has_value()) return;
  }
  v1::RankMessage message;
  message.mutable_leave()->set_error(std::string(why.message()));
  message.mutable_leave()->set_interrupted(absl::IsCancelled(why));
  (void)Write(message);  // A store that is gone needs no message.
}

absl::Status GrpcStoreClient::WaitForLost(absl::Duration timeout) const {
  const Clock::time_point deadline = DeadlineAfter(timeout);
  MutexLock lock(&mutex_);
  while (lost_.ok() && Clock::now() < deadline) changed_.WaitUntil(&mutex_, deadline);
  return lost_;
}

void GrpcStoreClient::WaitForEnd(std::chrono::milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  MutexLock lock(&mutex_);
  while (listener_.joinable() && !ended_.has_value() && Clock::now() < deadline) {
    changed_.WaitUntil(&mutex_, deadline);
  }
}

// Connects in slices, so that a stop is noticed.
absl::Status Connect(grpc::Channel& channel, Clock::time_point deadline,
                     const std::function<bool()>& should_stop) {
  while (Clock::now() < deadline) {
    if (should_stop && should_stop())
      return absl::CancelledError("stopped while ranks were joining");
    if (channel.WaitForConnected(std::chrono::system_clock::now() + 2 * kLook)) {
      return absl::OkStatus();
    }
  }
  return absl::UnavailableError(
      "no connection; start rank 0, and check that this host can connect to it");
}

}  // namespace

absl::StatusOr<std::unique_ptr<StoreClient>> StoreClient::Join(
    const RankInfo& info, absl::Duration timeout, const std::function<bool()>& should_stop) {
  const Clock::time_point deadline = DeadlineAfter(timeout);
  while (true) {
    const std::shared_ptr<grpc::Channel> channel = MakeStoreChannel(info.rendezvous);
    absl::Status status = Connect(*channel, deadline, should_stop);
    if (status.ok()) {
      auto client = std::make_unique<GrpcStoreClient>(info);
      status = client->Start(channel, timeout, deadline, should_stop);
      if (status.ok()) return client;
      if (!client->lost().ok()) return status;
      if (status.code() != absl::StatusCode::kUnavailable) client->Leave(status);
    }
    if (!absl::IsUnavailable(status)) return status;
    if (Clock::now() >= deadline) {
      return Annotate(status, absl::StrCat("rank 0 was not reached at ", info.rendezvous,
                                           " within ", absl::FormatDuration(timeout)));
    }
    std::this_thread::sleep_for(kLook);  // Pause between two attempts.
  }
}

}  // namespace penstock
