// Finds the regular files in a tar archive.
#ifndef PENSTOCK_RECORDS_CONTAINER_TAR_READER_H_
#define PENSTOCK_RECORDS_CONTAINER_TAR_READER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "records/container/pax_records.h"
#include "records/container/tar_header.h"

namespace penstock {

// A regular file. Offsets are in bytes from the front of the archive's bytes.
struct TarMember {
  absl::string_view name;  // Valid until the next call of the reader.
  uint64_t data = 0;       // Offset of its bytes. All of them are available.
  uint64_t size = 0;

  // Offset of the next header, if there is one.
  uint64_t end() const { return data + (size + kTarBlock - 1) / kTarBlock * kTarBlock; }
};

// Reads the headers of ustar, pax, GNU tar and V7, including long names and sizes. Directories,
// volume labels and global pax headers are skipped. The archive ends with two blocks of zeros, or
// with the end of the bytes. Holds the name of one member. Not thread-safe.
class TarReader {
 public:
  // Limit for the extra header with the long name or the pax records of a member.
  static constexpr uint64_t kMaxExtraBytes = uint64_t{1} << 20;

  enum class Found : uint8_t { kMember, kMore, kEnd };

  // Finds the next member. `bytes` begin with the bytes of the last call. `at_end` says that
  // nothing follows `bytes`.
  // kMember: `member` is filled.
  // kMore: needed() says how many bytes are needed. Never returned if `at_end`.
  // kEnd: there are no more members.
  // kDataLoss: the archive is damaged, truncated or refused. Refused are links, devices, sparse
  // files, unknown types, and global pax headers that would name or size members.
  // kResourceExhausted: an extra header has more than kMaxExtraBytes.
  // Messages begin with "byte N", counted from the front of `bytes`.
  absl::StatusOr<Found> Next(std::span<const uint8_t> bytes, bool at_end, TarMember& member);

  // After kMore: the number of bytes that the next call needs.
  uint64_t needed() const { return needed_; }

  // After kEnd: the number of bytes up to the end of the blocks of zeros that end the archive.
  // Unset if the bytes end without them.
  const std::optional<uint64_t>& marked_end() const { return marked_end_; }

  // Prepares for another archive, or for another member of the same one.
  void Reset();

 private:
  // Returns kMember if there is a header at the position.
  absl::StatusOr<Found> FindHeader(std::span<const uint8_t> bytes, bool at_end);
  // Returns kMember if the `size` bytes after the header of `name` are available too.
  absl::StatusOr<Found> FindData(absl::string_view name, uint64_t size,
                                 std::span<const uint8_t> bytes, bool at_end);
  // Returns kMember once the extra header at the position has been read and passed.
  absl::StatusOr<Found> ReadExtra(const TarHeader& header, std::span<const uint8_t> bytes,
                                  bool at_end);
  absl::Status TakeExtra(char type, absl::string_view text);
  absl::Status TakePaxRecord(const PaxRecord& record);
  void TakeName(const TarHeader& header);
  // Moves past the member at the position, which has `size` bytes.
  void Pass(uint64_t size);

  Found NeedMore(uint64_t bytes) {
    needed_ = bytes;
    return Found::kMore;
  }
  absl::Status Error(absl::string_view why) const;
  absl::Status MemberError(absl::string_view why) const;

  uint64_t position_ = 0;  // Everything before it has been read.
  uint64_t needed_ = 0;
  std::optional<uint64_t> marked_end_;
  std::string name_;  // Name of the member at the position.

  // The facts that extra headers state about the member at the position.
  struct Extra {
    bool any = false;
    bool name = false;  // True if the name is in name_.
    bool sparse = false;
    std::optional<uint64_t> size;
  };
  Extra extra_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_TAR_READER_H_
