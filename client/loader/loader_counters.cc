#include "client/loader/loader_counters.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/loader/incoming.h"

namespace penstock {

LoaderCounters::LoaderCounters(uint64_t slots, const SlotLayout& layout)
    : row_bytes_(layout.row_bytes()) {
  MutexLock lock(&mutex_);
  stats_.slots = slots;
  stats_.slot_bytes = layout.slot_bytes();
}

void LoaderCounters::BeginStream(uint32_t server, const std::string& address) {
  MutexLock lock(&mutex_);
  if (server >= stats_.servers.size()) stats_.servers.resize(server + 1);
  LoaderStats::Server& counted = stats_.servers[server];
  counted.address = address;
  // The server may have restarted with other flags.
  counted.shared_memory.clear();
  counted.no_further_connection.clear();
}

void LoaderCounters::CountWindow(uint32_t server) {
  MutexLock lock(&mutex_);
  ++stats_.servers[server].windows;
}

void LoaderCounters::CountPart(uint32_t server, uint32_t rows, absl::Duration copying,
                               const ImageCounts& images) {
  MutexLock lock(&mutex_);
  stats_.images += images;
  stats_.copying += copying;
  LoaderStats::Server& counted = stats_.servers[server];
  ++counted.parts;
  counted.rows += rows;
  counted.bytes += rows * row_bytes_;
}

absl::Status LoaderCounters::CountChecksumFailure(uint32_t server, uint32_t rows, uint32_t computed,
                                                  uint32_t sent) {
  MutexLock lock(&mutex_);
  LoaderStats::Server& counted = stats_.servers[server];
  return absl::DataLossError(absl::StrCat("checksum mismatch in a part of ", rows, " rows from ",
                                          counted.address, ": computed ", absl::Hex(computed),
                                          ", sent ", absl::Hex(sent), " (mismatch ",
                                          ++counted.checksum_failures, " of this server)"));
}

void LoaderCounters::NoteSharedMemory(uint32_t server, const absl::Status& status) {
  MutexLock lock(&mutex_);
  stats_.servers[server].shared_memory = status.ok() ? "ok" : std::string(status.message());
}

void LoaderCounters::NoteNoFurtherConnection(uint32_t server, std::string problem) {
  MutexLock lock(&mutex_);
  stats_.servers[server].no_further_connection = std::move(problem);
}

void LoaderCounters::AddDamage(uint64_t records, std::string name) {
  MutexLock lock(&mutex_);
  stats_.replaced_records += records;
  stats_.damaged.push_back(std::move(name));
}

void LoaderCounters::AddUndecodable(uint64_t rows) {
  MutexLock lock(&mutex_);
  stats_.undecodable_rows += rows;
}

void LoaderCounters::BeginWait(absl::Time start) {
  MutexLock lock(&mutex_);
  waiting_since_ = start;
}

void LoaderCounters::EndWait(absl::Time start) {
  MutexLock lock(&mutex_);
  waiting_since_.reset();
  const absl::Duration wait = SteadyNow() - start;
  stats_.wait += wait;
  stats_.waits.Add(wait);
}

void LoaderCounters::CountBatch(size_t rows) {
  MutexLock lock(&mutex_);
  ++stats_.batches;
  stats_.rows += rows;
  stats_.bytes += rows * row_bytes_;
}

LoaderStats LoaderCounters::stats() const {
  MutexLock lock(&mutex_);
  LoaderStats stats = stats_;
  if (waiting_since_.has_value()) stats.wait += SteadyNow() - *waiting_since_;
  return stats;
}

}  // namespace penstock
