#include "base/io/zip_writer.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <span>

#include "absl/functional/function_ref.h"
#include "base/bytes_of.h"
#include "base/status.h"

namespace penstock {
namespace {

// Signatures and fields follow APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12, 4.3.14, 4.3.15, 4.3.16
// and 4.5.3.
constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50;
constexpr uint32_t kZip64End = 0x06064b50, kZip64Locator = 0x07064b50, kEnd = 0x06054b50;
constexpr uint16_t kZip64Extra = 1, kVersion = 45;
constexpr uint16_t kFirstDay = 1 << 5 | 1;  // 1980-01-01 in the format of MS-DOS.
constexpr uint32_t kElsewhere32 = 0xffffffff;
constexpr uint16_t kElsewhere16 = 0xffff;
constexpr size_t kBlockBytes = 1 << 20;

// Appends little-endian fields.
class Fields {
 public:
  Fields& U16(uint64_t value) { return Put(value, 2); }
  Fields& U32(uint64_t value) { return Put(value, 4); }
  Fields& U64(uint64_t value) { return Put(value, 8); }
  Fields& Text(const std::string& text) {
    bytes_ += text;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Fields& Put(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i));
    return *this;
  }
  std::string bytes_;
};

absl::Status ForBlocks(const ByteSource& source,
                       absl::FunctionRef<absl::Status(std::span<const uint8_t>)> body) {
  std::vector<uint8_t> block(std::min<uint64_t>(source.size(), kBlockBytes));
  for (uint64_t at = 0; at < source.size(); at += block.size()) {
    const std::span<uint8_t> next(block.data(),
                                  std::min<uint64_t>(block.size(), source.size() - at));
    PENSTOCK_RETURN_IF_ERROR(source.ReadAt(at, next));
    PENSTOCK_RETURN_IF_ERROR(body(next));
  }
  return absl::OkStatus();
}

// Appends the version, flags, method, time and date, which are the same in both headers of a
// member.
void PutHow(Fields& fields) { fields.U16(kVersion).U16(0).U16(0).U16(0).U16(kFirstDay); }

}  // namespace

absl::StatusOr<ZipWriter> ZipWriter::Create(const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  return ZipWriter(std::move(file));
}

absl::Status ZipWriter::Write(const std::string& bytes) {
  written_ += bytes.size();
  return file_.Write(BytesOf(bytes));
}

absl::Status ZipWriter::Add(std::string name, const ByteSource& source) {
  Member member{std::move(name), written_, source.size(), 0};
  PENSTOCK_RETURN_IF_ERROR(ForBlocks(source, [&](std::span<const uint8_t> block) {
    member.crc = crc32_gzip_refl(member.crc, block.data(), block.size());
    return absl::OkStatus();
  }));
  Fields header;
  header.U32(kLocalHeader);
  PutHow(header);
  header.U32(member.crc).U32(kElsewhere32).U32(kElsewhere32).U16(member.name.size()).U16(20);
  header.Text(member.name).U16(kZip64Extra).U16(16).U64(member.size).U64(member.size);
  PENSTOCK_RETURN_IF_ERROR(Write(header.bytes()));
  PENSTOCK_RETURN_IF_ERROR(
      ForBlocks(source, [&](std::span<const uint8_t> block) { return file_.Write(block); }));
  written_ += member.size;
  members_.push_back(std::move(member));
  return absl::OkStatus();
}

absl::Status ZipWriter::Finish() {
  const uint64_t directory = written_;
  for (const Member& member : members_) {
    Fields header;
    header.U32(kCentralHeader).U16(kVersion);
    PutHow(header);
    header.U32(member.crc).U32(kElsewhere32).U32(kElsewhere32).U16(member.name.size()).U16(28);
    header.U16(0).U16(0).U16(0).U32(0).U32(kElsewhere32).Text(member.name);
    header.U16(kZip64Extra).U16(24).U64(member.size).U64(member.size).U64(member.offset);
    PENSTOCK_RETURN_IF_ERROR(Write(header.bytes()));
  }
  const uint64_t end = written_, size = end - directory, count = members_.size();
  Fields fields;
  fields.U32(kZip64End).U64(44).U16(kVersion).U16(kVersion).U32(0).U32(0);
  fields.U64(count).U64(count).U64(size).U64(directory);
  fields.U32(kZip64Locator).U32(0).U64(end).U32(1);
  fields.U32(kEnd).U16(0).U16(0).U16(kElsewhere16).U16(kElsewhere16);
  fields.U32(kElsewhere32).U32(kElsewhere32).U16(0);
  PENSTOCK_RETURN_IF_ERROR(Write(fields.bytes()));
  return file_.Commit();
}

}  // namespace penstock
