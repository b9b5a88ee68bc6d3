// Batches for one rank of a training: open a Loader, call Next() until it returns false.
//
//   penstock::LoaderOptions options;
//   options.global_batch_size = 4096;
//   auto loader = penstock::Loader::Open("data/manifest.pb", options);
//   if (!loader.ok()) return loader.status();
//   penstock::Batch batch;
//   absl::StatusOr<bool> more = (*loader)->Next(batch);
//   for (; more.ok() && *more; more = (*loader)->Next(batch)) Train(batch.tensors());
//   return more.status();
//
// Lifetimes: a Batch owns its memory until it is destroyed or passed to Next() again. Then the
// memory is filled with later rows, so views of an old batch (TensorView, spans) silently change;
// set LoaderOptions::check_views to find such views. Destroy all batches before their Loader.
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
#include "base/duration_histogram.h"
#include "base/span_sink.h"
#include "client/fetch/on_error.h"
#include "client/loader/decode_spec.h"
#include "client/loader/ragged_tensor.h"
#include "client/loader/slot_allocator.h"
#include "client/loader/tensor_view.h"
#include "client/plan/cursor.h"
#include "client/plan/plan_options.h"
#include "client/transport/network_options.h"
#include "records/dataset/manifest.h"
#include "records/image/image_note.h"

namespace penstock {

struct LoaderOptions {
  // Immutable; shared with the caller that loaded it. FetchManifest() fetches it from the servers.
  std::shared_ptr<const Manifest> manifest;
  // "local:" (decode in this process), or a list, separated by commas, of HOST:PORT,
  // dns:///HOST:PORT (every address of the name) and file:PATH (a file of addresses, or a folder of
  // such files as `penstock-server --address-file` writes). Names and files are followed while the
  // loader lives: servers that appear are used, and servers that vanish are dropped.
  std::string servers = "local:";
  NetworkOptions network;  // TLS, token and shared memory for servers other than "local:".
  // Folder of the shards for "local:"; empty: the manifest's own folder.
  std::string data_root;
  DecodeSpec spec;  // With at least one tensor.
  // The name of the spec, for errors about records that contradict it. If it is empty, these errors
  // do not name the spec.
  std::string spec_name;
  // The type of unpacked bits, such as chess planes. Other numbers keep their types.
  WireDtype dtype = WireDtype::kI8;
  PlanOptions plan;
  uint64_t global_batch_size = 256;  // Rows of a step, summed over all ranks.
  // The rule for the rows after an epoch's last full step. Absent: kShort for the holdout split, so
  // that an evaluation reads every row, and kDrop for the others.
  std::optional<Remainder> remainder = std::nullopt;
  uint64_t epochs = 1;     // 0 means no end.
  uint64_t max_steps = 0;  // 0 means no limit.
  uint32_t rank = 0;
  uint32_t world_size = 1;
  std::optional<Cursor> start;  // Absent means the beginning of epoch 0.
  bool record_ids = false;      // Fill in Batch::record_ids().
  // Servers send a CRC-32C with every part, and the loader verifies it; "local:" ignores this. If a
  // part fails, the loader breaks its server's stream and requests the rows again.
  bool checksums = false;
  // Applies to a record that two servers agree was damaged after it was indexed, or that the spec
  // cannot decode.
  OnError on_error = OnError::kFail;
  // Receives one line for each thing that an operator should know: replaced records, servers that
  // are late or away. A thread of the loader calls it and waits for it. It may call stats() and
  // Close(). If it throws an exception, the loader ends with kUnknown.
  std::function<void(absl::string_view)> report = nullptr;
  // Memory of all slots together, in bytes. There are at least two slots. 0 means 64 MiB, or four
  // slots if they take more.
  uint64_t look_ahead_bytes = 0;
  // The loader fails when no server was usable for this long.
  absl::Duration server_timeout = absl::Seconds(30);
  // For "local:" only. 0 means the cores this process may use.
  uint32_t local_threads = 0;
  // For "local:" only. 0 means a quarter of the memory limit.
  uint64_t local_memory_budget = 0;
  // Must outlive the loader. May be null; then slots have plain memory.
  SlotAllocator* slot_allocator = nullptr;
  // Gets the spans of its threads and of those of "local:". May be null.
  SpanSink* spans = nullptr;

  // Messages name command-line options (--lanes) instead of these members (plan.lanes). For
  // Penstock's own programs.
  bool messages_name_flags = false;
  // For debugging: fills the memory of released batches with 0xff, which are NaN and -1, and fills
  // it with rows only when the next batch is released. AddressSanitizer reports each access to it.
  // Takes one slot more.
  bool check_views = false;

  // The checks that Open() makes first. kInvalidArgument: the message names the option and the
  // values that it accepts. Open() checks the numbers that depend on the data.
  absl::Status Validate() const;
};

// One rank's rows of one step, or nothing. It holds nothing when it is made, and after Next()
// returned false or an error; then all numbers are 0.
//
// Owns its slot until it is destroyed or passed to Next() again. Must not outlive the loader.
// Move-only. Thread-compatible.
class Batch {
 public:
  Batch();
  ~Batch();
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;

  uint64_t step() const;  // Number of steps that this loader handed out before it.
  // Number of steps before it in a run that began at epoch 0, so that it goes on after a resume. If
  // the run had another global_batch_size, it is as if this one had been used throughout.
  uint64_t global_step() const;
  uint64_t epoch() const;      // Epoch of the global batch's first row.
  uint64_t position() const;   // Position of that row in its epoch.
  uint64_t first_row() const;  // Index in the global batch of this rank's first row.
  size_t global_rows() const;  // Rows of the global batch.
  bool last_of_epoch() const;  // No later batch begins in the same epoch.
  size_t rows() const;
  std::span<const TensorView> tensors() const;
  // The tensor with that name, or null.
  const TensorView* tensor(absl::string_view name) const;
  // The elements of all rows of the tensor with that name. kNotFound: there is none; the message
  // lists the names. kInvalidArgument: its elements are not of type T (TensorView::as()).
  template <typename T>
  absl::StatusOr<std::span<const T>> Values(absl::string_view name) const {
    absl::StatusOr<const TensorView*> found = Find(name, ElementDtype<T>());
    if (!found.ok()) return found.status();
    return (*found)->template as<T>();
  }
  // Returns the rows of a tensor without their padding, as a copy that this call makes. The spec
  // must give the tensor `ragged`, or `pad` with a length_tensor. kNotFound: no tensor has that
  // name. kInvalidArgument: no tensor has its lengths.
  absl::StatusOr<RaggedTensor> Ragged(absl::string_view name) const;
  // The cursor that resumes after this batch was consumed: the end of the global batch. It is the
  // same on all ranks.
  const Cursor& cursor() const;
  // The numbers of the rows' records in the manifest, counted over all shards. Empty unless
  // LoaderOptions::record_ids is set.
  std::span<const uint64_t> record_ids() const;

  struct Slot;  // Internal to the loader.

 private:
  friend class Loader;
  const Slot& slot() const;
  absl::Status NoSuchTensor(absl::string_view name) const;
  absl::StatusOr<const TensorView*> Find(absl::string_view name, Dtype dtype) const;
  Slot* slot_ = nullptr;
};

// Counts since Open().
struct LoaderStats {
  struct Server {
    std::string address;
    bool connected = false;
    // Whether the set of servers names it now. False once all batches have been fetched.
    bool named = false;
    uint64_t parts = 0;
    uint64_t rows = 0;
    uint64_t bytes = 0;
    uint64_t windows = 0;
    uint64_t requests_in_flight = 0;
    // Requests in flight when the stream broke. They were sent again elsewhere.
    uint64_t lost_requests = 0;
    uint64_t stream_breaks = 0;
    uint64_t checksum_failures = 0;  // Parts whose checksum did not match.
    // Number of times that the loader waited before it tried the server again.
    uint64_t backoffs = 0;
    uint64_t late_requests = 0;        // Requests that missed their deadline.
    uint64_t windows_handed_over = 0;  // Windows taken from it because it was late or silent.
    // Windows that it loaded although another server had to load them too.
    uint64_t extra_loads = 0;
    // "ok" if parts come through shared memory, empty if the server did not offer it, otherwise the
    // reason why they do not.
    std::string shared_memory;
    // The reason why there is no further connection although the server has work for it; empty if
    // this is not so.
    std::string no_further_connection;
    std::string problem;  // Why the server is not connected, if that is known.
  };
  std::vector<Server> servers;
  uint64_t batches = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;
  // Time inside Next() without a batch ready, including a call that still waits.
  absl::Duration wait;
  DurationHistogram waits;  // The ended calls of Next() by the same time.
  // Time spent copying or decoding rows into slots, summed over all threads.
  absl::Duration copying;
  // Time spent deciding what to request, by one thread at a time.
  absl::Duration scheduling;
  uint64_t slots = 0;
  uint64_t slot_bytes = 0;  // Bytes of each slot.
  // The reason why some servers of dns:/// or file: may be missing or out of date; empty if none
  // are.
  std::string servers_problem;
  // With OnError::kReplace, the damaged records that others replace: "SHARD: chunk at offset N,
  // record R (record M of the shard)".
  std::vector<std::string> damaged;
  uint64_t replaced_records = 0;  // Number of records that `damaged` stands for.
  // With OnError::kReplace, rows that others replace because their records cannot be decoded.
  uint64_t undecodable_rows = 0;
  // Images of the rows received, including batches that were not handed out yet. A row counts once,
  // even if several servers sent it. Servers of older releases report nothing.
  ImageCounts images;
};

// Fetches ahead on threads of its own: at most look_ahead_bytes, but at least two batches. Next()
// hands out batches in the plan's order, whatever the servers do.
//
// Thread-safe: you may call Close() and stats() while another thread is in Next(). Only one thread
// may be in Next() at a time.
//
// A child of fork() cannot use a loader of its parent: Next() returns kFailedPrecondition, and the
// destructor frees nothing. If a loader was open at fork(), Open() fails in the child, too. Call
// fork() before you open the first loader, or exec() after it.
class Loader {
 public:
  // Makes the loader and starts its threads. Does not wait for servers. Errors, in addition to
  // those of Validate() and MakeNetworkTransport():
  //   kInvalidArgument     an option does not fit the data, or the spec is wrong
  //   kNotFound            the data root of "local:" is missing
  //   kFailedPrecondition  the split has no records, `start` belongs to another order, or the
  //                        process was made by fork() while a loader was open
  //   kPermissionDenied    "local:" may not read the data root, or a shard's path that is absolute
  //   kResourceExhausted   no memory for a slot, no thread, or a row larger than servers send
  static absl::StatusOr<std::unique_ptr<Loader>> Open(LoaderOptions options);
  // Opens the dataset at a path, and sets options.manifest: a manifest, a folder (which is indexed
  // if it has no manifest.pb), or "server:PATH" on the servers. If options.spec has no tensors,
  // uses the spec that the manifest stores, or makes one from the records' features; options.report
  // says so. Other errors are those of reading and indexing: the path is missing, no dataset, or
  // damaged.
  static absl::StatusOr<std::unique_ptr<Loader>> Open(const std::string& dataset,
                                                      LoaderOptions options = {});
  // REQUIRES: every batch was destroyed. Otherwise the program aborts with a message.
  virtual ~Loader() = default;

  // Blocks until a batch is ready. Blocks for ever if all stats().slots of them are held and none
  // is released. Returns:
  //   true   `batch` holds the next rows (what it held before is released first)
  //   false  the last step was handed out
  //   error  it ends the loader: every later call returns the same error
  //     kUnavailable         no server was usable for server_timeout; the message names each server
  //                          and its reason, and why a name or file of `servers` could not be read
  //     kDataLoss            a damaged record: shard, offset, record, and which servers agree
  //     kAborted             a window that makes servers break, with its chunks
  //     kFailedPrecondition  a shard changed since it was indexed, or servers disagree
  //     kResourceExhausted   servers have no memory for a window, or no thread could be started
  //     kUnknown             LoaderOptions::report threw an exception
  //     kCancelled           Close() was called before any of these
  virtual absl::StatusOr<bool> Next(Batch& batch) = 0;

  // Like Next(), but waits at most `timeout`. kDeadlineExceeded: no batch was ready by then. This
  // error does not end the loader: call again.
  virtual absl::StatusOr<bool> Next(Batch& batch, absl::Duration timeout) = 0;

  // Like Next(), for a thread that hands batches on to a consumer elsewhere. It does not signal
  // that somebody waits, and stats().wait does not count it. The consumer's own waits are signalled
  // by NoteWaiting().
  virtual absl::StatusOr<bool> Take(Batch& batch) = 0;
  // Says that the consumer of batches that Take() returned can go on only with the batch of this
  // step(). Thread-safe.
  virtual void NoteWaiting(uint64_t step) = 0;

  // Whether Next() would return at once. Only the thread that calls Next() may call it.
  virtual bool Ready() const = 0;

  // Ends a blocked Next() with kCancelled. Slots that are released afterwards are not filled again.
  virtual void Close() = 0;

  virtual LoaderStats stats() const = 0;

  // Identifies the order that a cursor belongs to: a hash of content, split, seed and plan options.
  virtual uint64_t order_fingerprint() const = 0;
  // Number of steps in an epoch, full and short.
  virtual uint64_t steps_per_epoch() const = 0;
  // Number of steps that `epochs` leave from the start on, regardless of max_steps; 2^64 - 1 if
  // they have no end.
  virtual uint64_t steps_left() const = 0;

 protected:
  // Makes the batch that owns a filled slot.
  static Batch BatchOf(Batch::Slot& slot);
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_LOADER_H_
