#include "trainer/app/event_file.h"
#include "base/bytes_of.h"

#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "records/format/tfrecord.h"
#include "records/format/wire.h"

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little);

void AddTag(uint32_t number, WireType type, std::string& out) {
  AppendVarint(uint64_t{number} << 3 | static_cast<uint64_t>(type), out);
}

void AddBytes(uint32_t number, absl::string_view bytes, std::string& out) {
  AddTag(number, WireType::kBytes, out);
  AppendVarint(bytes.size(), out);
  out.append(bytes.data(), bytes.size());
}

template <typename T>
void AddFixed(uint32_t number, WireType type, T value, std::string& out) {
  AddTag(number, type, out);
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Event: double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5.
std::string EventHead(double wall_time) {
  std::string event;
  AddFixed(1, WireType::kFixed64, wall_time, event);
  return event;
}

double Now() { return absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()); }

}  // namespace

// Summary: repeated Value value = 1; Value: string tag = 1; float simple_value = 2.
std::string ScalarEvent(double wall_time, uint64_t step, std::initializer_list<Scalar> scalars) {
  std::string summary;
  for (const auto& [tag, number] : scalars) {
    std::string value;
    AddBytes(1, tag, value);
    AddFixed(2, WireType::kFixed32, static_cast<float>(number), value);
    AddBytes(1, value, summary);
  }
  std::string event = EventHead(wall_time);
  AddTag(2, WireType::kVarint, event);
  AppendVarint(step, event);
  AddBytes(5, summary, event);
  return event;
}

absl::StatusOr<EventFile> EventFile::Open(const std::string& folder) {
  EventFile file;
  if (folder.empty()) return file;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return ErrnoToStatus(error.value(), absl::StrCat("making the folder ", folder));
  // TensorBoard reads files with "tfevents" in their names, in the order of the names.
  file.path_ = absl::StrCat(folder, "/events.out.tfevents.", absl::ToUnixNanos(absl::Now()), ".",
                            ::getpid(), ".penstock");
  file.file_.reset(std::fopen(file.path_.c_str(), "wxe"));
  if (file.file_ == nullptr) return ErrnoToStatus(errno, absl::StrCat("opening ", file.path_));
  std::string first = EventHead(Now());
  AddBytes(3, "brain.Event:2", first);
  file.WriteFrame(first);
  return file;
}

void EventFile::WriteFrame(absl::string_view event) {
  std::vector<uint8_t> frame;
  AppendFrame(BytesOf(event), frame);
  std::fwrite(frame.data(), 1, frame.size(), file_.get());
  std::fflush(file_.get());
}

void EventFile::Write(uint64_t step, std::initializer_list<Scalar> scalars) {
  if (file_ != nullptr) WriteFrame(ScalarEvent(Now(), step, scalars));
}

absl::Status EventFile::status() const {
  if (file_ == nullptr || std::ferror(file_.get()) == 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("writing ", path_, " failed; is the disk full?"));
}

}  // namespace penstock
