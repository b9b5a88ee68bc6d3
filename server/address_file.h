// The file that tells others where a server listens.
#ifndef PENSTOCK_SERVER_ADDRESS_FILE_H_
#define PENSTOCK_SERVER_ADDRESS_FILE_H_

#include <unistd.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/bytes_of.h"
#include "base/io/atomic_file.h"
#include "base/io/file_stamp.h"
#include "base/io/text_file.h"
#include "server/listen_address.h"

namespace penstock {

// The file appears whole, with one line "HOST:PORT". The destructor removes it, unless another
// server has replaced it: a restart may start the new server first. Not thread-safe.
class AddressFile {
 public:
  AddressFile() = default;
  AddressFile(const AddressFile&) = delete;
  AddressFile& operator=(const AddressFile&) = delete;
  ~AddressFile() {
    if (!path_.empty() && IsOurs()) unlink(path_.c_str());
  }

  // Writes the file. kAlreadyExists: the existing file is neither an address file nor empty; it is
  // left unchanged. The other errors are those of WriteFileAtomically().
  absl::Status Write(std::string path, const std::string& address) {
    if (!MayReplace(path)) {
      return absl::AlreadyExistsError(absl::StrCat(
          path, ": exists and is not an address file; remove it, or choose another path"));
    }
    std::string line = absl::StrCat(address, "\n");
    absl::Status status = WriteFileAtomically(path, BytesOf(line));
    if (!status.ok()) return status;
    written_ = FileStamp::At(path);
    path_ = std::move(path);
    return status;
  }

 private:
  static bool MayReplace(const std::string& path) {
    constexpr uint64_t kMaxLine = 1024;
    const absl::StatusOr<std::string> text = ReadTextFile(path, kMaxLine);
    if (!text.ok()) return absl::IsNotFound(text.status());
    const absl::string_view line = absl::StripSuffix(*text, "\n");
    return line.empty() ||
           (line.find_first_of(" \t\n") == line.npos && ParseListenAddress(line).ok());
  }

  // Compares the modification time too, because the inode number of a deleted file is used again.
  // Does not compare the change time, which chmod changes.
  bool IsOurs() const {
    const FileStamp now = FileStamp::At(path_);
    return now.device == written_.device && now.inode == written_.inode &&
           now.modified_ns == written_.modified_ns;
  }

  std::string path_;
  FileStamp written_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_ADDRESS_FILE_H_
