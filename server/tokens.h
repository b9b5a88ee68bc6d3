// Who may ask, and for what: bearer tokens from a file.
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
  // Folders or files beneath the data root, without '.' or empty parts; empty: everything.
  std::vector<std::string> roots;

  // A '..' in `path` is outside of every root.
  bool Allows(absl::string_view path) const;
};

// Tokens, one a line: TOKEN [ROOT...]. A line that begins with # is a comment. Only digests are
// kept. Immutable.
class TokenTable {
 public:
  // kInvalidArgument names the line: a token of fewer than 16 or more than 4096 characters or of
  // other than visible ASCII, one that is there twice, a root that is absolute or has a '..'; or
  // the text has no token at all.
  static absl::StatusOr<TokenTable> Parse(absl::string_view text);

  // Tokens that `before` had with the same roots keep the grants that streams hold.
  void KeepGrantsOf(const TokenTable& before);
  bool Has(const Grant& grant) const;

  // The grant of `token`, or null. Takes the same time whichever token it is, if any.
  std::shared_ptr<const Grant> Find(absl::string_view token) const;

  size_t size() const { return entries_.size(); }

 private:
  using Digest = std::array<uint8_t, 32>;
  struct Entry {
    Digest digest;
    std::shared_ptr<const Grant> grant;  // Shared with the streams that were opened by it.
  };
  // The entry of this very token; by its digest, so not in constant time.
  const Entry* At(const Digest& digest) const;

  std::vector<Entry> entries_;
  absl::flat_hash_map<Digest, size_t> places_;  // Indices into entries_.
};

// A token file that is read again when it has changed. While it cannot be used, that is logged
// once and the tokens that it had go on; one that cannot be read is tried again at each look.
// Thread-safe.
class TokenFile {
 public:
  // kNotFound, kPermissionDenied; kInvalidArgument names file and line.
  static absl::StatusOr<std::unique_ptr<TokenFile>> Open(std::string path);

  // `authorization` is that metadata's value, "Bearer TOKEN"; empty: it was not sent.
  // kUnauthenticated says what is wrong with it, never what would be right.
  absl::StatusOr<std::shared_ptr<const Grant>> Check(absl::string_view authorization);

  // Whether `grant`, which Check() gave out, is still what its token is good for: false once the
  // token is no longer in the file, or there with other roots.
  bool StillGrants(const Grant& grant);

 private:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}
  absl::Status ReadIfChanged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The same; a fault is logged.
  void Refresh() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  Mutex mutex_;
  // Of the file that was read last, usable or not; none was at first.
  std::optional<FileStamp> seen_ ABSL_GUARDED_BY(mutex_);
  std::string said_ ABSL_GUARDED_BY(mutex_);  // The fault that was logged last.
  TokenTable table_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_TOKENS_H_
