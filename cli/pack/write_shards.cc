#include "cli/pack/write_shards.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/byte_size.h"
#include "base/bytes_of.h"
#include "base/io/atomic_file.h"
#include "base/io/text_file.h"
#include "base/mutex.h"
#include "base/permutation.h"
#include "base/process/machine_limits.h"
#include "base/process/start_thread.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/pack/shard_staging.h"
#include "cli/terminal/interrupt.h"
#include "records/dataset/chunk_size.h"
#include "records/format/shard_writer.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// Returns the number of the record at each place of the output.
std::vector<uint32_t> Order(uint64_t size, const std::optional<uint64_t>& seed) {
  std::vector<uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  if (seed.has_value()) Shuffle(order, *seed);
  return order;
}

// Returns a key for the source and the options that determine the bytes of the shards.
std::string KeyOf(const RecordSource& source, const ShardOptions& options) {
  if (source.key().empty()) return "";
  return absl::StrCat("penstock pack 1 ", source.key(), " ", CompressionName(options.compression),
                      " ", options.records_per_shard, " ",
                      options.seed ? absl::StrCat("seed ", *options.seed) : "in order", "\n");
}

// Returns the same status, with its payloads, and with `text` after its message.
absl::Status Append(const absl::Status& status, const std::string& text) {
  absl::Status longer(status.code(), absl::StrCat(status.message(), text));
  status.ForEachPayload(
      [&](absl::string_view type, const absl::Cord& payload) { longer.SetPayload(type, payload); });
  return longer;
}

absl::StatusOr<uint64_t> SizeOf(const std::vector<std::string>& paths) {
  uint64_t bytes = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    bytes += fs::file_size(path, error);
    if (error) return ErrnoToStatus(error.value(), path);
  }
  return bytes;
}

// One call of WriteShards().
class PackRun {
 public:
  PackRun(const RecordSource& source, const ShardOptions& options, const PackCallbacks& callbacks,
          ShardStaging& staging)
      : source_(source),
        options_(options),
        callbacks_(callbacks),
        staging_(staging),
        writer_options_{options.compression, ChunkTarget(source.estimated_bytes())},
        num_shards_(NumShards(source.size(), source.estimated_bytes(), options.records_per_shard)),
        order_(Order(source.size(), options.seed)),
        notes_(num_shards_) {}

  absl::StatusOr<WrittenShards> Run(const std::vector<std::string>& existing) {
    FindFinished();
    if (absl::Status status = WriteAll(); !status.ok()) return Advise(status);
    WrittenShards written = Summary();
    if (written.records == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "no record is left: all ", Grouped(written.num_skipped),
          " were skipped, the first for this reason: ", source_.Name(written.skipped[0].index),
          ": ", written.skipped[0].reason));
    }
    if (callbacks_.before_naming) PENSTOCK_RETURN_IF_ERROR(callbacks_.before_naming());
    PENSTOCK_RETURN_IF_ERROR(staging_.BeginPlacing());
    PENSTOCK_RETURN_IF_ERROR(PlaceAll(written.paths));
    PENSTOCK_RETURN_IF_ERROR(RemoveStale(existing, written.paths));
    PENSTOCK_RETURN_IF_ERROR(staging_.Remove());
    PENSTOCK_ASSIGN_OR_RETURN(written.bytes, SizeOf(written.paths));
    return written;
  }

 private:
  std::string FileOf(uint64_t shard) const { return ShardFile(options_.name, shard, num_shards_); }
  std::string NotesPath(uint64_t shard) const {
    return staging_.PathOf(absl::StrCat(FileOf(shard), ".notes"));
  }

  // Returns the shard's part of order_.
  std::span<const uint32_t> PartOf(uint64_t shard) const {
    const auto bound = [&](uint64_t s) {
      return options_.records_per_shard > 0
                 ? std::min<uint64_t>(order_.size(), s * options_.records_per_shard)
                 : s * order_.size() / num_shards_;
    };
    return std::span(order_).subspan(bound(shard), bound(shard + 1) - bound(shard));
  }

  void FindFinished() {
    uint64_t shards = 0, records = 0;
    for (uint64_t shard = 0; shard < num_shards_; ++shard) {
      notes_[shard] = FinishedShard(shard);
      if (!notes_[shard]) continue;
      ++shards;
      records += PartOf(shard).size();
    }
    if (callbacks_.on_finished) callbacks_.on_finished(shards, records);
  }

  // Returns the notes of a shard that an earlier run finished. If that run skipped records of the
  // shard and now none may be skipped, the shard must be written again.
  std::optional<ShardNotes> FinishedShard(uint64_t shard) const {
    if (!staging_.placing() && access(staging_.PathOf(FileOf(shard)).c_str(), F_OK) != 0) {
      return std::nullopt;
    }
    const absl::StatusOr<std::string> text = ReadTextFile(NotesPath(shard), uint64_t{16} << 20);
    absl::StatusOr<ShardNotes> notes = text.ok() ? ShardNotes::Parse(*text) : text.status();
    if (!notes.ok() || (notes->num_skipped > 0 && !options_.skip_invalid)) return std::nullopt;
    return *std::move(notes);
  }

  absl::Status WriteAll() {
    const size_t wanted =
        options_.threads > 0 ? static_cast<size_t>(options_.threads) : ReadMachineLimits().cores;
    {
      // This thread counts as one of them. If some cannot be started, the others do their work.
      std::vector<std::jthread> others;
      while (others.size() + 1 < std::min<uint64_t>(wanted, num_shards_)) {
        absl::StatusOr<std::jthread> other = StartThread("that packs", [this] { WriteSome(); });
        if (!other.ok()) break;
        others.push_back(*std::move(other));
      }
      WriteSome();
    }
    MutexLock lock(&mutex_);
    return status_;
  }

  // Writes shards until none is left or one failed.
  void WriteSome() {
    const std::unique_ptr<RecordMaker> maker = source_.NewMaker();
    while (true) {
      const uint64_t shard = next_.fetch_add(1);
      if (shard >= num_shards_ || failed_.load()) return;
      if (notes_[shard]) continue;
      absl::StatusOr<ShardNotes> notes = WriteShard(shard, *maker);
      if (notes.ok()) {
        notes_[shard] = *std::move(notes);
        continue;
      }
      MutexLock lock(&mutex_);
      // Report the failed shard with the lowest number, so that equal runs report the same.
      if (status_.ok() || shard < failed_shard_) {
        status_ = notes.status();
        failed_shard_ = shard;
      }
      failed_.store(true);
    }
  }

  absl::StatusOr<ShardNotes> WriteShard(uint64_t shard, RecordMaker& maker) {
    PENSTOCK_ASSIGN_OR_RETURN(ShardWriter writer,
                              ShardWriter::Create(staging_.PathOf(FileOf(shard)), writer_options_));
    ShardNotes notes;
    uint64_t told = 0, dealt = 0, bytes = 0;
    for (const uint32_t index : PartOf(shard)) {
      PENSTOCK_RETURN_IF_ERROR(InterruptGuard::Check());
      PENSTOCK_RETURN_IF_ERROR(WriteRecord(index, maker, writer, notes, bytes));
      if (++dealt - told < kRecordsAtOnce && bytes < kBytesAtOnce) continue;
      if (callbacks_.on_records) callbacks_.on_records(dealt - told);
      told = dealt;
      bytes = 0;
    }
    if (callbacks_.on_records) callbacks_.on_records(dealt - told);
    PENSTOCK_RETURN_IF_ERROR(InterruptGuard::Check());
    // Write the notes first, because a shard that exists counts as finished.
    PENSTOCK_RETURN_IF_ERROR(WriteFileAtomically(NotesPath(shard), BytesOf(notes.Serialize())));
    PENSTOCK_RETURN_IF_ERROR(writer.Finish());
    return notes;
  }

  absl::Status WriteRecord(uint64_t index, RecordMaker& maker, ShardWriter& writer,
                           ShardNotes& notes, uint64_t& bytes) const {
    RecordMaker::Made made;
    PENSTOCK_RETURN_IF_ERROR(maker.Make(index, made));
    if (made.invalid.ok()) {
      ++notes.records;
      bytes += made.payload.size();
      return writer.Write(made.payload);
    }
    if (!options_.skip_invalid) {
      return Annotate(absl::Status(made.invalid.code(), absl::StrCat(made.invalid.message(),
                                                                     "; --skip-invalid leaves such "
                                                                     "records out")),
                      source_.Name(index));
    }
    notes.Skip(index, made.invalid.message());
    return absl::OkStatus();
  }

  WrittenShards Summary() {
    WrittenShards written;
    for (uint64_t shard = 0; shard < num_shards_; ++shard) {
      ShardNotes& notes = *notes_[shard];
      written.paths.push_back(absl::StrCat(options_.folder, "/", FileOf(shard)));
      written.records += notes.records;
      written.num_skipped += notes.num_skipped;
      std::move(notes.skipped.begin(), notes.skipped.end(), std::back_inserter(written.skipped));
    }
    if (options_.compression != Compression::kNone) {
      written.chunk_bytes = writer_options_.chunk_bytes;
    }
    return written;
  }

  // Moves all shards to their folder. Those that an earlier run has moved are no longer in the
  // hidden folder.
  absl::Status PlaceAll(const std::vector<std::string>& paths) const {
    for (uint64_t shard = 0; shard < num_shards_; ++shard) {
      const std::string from = staging_.PathOf(FileOf(shard));
      if (std::rename(from.c_str(), paths[shard].c_str()) == 0) continue;
      const int error = errno;
      if (error != ENOENT || access(paths[shard].c_str(), F_OK) != 0) {
        return ErrnoToStatus(error, absl::StrCat(paths[shard], ": rename"));
      }
    }
    return SyncFolderOf(paths[0]);
  }

  static absl::Status RemoveStale(const std::vector<std::string>& existing,
                                  const std::vector<std::string>& written) {
    const std::set<absl::string_view> kept(written.begin(), written.end());
    for (const std::string& path : existing) {
      if (kept.contains(path)) continue;
      std::error_code error;
      fs::remove(path, error);
      if (error) return ErrnoToStatus(error.value(), path);
    }
    return absl::OkStatus();
  }

  // Appends advice on how to continue to the message.
  absl::Status Advise(const absl::Status& status) const {
    const auto finished = static_cast<uint64_t>(
        std::count_if(notes_.begin(), notes_.end(), [](const auto& n) { return n.has_value(); }));
    const bool full = status.code() == absl::StatusCode::kResourceExhausted;
    if (!source_.key().empty() && finished > 0) {
      return Append(status,
                    absl::StrCat("; ", Grouped(finished), " of ",
                                 Counted(num_shards_, "shard is", "shards are"),
                                 " finished; run the same command again to write the others"));
    }
    if (!full) return status;
    return Append(status, absl::StrCat("; no shard was written. About ",
                                       FormatByteSize(source_.estimated_bytes()), " are needed in ",
                                       options_.folder, "; make room, then run the command again"));
  }

  // Number of records after which progress is reported.
  static constexpr uint64_t kRecordsAtOnce = 1024;
  static constexpr uint64_t kBytesAtOnce = uint64_t{64} << 10;

  const RecordSource& source_;
  const ShardOptions& options_;
  const PackCallbacks& callbacks_;
  ShardStaging& staging_;
  const ShardWriterOptions writer_options_;
  const uint64_t num_shards_;
  const std::vector<uint32_t> order_;
  // Set for finished shards. Only one thread writes each entry.
  std::vector<std::optional<ShardNotes>> notes_;
  std::atomic<uint64_t> next_ = 0;
  std::atomic<bool> failed_ = false;

  Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  uint64_t failed_shard_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

absl::Status CheckOutput(const ShardOptions& options) {
  // WriteShards() then finds out whether the existing shards are from this run.
  if (ShardStaging::StoppedWhilePlacing(options.folder, options.name)) return absl::OkStatus();
  return ExistingShards(options).status();
}

absl::StatusOr<WrittenShards> WriteShards(const RecordSource& source, const ShardOptions& options,
                                          const PackCallbacks& callbacks) {
  PENSTOCK_RETURN_IF_ERROR(CheckOutput(options));
  PENSTOCK_ASSIGN_OR_RETURN(ShardStaging staging, ShardStaging::Open(options.folder, options.name,
                                                                     KeyOf(source, options)));
  if (staging.discarded() && callbacks.on_discarded) callbacks.on_discarded();
  ShardOptions placing = options;
  placing.force |= staging.placing();
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> existing, ExistingShards(placing));
  return PackRun(source, options, callbacks, staging).Run(existing);
}

}  // namespace penstock
