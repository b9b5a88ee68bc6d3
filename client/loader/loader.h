// Batches for one rank of a training: open a Loader, call Next() until it returns false.
//
//   penstock::LoaderOptions options;
//   PENSTOCK_ASSIGN_OR_RETURN(auto manifest, penstock::Manifest::Load("data/manifest.pb"));
//   options.manifest = std::make_shared<const penstock::Manifest>(std::move(manifest));
//   PENSTOCK_ASSIGN_OR_RETURN(options.spec, penstock::LoadSpec("chess"));
//   options.servers = "10.0.0.1:7070,10.0.0.2:7070";
//   options.global_batch_size = 4096;
//   PENSTOCK_ASSIGN_OR_RETURN(auto loader, penstock::Loader::Open(std::move(options)));
//   penstock::Batch batch;
//   while (true) {
//     PENSTOCK_ASSIGN_OR_RETURN(bool more, loader->Next(batch));
//     if (!more) break;
//     Train(batch.tensors());
//   }
#ifndef PENSTOCK_CLIENT_LOADER_LOADER_H_
#define PENSTOCK_CLIENT_LOADER_LOADER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/dtype.h"
#include "base/span_sink.h"
#include "client/fetch/on_error.h"
#include "client/loader/ragged_tensor.h"
#include "client/loader/slot_allocator.h"
#include "client/loader/tensor_view.h"
#include "client/plan/cursor.h"
#include "client/plan/plan_options.h"
#include "client/transport/network_options.h"
#include "proto/decode_spec.pb.h"
#include "records/dataset/manifest.h"
#include "records/image/image_note.h"

namespace penstock {

struct LoaderOptions {
  // Shared with whoever loaded it; immutable. FetchManifest() asks the servers for it.
  std::shared_ptr<const Manifest> manifest;
  // "local:" (decode in this process), or a list with commas of HOST:PORT, dns:///HOST:PORT (every
  // address of the name) and file:PATH (a file of addresses, or a folder of such files as
  // `penstock-server --address-file` writes). Names and files are followed while the loader lives:
  // servers that appear are used, those that vanish are let go.
  std::string servers = "local:";
  NetworkOptions network;  // TLS, token, shared memory of servers that are not "local:".
  // Folder of the shards for "local:"; empty: the manifest's own folder.
  std::string data_root;
  v1::DecodeSpec spec;  // Of one tensor at least: LoadSpec() of records/decode/spec.h.
  // The name of the spec in errors of records that contradict it, as in SpecChoice::name. If it is
  // empty, they do not name the spec.
  std::string spec_name;
  WireDtype dtype = WireDtype::kI8;
  PlanOptions plan;
  uint64_t global_batch_size = 512;
  Remainder remainder = Remainder::kDrop;
  uint64_t epochs = 1;     // 0: without end.
  uint64_t max_steps = 0;  // 0: no limit.
  uint32_t rank = 0;
  uint32_t world_size = 1;
  std::optional<Cursor> start;  // Absent: the beginning of epoch 0.
  bool record_ids = false;
  // Servers send a CRC-32C with every part, which is verified; "local:" has no use for it. A part
  // that fails costs its server the stream, and its rows are asked for again.
  bool checksums = false;
  // What becomes of a record that two servers agree was damaged after it was indexed, or that the
  // spec cannot decode.
  OnError on_error = OnError::kFail;
  // Told in one line what an operator should know: replaced records, servers that are late or away.
  // On a thread of the loader's, which waits for it; it may call stats() and Close().
  std::function<void(absl::string_view)> report = nullptr;
  // Memory of all slots, at least two. 0: 64 MiB, or four slots if they take more.
  uint64_t look_ahead_bytes = 0;
  absl::Duration server_timeout = absl::Seconds(30);  // Without any server: fail after this.
  uint32_t local_threads = 0;               // "local:" only; 0: the cores this process may use.
  uint64_t local_memory_budget = 0;         // "local:" only; 0: a quarter of the memory limit.
  SlotAllocator* slot_allocator = nullptr;  // Null: plain memory. Must outlive the loader.
  SpanSink* spans = nullptr;                // Of its threads, those of "local:" included.

  // What Open() looks at before all else. kInvalidArgument names the option and the values it
  // accepts. Numbers that depend on the data Open() judges.
  absl::Status Validate() const;
};

// One rank's rows of one step, or nothing: as it is made, and as Next() leaves it at the end or
// with an error; then all numbers are 0. Owns its slot until destroyed or passed to Next() again;
// it must not outlive the loader. Move-only. Thread-compatible.
class Batch {
 public:
  Batch();
  ~Batch();
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;

  uint64_t step() const;       // Steps handed out before this one by this loader.
  uint64_t epoch() const;      // Of the global batch's first row.
  uint64_t position() const;   // In the epoch, of the global batch's first row.
  uint64_t first_row() const;  // In the global batch, of this rank's first row.
  size_t global_rows() const;  // Of the global batch.
  bool last_of_epoch() const;  // No later batch begins in its epoch.
  size_t rows() const;
  std::span<const TensorView> tensors() const;
  // The tensor of that name, or null.
  const TensorView* tensor(absl::string_view name) const;
  // The rows of a tensor without their padding. It is a copy of what is real, made by this call.
  // The spec says `ragged` of the tensor, or `pad` with a length_tensor.
  // kNotFound: no tensor has that name; kInvalidArgument: no tensor has its lengths.
  absl::StatusOr<RaggedTensor> Ragged(absl::string_view name) const;
  // Where to resume after this batch was consumed: the global batch's end, the same on all ranks.
  const Cursor& cursor() const;
  // Numbers of the rows' records over the manifest; empty unless record_ids was asked for.
  std::span<const uint64_t> record_ids() const;

  struct Slot;  // The loader's own.

 private:
  friend class Loader;
  const Slot& slot() const;
  Slot* slot_ = nullptr;
};

// Counted since Open().
struct LoaderStats {
  struct Server {
    std::string address;
    bool connected = false;
    uint64_t parts = 0;
    uint64_t rows = 0;
    uint64_t bytes = 0;
    uint64_t windows = 0;
    uint64_t requests_in_flight = 0;
    uint64_t lost_requests = 0;  // In flight when its stream broke; asked again elsewhere.
    uint64_t stream_breaks = 0;
    uint64_t checksum_failures = 0;    // Parts that were not what the server had decoded.
    uint64_t backoffs = 0;             // Times that it was left alone before the next try.
    uint64_t late_requests = 0;        // Missed their deadline.
    uint64_t windows_handed_over = 0;  // Taken away from it, because it was late or silent.
    uint64_t extra_loads = 0;          // Windows that it loaded after another one had to.
    // "ok": parts come through shared memory; empty: it was not offered; else why they do not.
    std::string shared_memory;
    // Why a further connection, which it has work for, is done without; empty: it is not.
    std::string no_further_connection;
    std::string problem;  // Of a server that is not connected: why, where that is known.
  };
  std::vector<Server> servers;
  uint64_t batches = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;
  absl::Duration wait;        // Spent inside Next() without a batch ready, one under way included.
  absl::Duration copying;     // Spent copying or decoding rows into slots, by all threads that do.
  absl::Duration scheduling;  // Spent deciding what to ask for, by one thread at a time.
  uint64_t slots = 0;
  uint64_t slot_bytes = 0;  // Of each.
  // Why some servers of dns:/// or file: may be missing or out of date; empty: all is well.
  std::string servers_problem;
  // With OnError::kReplace, what others stand for: "SHARD: chunk at offset N, record R (record M of
  // the shard)".
  std::vector<std::string> damaged;
  uint64_t replaced_records = 0;  // How many records that are.
  // With OnError::kReplace, rows for which others stand since their records cannot be decoded.
  uint64_t undecodable_rows = 0;
  // Of the rows received, those of batches not handed out yet included. A row counts once, also
  // where several servers sent it. Servers of older releases note nothing.
  ImageCounts images;
};

// Fetches ahead on threads of its own, at most look_ahead_bytes or two batches. Next() hands
// batches out in the plan's order whatever the servers do.
// Thread-safe: Close() and stats() may be called while another thread is in Next(); Next() itself
// by one thread at a time.
class Loader {
 public:
  // kResourceExhausted, beside what Validate() says: memory of a slot, or a thread, cannot be had;
  // or a row is larger than servers send, which is known before any is asked.
  static absl::StatusOr<std::unique_ptr<Loader>> Open(LoaderOptions options);
  // Every batch must have been destroyed before.
  virtual ~Loader() = default;

  // Blocks until a batch is ready; for ever, if all stats().slots of them are held and none is
  // released. Returns:
  //   true   `batch` holds the next rows (what it held before is released first)
  //   false  the last step was handed out
  //   error  it ends the loader: every later call returns it too
  //     kUnavailable         no server was reachable for server_timeout; names each and its reason,
  //                          and why a name or file of `servers` could not be read
  //     kDataLoss            a damaged record: shard, offset, record, and which servers agree
  //     kAborted             a window that makes servers break, with its chunks
  //     kFailedPrecondition  a shard changed since it was indexed, or servers disagree
  //     kResourceExhausted   servers without memory for a window, or a thread that cannot be had
  //     kCancelled           Close() was called before any of these
  virtual absl::StatusOr<bool> Next(Batch& batch) = 0;

  // As Next(), for a thread that hands batches on to a consumer elsewhere and calls this instead:
  // it does not say that somebody waits, and stats().wait does not count it. The consumer's own
  // waits are told by NoteWaiting().
  virtual absl::StatusOr<bool> Take(Batch& batch) = 0;
  // The consumer of batches that Take() returned can go on only with the batch of this step().
  // Thread-safe.
  virtual void NoteWaiting(uint64_t step) = 0;

  // Whether Next() would return at once. By the thread that calls Next().
  virtual bool Ready() const = 0;

  // Ends a blocked Next() with kCancelled. A slot that is released from now on is not filled again.
  virtual void Close() = 0;

  virtual LoaderStats stats() const = 0;

  // What a cursor belongs to: content, split, seed and plan options.
  virtual uint64_t order_fingerprint() const = 0;
  // Full and short steps of one epoch.
  virtual uint64_t steps_per_epoch() const = 0;
  // Those that `epochs` leave from the start on, whatever max_steps is; 2^64 - 1: without end.
  virtual uint64_t steps_left() const = 0;

 protected:
  // The batch that owns a filled slot.
  static Batch BatchOf(Batch::Slot& slot);
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_LOADER_H_
