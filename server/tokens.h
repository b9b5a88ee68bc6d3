// Bearer tokens from a file: which clients may ask, and for which data.
#ifndef PENSTOCK_SERVER_TOKENS_H_
#define PENSTOCK_SERVER_TOKENS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/io/file_stamp.h"
#include "base/mutex.h"

namespace penstock {

// The part of the data root that a client may read. Immutable once given out.
struct Grant {
  // Folders or files beneath the data root, without '.' or empty parts. If it is empty, everything
  // may be read.
  std::vector<std::string> roots;

  // A `path` with '..' is outside of every root.
  bool Allows(absl::string_view path) const;
};

// A table of tokens. Each line of the file has TOKEN [ROOT...]; a line that begins with # is a
// comment. Only digests are kept. Immutable.
class TokenTable {
 public:
  // kInvalidArgument: the text has no token, or a line is wrong; the message names the line. A line
  // is wrong if its token has fewer than 16 or more than 4096 characters, is not visible ASCII, or
  // is there twice, or if a root is absolute or has a '..'.
  static absl::StatusOr<TokenTable> Parse(absl::string_view text);

  // Keeps the grants of tokens that `before` had with the same roots, because streams hold these
  // grants.
  void KeepGrantsOf(const TokenTable& before);
  bool Has(const Grant& grant) const;

  // Returns the grant of `token`, or null. Takes the same time for every token, valid or not.
  std::shared_ptr<const Grant> Find(absl::string_view token) const;

  size_t size() const { return entries_.size(); }

 private:
  using Digest = std::array<uint8_t, 32>;
  struct Entry {
    Digest digest;
    std::shared_ptr<const Grant> grant;  // Shared with the streams that the token opened.
  };
  // Returns the entry of exactly this token. It searches by digest, so not in constant time.
  const Entry* At(const Digest& digest) const;

  std::vector<Entry> entries_;
  absl::flat_hash_map<Digest, size_t> places_;  // Indexes into entries_.
};

// A token file that is read again when it has changed. If it cannot be used, this is logged once,
// and the previous tokens stay valid. A file that cannot be read is tried again at each check.
// Thread-safe.
class TokenFile {
 public:
  // kNotFound, kPermissionDenied: the file cannot be read. kInvalidArgument: its contents are
  // wrong; the message names file and line.
  static absl::StatusOr<std::unique_ptr<TokenFile>> Open(std::string path);

  // `authorization` is the value of that metadata, "Bearer TOKEN". It is empty if none was sent.
  // kUnauthenticated: the message says what is wrong with it, but not what would be right.
  absl::StatusOr<std::shared_ptr<const Grant>> Check(absl::string_view authorization);

  // Whether the token of `grant`, which Check() gave out, still has this grant. False once the
  // token is not in the file any more, or has other roots there.
  bool StillGrants(const Grant& grant);

 private:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}
  absl::Status ReadIfChanged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Like ReadIfChanged(), but logs a fault.
  void Refresh() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  Mutex mutex_;
  // Stamp of the file that was last read, usable or not; absent if none was read.
  std::optional<FileStamp> seen_ ABSL_GUARDED_BY(mutex_);
  std::string said_ ABSL_GUARDED_BY(mutex_);  // The fault that was last logged.
  TokenTable table_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_TOKENS_H_
