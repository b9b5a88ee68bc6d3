#include "records/dataset/index_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "records/base/status.h"
#include "records/dataset/list_shards.h"
#include "records/format/tfrecord.h"
#include "records/io/file_source.h"

namespace penstock {
namespace {

std::span<const uint8_t> Bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string JournalPath(const std::string& manifest_path) {
  const std::string name = manifest_path.substr(manifest_path.rfind('/') + 1);
  return absl::StrCat(FolderOfFile(manifest_path), "/.", name, ".partial");
}

absl::StatusOr<std::vector<uint8_t>> ReadAll(const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::Open(path));
  std::vector<uint8_t> bytes(source->size());
  PENSTOCK_RETURN_IF_ERROR(source->ReadAt(0, bytes));
  return bytes;
}

}  // namespace

absl::StatusOr<IndexJournal> IndexJournal::Open(const std::string& manifest_path,
                                                const std::string& key) {
  const std::string path = JournalPath(manifest_path);
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!fd.valid()) return ErrnoToStatus(errno, path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::UnavailableError(
        absl::StrCat(path, ": another run is indexing for ", manifest_path));
  }
  IndexJournal journal(std::move(fd), path);
  PENSTOCK_RETURN_IF_ERROR(journal.Recover(key));
  return journal;
}

absl::Status IndexJournal::Recover(const std::string& key) {
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadAll(path_));
  Frame frame;
  size_t end = 0;
  for (size_t record = 0; TryParseFrame(bytes, end, Verify::kPayload, frame); ++record) {
    const bool key_matches =
        record > 0 || std::string(frame.payload.begin(), frame.payload.end()) == key;
    if (!key_matches) break;
    if (record > 0) {
      absl::StatusOr<Manifest> shard = Manifest::Parse(frame.payload);
      if (!shard.ok() || shard->shards().size() != 1) break;
      const std::string path = shard->shards()[0].path;
      finished_.insert_or_assign(path, *std::move(shard));
    }
    end += frame.size();
  }
  if (::ftruncate(fd_.get(), static_cast<off_t>(end)) != 0) return ErrnoToStatus(errno, path_);
  return end == 0 ? AppendRecord(key) : absl::OkStatus();
}

absl::Status IndexJournal::Append(const Manifest& shard) { return AppendRecord(shard.Serialize()); }

absl::Status IndexJournal::AppendRecord(const std::string& payload) {
  std::vector<uint8_t> bytes;
  AppendFrame(Bytes(payload), bytes);
  for (size_t done = 0; done < bytes.size();) {
    ssize_t count = ::write(fd_.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoToStatus(errno, absl::StrCat(path_, ": write"));
    done += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

void IndexJournal::Remove() {
  ::unlink(path_.c_str());
  fd_.Reset();
}

}  // namespace penstock
