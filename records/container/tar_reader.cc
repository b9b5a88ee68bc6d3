#include "records/container/tar_reader.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/byte_size.h"
#include "base/status.h"

namespace penstock {
namespace {

// Larger sizes are damage. This bound keeps the sums of offsets below from overflowing.
constexpr uint64_t kMaxSize = uint64_t{1} << 62;
// Quotes the front of a name, because a name may be long.
std::string Quoted(absl::string_view name) { return absl::StrCat("'", name.substr(0, 200), "'"); }

uint64_t Padded(uint64_t size) { return (size + kTarBlock - 1) / kTarBlock * kTarBlock; }

bool IsZero(std::span<const uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; });
}

// Whether the header describes the next member, or all members, instead of being one.
bool IsExtra(char type) { return absl::string_view("LKxg").find(type) != absl::string_view::npos; }

// Returns why a member of this type is refused. Empty for files and directories.
std::string Refusal(char type) {
  switch (type) {
    case '0':
    case '7':  // A file that is contiguous on its disk.
    case '5':
    case 'V':
      return "";
    case '1':
      return "is a hard link: write the archive with tar --hard-dereference";
    case '2':
      return "is a symbolic link: write the archive with tar --dereference --hard-dereference";
    case '3':
    case '4':
    case '6':
      return "is a device or a pipe: leave it out of the archive";
    case 'S':
      return "is a sparse file: write the archive without tar --sparse";
    case 'M':
      return "begins in another volume: write the archive without tar --multi-volume";
  }
  return absl::StrCat("has the type ", static_cast<uint8_t>(type),
                      ", which is not known: write the archive with tar --format=pax");
}

bool HasNoData(char type, absl::string_view name) {
  return type == '5' || type == 'V' || absl::EndsWith(name, "/");
}

// The pax keys with which GNU tar says where in a sparse file the member's bytes lie.
bool IsSparseKey(absl::string_view key) { return absl::StartsWith(key, "GNU.sparse."); }

absl::Status CheckGlobalRecord(const PaxRecord& record) {
  if (record.key != "path" && record.key != "size" && !IsSparseKey(record.key)) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat("a global pax header sets '", record.key,
                                          "' for all members, which is not supported: write the "
                                          "archive with tar"));
}

}  // namespace

absl::StatusOr<TarReader::Found> TarReader::Next(std::span<const uint8_t> bytes, bool at_end,
                                                 TarMember& member) {
  while (true) {
    PENSTOCK_ASSIGN_OR_RETURN(Found found, FindHeader(bytes, at_end));
    if (found != Found::kMember) return found;
    const absl::StatusOr<TarHeader> header = ParseTarHeader(bytes.subspan(position_, kTarBlock));
    if (!header.ok()) return Error(header.status().message());
    if (IsExtra(header->type)) {
      PENSTOCK_ASSIGN_OR_RETURN(found, ReadExtra(*header, bytes, at_end));
      if (found != Found::kMember) return found;
      continue;
    }
    TakeName(*header);
    const std::string refusal = Refusal(extra_.sparse ? 'S' : header->type);
    if (!refusal.empty()) return MemberError(refusal);
    const uint64_t size = extra_.size.value_or(header->size);
    if (HasNoData(header->type, name_)) {
      if (size > 0) return MemberError(absl::StrCat("is a directory, but has ", size, " bytes"));
      Pass(0);
      continue;
    }
    PENSTOCK_ASSIGN_OR_RETURN(found, FindData(name_, size, bytes, at_end));
    if (found != Found::kMember) return found;
    member = {name_, position_ + kTarBlock, size};
    Pass(size);
    return found;
  }
}

void TarReader::Reset() {
  position_ = 0;
  extra_ = {};
}

absl::StatusOr<TarReader::Found> TarReader::FindHeader(std::span<const uint8_t> bytes,
                                                       bool at_end) {
  const std::span<const uint8_t> left = bytes.subspan(std::min(position_, bytes.size()));
  if (left.size() < kTarBlock && !at_end) return NeedMore(position_ + kTarBlock);
  const std::span<const uint8_t> block = left.first(std::min(left.size(), kTarBlock));
  if (!IsZero(block)) {
    if (block.size() == kTarBlock) return Found::kMember;
    return Error(absl::StrCat("the archive is truncated: only ", left.size(), " of the ", kTarBlock,
                              " bytes of a header are there"));
  }
  if (left.size() < 2 * kTarBlock && !at_end) return NeedMore(position_ + 2 * kTarBlock);
  if (!IsZero(left.subspan(block.size(), std::min(left.size() - block.size(), kTarBlock)))) {
    return Error("the archive is damaged: it must end with two blocks of zeros, but has only one");
  }
  if (extra_.any)
    return Error(
        "the archive is truncated: the member that an extended header describes is missing");
  marked_end_.reset();
  if (!left.empty()) marked_end_ = position_ + std::min(left.size(), 2 * kTarBlock);
  return Found::kEnd;
}

absl::StatusOr<TarReader::Found> TarReader::FindData(absl::string_view name, uint64_t size,
                                                     std::span<const uint8_t> bytes, bool at_end) {
  if (size > kMaxSize) return Error(absl::StrCat("damaged: a member of ", size, " bytes"));
  const uint64_t begin = position_ + kTarBlock;
  const uint64_t there = bytes.size() - begin;
  if (there >= size) return Found::kMember;
  if (!at_end) return NeedMore(begin + Padded(size) + kTarBlock);
  return Error(absl::StrCat("the archive is truncated: only ", there, " of the ", size,
                            " bytes of member ", Quoted(name), " are there"));
}

absl::StatusOr<TarReader::Found> TarReader::ReadExtra(const TarHeader& header,
                                                      std::span<const uint8_t> bytes, bool at_end) {
  if (header.size > kMaxExtraBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("byte ", position_, ": a long name or pax records of ", header.size,
                     " bytes; at most ", FormatByteSize(kMaxExtraBytes), " are read"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const Found found, FindData(header.name, header.size, bytes, at_end));
  if (found != Found::kMember) return found;
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + position_ + kTarBlock;
  PENSTOCK_RETURN_IF_ERROR(TakeExtra(header.type, {text, header.size}));
  position_ += kTarBlock + Padded(header.size);
  return found;
}

absl::Status TarReader::TakeExtra(char type, absl::string_view text) {
  extra_.any |= type != 'g';
  if (type == 'K') return absl::OkStatus();  // The target of a link, which is refused anyway.
  if (type == 'L') {
    const absl::string_view name = text.substr(0, text.find('\0'));
    name_.assign(name.data(), name.size());
    extra_.name = true;
    return absl::OkStatus();
  }
  PaxRecords records(text);
  PaxRecord record;
  while (records.Next(record)) {
    const absl::Status status = type == 'g' ? CheckGlobalRecord(record) : TakePaxRecord(record);
    if (!status.ok()) return Error(status.message());
  }
  return records.failed() ? Error("damaged: pax records of a wrong length") : absl::OkStatus();
}

// An empty value cancels the value of a global header. There is none to cancel.
absl::Status TarReader::TakePaxRecord(const PaxRecord& record) {
  extra_.sparse |= IsSparseKey(record.key);
  if (record.value.empty()) return absl::OkStatus();
  if (record.key == "path" || record.key == "GNU.sparse.name") {
    name_.assign(record.value.data(), record.value.size());
    extra_.name = true;
  } else if (record.key == "size") {
    uint64_t size;
    if (!ParsePaxNumber(record.value, size)) {
      return absl::DataLossError("damaged: the size in pax records is no number");
    }
    extra_.size = size;
  }
  return absl::OkStatus();
}

void TarReader::TakeName(const TarHeader& header) {
  if (extra_.name) return;
  name_.assign(header.prefix.data(), header.prefix.size());
  if (!name_.empty()) name_ += '/';
  name_.append(header.name.data(), header.name.size());
}

void TarReader::Pass(uint64_t size) {
  position_ += kTarBlock + Padded(size);
  extra_ = {};
}

absl::Status TarReader::Error(absl::string_view why) const {
  return absl::DataLossError(absl::StrCat("byte ", position_, ": ", why));
}

absl::Status TarReader::MemberError(absl::string_view why) const {
  return Error(absl::StrCat("member ", Quoted(name_), " ", why));
}

}  // namespace penstock
