// Makes the key of a RecordSource: a hash of everything that determines its records.
#ifndef PENSTOCK_CLI_PACK_KEY_BUILDER_H_
#define PENSTOCK_CLI_PACK_KEY_BUILDER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "base/bytes_of.h"
#include "base/sha256.h"

namespace penstock {

// Different sequences of calls give different keys. Not thread-safe.
class KeyBuilder {
 public:
  void Add(absl::string_view text) {
    Add(uint64_t{text.size()});
    sha_.Update(BytesOf(text));
  }
  void Add(uint64_t number) { sha_.Update(BytesOf(&number, sizeof(number))); }
  std::string Key() const { return sha_.Hex(); }

 private:
  Sha256 sha_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_KEY_BUILDER_H_
