#include "server/tokens.h"
#include "base/bytes_of.h"

#include <openssl/crypto.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/io/text_file.h"
#include "base/sha256.h"
#include "base/status.h"
#include "server/log.h"

namespace penstock {
namespace {

constexpr size_t kMinTokenBytes = 16;
constexpr size_t kMaxTokenBytes = 4096;
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 20;

std::array<uint8_t, 32> DigestOf(absl::string_view token) {
  Sha256 sha;
  sha.Update(BytesOf(token));
  return sha.Finish();
}

// Returns false if `path` has a '..'.
bool SplitPath(absl::string_view path, std::vector<absl::string_view>& parts) {
  for (absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (part == "..") return false;
    if (part != ".") parts.push_back(part);
  }
  return true;
}

absl::StatusOr<std::string> ParseRoot(absl::string_view root) {
  std::vector<absl::string_view> parts;
  if (root[0] == '/' || !SplitPath(root, parts) || parts.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("root '", root,
                     "' must be a path relative to the data root, without a leading '/' or '..'"));
  }
  return absl::StrJoin(parts, "/");
}

absl::Status CheckToken(absl::string_view token) {
  if (token.size() < kMinTokenBytes || token.size() > kMaxTokenBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the token has ", token.size(), " characters, but must have ", kMinTokenBytes,
                     " to ", kMaxTokenBytes, "; `openssl rand -hex 32` makes one"));
  }
  if (std::all_of(token.begin(), token.end(), absl::ascii_isgraph)) return absl::OkStatus();
  return absl::InvalidArgumentError("the token has a character outside of visible ASCII");
}

absl::StatusOr<Grant> ParseRoots(const std::vector<absl::string_view>& words) {
  Grant grant;
  for (size_t i = 1; i < words.size(); ++i) {
    PENSTOCK_ASSIGN_OR_RETURN(std::string root, ParseRoot(words[i]));
    grant.roots.push_back(std::move(root));
  }
  return grant;
}

}  // namespace

bool Grant::Allows(absl::string_view path) const {
  if (roots.empty()) return true;
  std::vector<absl::string_view> parts;
  if (!SplitPath(path, parts) || absl::StartsWith(path, "/")) return false;
  const std::string normal = absl::StrJoin(parts, "/");
  return std::any_of(roots.begin(), roots.end(), [&](const std::string& root) {
    absl::string_view rest = normal;
    return absl::ConsumePrefix(&rest, root) && (rest.empty() || rest[0] == '/');
  });
}

absl::StatusOr<TokenTable> TokenTable::Parse(absl::string_view text) {
  TokenTable table;
  size_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::string where = absl::StrCat("line ", ++number);
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty() || words[0][0] == '#') continue;
    if (absl::Status token = CheckToken(words[0]); !token.ok()) return Annotate(token, where);
    const Digest digest = DigestOf(words[0]);
    if (!table.places_.emplace(digest, table.entries_.size()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": this token is also on an earlier line"));
    }
    absl::StatusOr<Grant> grant = ParseRoots(words);
    if (!grant.ok()) return Annotate(grant.status(), where);
    table.entries_.push_back({digest, std::make_shared<const Grant>(*std::move(grant))});
  }
  if (table.entries_.empty()) {
    return absl::InvalidArgumentError("the file has no token; write one a line: TOKEN [ROOT...]");
  }
  return table;
}

const TokenTable::Entry* TokenTable::At(const Digest& digest) const {
  const auto found = places_.find(digest);
  return found == places_.end() ? nullptr : &entries_[found->second];
}

void TokenTable::KeepGrantsOf(const TokenTable& before) {
  for (Entry& entry : entries_) {
    const Entry* old = before.At(entry.digest);
    if (old != nullptr && old->grant->roots == entry.grant->roots) entry.grant = old->grant;
  }
}

bool TokenTable::Has(const Grant& grant) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&grant](const Entry& entry) { return entry.grant.get() == &grant; });
}

std::shared_ptr<const Grant> TokenTable::Find(absl::string_view token) const {
  const Digest digest = DigestOf(token);
  std::shared_ptr<const Grant> found;
  for (const Entry& entry : entries_) {
    if (CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size()) == 0) found = entry.grant;
  }
  return found;
}

absl::StatusOr<std::unique_ptr<TokenFile>> TokenFile::Open(std::string path) {
  std::unique_ptr<TokenFile> file(new TokenFile(std::move(path)));
  struct stat info;
  if (stat(file->path_.c_str(), &info) == 0 && (info.st_mode & S_IROTH) != 0) {
    LogWarning("every user of this machine can read the token file cure=\"chmod 600\" path={}",
               Quoted(file->path_));
  }
  MutexLock lock(&file->mutex_);
  PENSTOCK_RETURN_IF_ERROR(file->ReadIfChanged());
  return file;
}

absl::Status TokenFile::ReadIfChanged() {
  const FileStamp stamp = FileStamp::At(path_);
  if (stamp == seen_) return absl::OkStatus();
  // A file that could not be read may be readable a moment later, with the same stamp.
  PENSTOCK_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path_, kMaxFileBytes));
  seen_ = stamp;
  said_.clear();
  absl::StatusOr<TokenTable> table = TokenTable::Parse(text);
  if (!table.ok()) return Annotate(table.status(), path_);
  if (table_.size() > 0) LogInfo("token file reloaded tokens={}", table->size());
  table->KeepGrantsOf(table_);
  table_ = *std::move(table);
  return absl::OkStatus();
}

void TokenFile::Refresh() {
  absl::Status status = ReadIfChanged();
  if (status.ok() || status.message() == said_) return;
  said_ = std::string(status.message());
  LogError("token file not usable, keeping the previous tokens error={}", Quoted(said_));
}

bool TokenFile::StillGrants(const Grant& grant) {
  MutexLock lock(&mutex_);
  Refresh();
  return table_.Has(grant);
}

absl::StatusOr<std::shared_ptr<const Grant>> TokenFile::Check(absl::string_view authorization) {
  MutexLock lock(&mutex_);
  Refresh();
  if (authorization.empty()) {
    return absl::UnauthenticatedError(
        "this server wants a bearer token and none was sent; give --token-file");
  }
  if (!absl::ConsumePrefix(&authorization, "Bearer ")) {
    return absl::UnauthenticatedError("the authorization metadata is not \"Bearer TOKEN\"");
  }
  std::shared_ptr<const Grant> grant = table_.Find(authorization);
  if (grant != nullptr) return grant;
  return absl::UnauthenticatedError(
      "the bearer token is not among those of this server's --token-file; put one of them into "
      "your own --token-file, or have yours added to the server's");
}

}  // namespace penstock
