// The service's RPCs, and the set of open streams.
#ifndef PENSTOCK_SERVER_PIECE_SERVICE_H_
#define PENSTOCK_SERVER_PIECE_SERVICE_H_

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "base/io/root.h"
#include "base/mutex.h"
#include "proto/pieces.pb.h"
#include "server/call_router.h"
#include "server/gate.h"
#include "server/service_limits.h"
#include "server/session_source.h"
#include "server/shared_memory_door.h"
#include "server/stream_reactor.h"

namespace penstock {

class FileReactor;

// Every RPC begins with Gate::Admit(), which checks its token. No tensor byte passes through a
// protobuf object. Thread-safe.
class PieceService final : private StreamOwner {
 public:
  // All arguments must outlive it. It must outlive the grpc::Server that serves its calls. `door`
  // may be null. `on_stream_end` is called on gRPC's threads.
  PieceService(SessionSource& source, const Root& root, Gate& gate, const ServiceLimits& limits,
               SharedMemoryDoor* door, std::function<void()> on_stream_end);
  ~PieceService();

  // Call it once, before the grpc::Server starts. kResourceExhausted: a thread could not be
  // started.
  absl::Status Start();

  // Adds Pieces, Manifest and Stats of proto/pieces.proto.
  void AddCallsTo(CallRouter& router);

  // Tells every stream, and refuses new ones from now on. Only the first call counts.
  void Drain(absl::Duration grace);
  // Sets v1::ServerStats::missing_data.
  void SetMissingData(const std::string& missing);
  size_t num_streams() const;
  // Whether no stream is open and no manifest is being sent. A drain waits for this.
  bool is_idle() const;
  // Delays new streams, and the end of streams, while it asks each stream.
  v1::ServerStats stats() const { return StatsFor(nullptr); }

 private:
  friend class FileReactor;
  friend class StatsReactor;

  CallReactor* Pieces(grpc::CallbackServerContext& context, OpenCall call);
  CallReactor* Manifest(grpc::CallbackServerContext& context, OpenCall call);
  CallReactor* Stats(grpc::CallbackServerContext& context, OpenCall call);

  // Returns what a client with this grant may see. If the grant has folders, that is its own
  // streams and the counters over all streams. Otherwise it is everything. `reader` is null if no
  // tokens are required.
  v1::ServerStats StatsFor(const Grant* reader) const;
  std::vector<std::shared_ptr<StreamReactor>> Streams() const;
  void OnStreamDone(StreamReactor* stream) override;
  void OnFileDone(FileReactor* file);
  absl::StatusOr<std::unique_ptr<FileSource>> OpenManifest(const Gate::Pass& pass,
                                                           const std::string& path,
                                                           const std::string& peer);
  absl::StatusOr<std::unique_ptr<FileSource>> TryOpenManifest(const Gate::Pass& pass,
                                                              const std::string& path);
  // Ends streams that were silent for too long or whose token was revoked. Tells streams that wait
  // for memory.
  void RunDeadlines();
  void EndSilentOnes();
  void TellThoseThatWait();
  // Says in the log that storage hangs, because nothing else happens then.
  void TellOfLongRead();
  void EndRevokedOnes();

  SessionSource& source_;
  const Root& root_;
  Gate& gate_;
  const ServiceLimits limits_;
  SharedMemoryDoor* const door_;
  const std::function<void()> on_stream_end_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  mutable Mutex mutex_;
  CondVar changed_;
  // Each stream with its grant. The grant is null if no tokens are required, or if the stream was
  // already ended.
  std::map<StreamReactor*, std::shared_ptr<const Grant>> streams_ ABSL_GUARDED_BY(mutex_);
  std::set<FileReactor*> files_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  std::string missing_data_ ABSL_GUARDED_BY(mutex_);
  // `streams` and `refused` count all streams. The other fields count the streams that have ended.
  v1::StreamTotals totals_ ABSL_GUARDED_BY(mutex_);
  std::jthread deadlines_;  // Last member: it uses all of the above.
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_PIECE_SERVICE_H_
