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

// A regular file. Offsets count from the front of the archive's bytes.
struct TarMember {
  absl::string_view name;  // Valid until the next call of the reader.
  uint64_t data = 0;       // Where its bytes begin; all of them are there.
  uint64_t size = 0;

  // Where the next member begins, if there is one.
  uint64_t end() const { return data + (size + kTarBlock - 1) / kTarBlock * kTarBlock; }
};

// Reads ustar, pax, GNU tar's and V7's headers, long names and sizes among them. Directories,
// volume labels and global pax headers are skipped. Two blocks of zeros end the archive; so does
// the end of the bytes. Holds the name of one member. Not thread-safe.
class TarReader {
 public:
  // The header before a member with its long name or its pax records may have so many bytes.
  static constexpr uint64_t kMaxExtraBytes = uint64_t{1} << 20;

  enum class Found : uint8_t { kMember, kMore, kEnd };

  // Goes on behind the last member; `bytes` begin with those of the last call. `at_end`: nothing
  // follows `bytes`.
  // kMember: `member` is filled. kMore, never returned `at_end`: needed() says what is missing.
  // kDataLoss: damaged, cut, or refused: links, devices, sparse files, unknown types, and global
  // pax headers that would name or size members. kResourceExhausted: more than kMaxExtraBytes.
  // Messages begin with "byte N", counted from the front of `bytes`.
  absl::StatusOr<Found> Next(std::span<const uint8_t> bytes, bool at_end, TarMember& member);

  // After kMore: the bytes that the next call must have.
  uint64_t needed() const { return needed_; }

  // Begins with another archive, or with another member of this one.
  void Reset();

 private:
  // kMember: a header lies at the position.
  absl::StatusOr<Found> FindHeader(std::span<const uint8_t> bytes, bool at_end);
  // kMember: the `size` bytes that follow the header of `name` are there too.
  absl::StatusOr<Found> FindData(absl::string_view name, uint64_t size,
                                 std::span<const uint8_t> bytes, bool at_end);
  // kMember: the extra header at the position is read, and passed.
  absl::StatusOr<Found> ReadExtra(const TarHeader& header, std::span<const uint8_t> bytes,
                                  bool at_end);
  absl::Status TakeExtra(char type, absl::string_view text);
  absl::Status TakePaxRecord(const PaxRecord& record);
  void TakeName(const TarHeader& header);
  // Moves behind the member at the position, which has `size` bytes.
  void Pass(uint64_t size);

  Found NeedMore(uint64_t bytes) {
    needed_ = bytes;
    return Found::kMore;
  }
  absl::Status Error(absl::string_view why) const;
  absl::Status MemberError(absl::string_view why) const;

  uint64_t position_ = 0;  // All that lies before it is read.
  uint64_t needed_ = 0;
  std::string name_;  // Of the member at the position.

  // What extra headers say of the member at the position.
  struct Extra {
    bool any = false;
    bool name = false;  // It is in name_.
    bool sparse = false;
    std::optional<uint64_t> size;
  };
  Extra extra_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_TAR_READER_H_
