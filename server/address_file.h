// The file that tells others where a server listens.
#ifndef PENSTOCK_SERVER_ADDRESS_FILE_H_
#define PENSTOCK_SERVER_ADDRESS_FILE_H_

#include <unistd.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "records/io/atomic_file.h"

namespace penstock {

// Appears whole, with one line "HOST:PORT"; the destructor removes it. Not thread-safe.
class AddressFile {
 public:
  AddressFile() = default;
  AddressFile(const AddressFile&) = delete;
  AddressFile& operator=(const AddressFile&) = delete;
  ~AddressFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }

  absl::Status Write(std::string path, const std::string& address) {
    std::string line = absl::StrCat(address, "\n");
    absl::Status status =
        WriteFileAtomically(path, {reinterpret_cast<const uint8_t*>(line.data()), line.size()});
    if (status.ok()) path_ = std::move(path);
    return status;
  }

 private:
  std::string path_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_ADDRESS_FILE_H_
