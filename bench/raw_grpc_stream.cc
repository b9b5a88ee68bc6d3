#include "bench/raw_grpc_stream.h"

#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

// Sends one message until the reader cancels.
class Sender final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Sender(const grpc::ByteBuffer& message) : message_(message) { StartWrite(&message_); }

 private:
  void OnWriteDone(bool ok) override {
    if (ok) {
      StartWrite(&message_);
    } else {
      Finish(grpc::Status::CANCELLED);
    }
  }
  void OnDone() override { delete this; }

  grpc::ByteBuffer message_;
};

class Service final : public grpc::CallbackGenericService {
 public:
  explicit Service(size_t message_bytes) : bytes_(message_bytes, 'x') {
    grpc::Slice slice(bytes_.data(), bytes_.size(), grpc::Slice::STATIC_SLICE);
    message_ = grpc::ByteBuffer(&slice, 1);
  }

 private:
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new Sender(message_);
  }

  const std::string bytes_;
  grpc::ByteBuffer message_;
};

class Reader final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Reader(const std::shared_ptr<grpc::Channel>& channel, const RawGrpcStreamOptions& options)
      : options_(options), stub_(channel), slot_(options.message_bytes) {
    stub_.PrepareBidiStreamingCall(&context_, "/raw/Stream", {}, this);
    StartRead(&incoming_);
    StartCall();
  }
  // Waits for the end. Returns the bytes per second after the first message.
  absl::StatusOr<double> Wait() {
    MutexLock lock(&mutex_);
    while (!done_) changed_.Wait(&mutex_);
    if (bytes_ < options_.total_bytes) return absl::UnavailableError(status_.error_message());
    return static_cast<double>(bytes_) / std::chrono::duration<double>(end_ - begin_).count();
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (options_.copy) Copy();
    if (!started_) {
      started_ = true;
      begin_ = Clock::now();
    } else {
      bytes_ += incoming_.Length();
    }
    incoming_.Clear();
    if (bytes_ < options_.total_bytes) {
      StartRead(&incoming_);
    } else {
      end_ = Clock::now();
      context_.TryCancel();
    }
  }
  void OnDone(const grpc::Status& status) override {
    MutexLock lock(&mutex_);
    status_ = status;
    done_ = true;
    changed_.NotifyAll();
  }
  void Copy() {
    if (!incoming_.Dump(&slices_).ok()) return;
    uint8_t* out = slot_.data();
    for (const grpc::Slice& slice : slices_) {
      std::memcpy(out, slice.begin(), slice.size());
      out += slice.size();
    }
    slices_.clear();
  }

  const RawGrpcStreamOptions options_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer incoming_;
  std::vector<grpc::Slice> slices_;
  std::vector<uint8_t> slot_;
  bool started_ = false;
  uint64_t bytes_ = 0;
  Clock::time_point begin_;
  Clock::time_point end_;
  Mutex mutex_;
  CondVar changed_;
  grpc::Status status_;
  bool done_ = false;
};

}  // namespace

absl::StatusOr<double> MeasureRawGrpcStream(const RawGrpcStreamOptions& options) {
  Service service(options.message_bytes);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return absl::UnavailableError("gRPC could not listen on 127.0.0.1");
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Channels with the same arguments share a connection, unless each has a pool of its own.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  RawGrpcStreamOptions share = options;
  share.total_bytes /= options.connections;
  std::vector<std::unique_ptr<Reader>> readers;
  for (uint32_t i = 0; i < options.connections; ++i) {
    readers.push_back(std::make_unique<Reader>(
        grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port),
                                  grpc::InsecureChannelCredentials(), arguments),
        share));
  }
  absl::StatusOr<double> rate = 0;
  for (const auto& reader : readers) {
    absl::StatusOr<double> one = reader->Wait();
    if (!one.ok()) rate = one;
    if (rate.ok()) *rate += *one;
  }
  server->Shutdown(std::chrono::system_clock::now());
  return rate;
}

}  // namespace penstock
