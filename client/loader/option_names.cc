#include "client/loader/option_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

using Name = std::pair<absl::string_view, absl::string_view>;

// An option with a value stands before the option alone.
constexpr std::array<Name, 20> kNames = {{
    {"--remainder short", "remainder kShort"},
    {"--remainder", "remainder"},
    {"--on-error replace", "on_error kReplace"},
    {"--on-error", "on_error"},
    {"--global-batch-size", "global_batch_size"},
    {"--lanes", "plan.lanes"},
    {"--window-chunks", "plan.window_chunks"},
    {"--strip-rows", "plan.strip_rows"},
    {"--data-root", "data_root"},
    {"--look-ahead", "look_ahead_bytes"},
    {"--server-timeout", "server_timeout"},
    {"--servers", "servers"},
    {"(--spec)", "(LoaderOptions::spec)"},
    {"--spec", "spec"},
    {"--dtype", "dtype"},
    {"--connections", "network.connections"},
    {"--tls-ca", "network.tls->ca_file"},
    {"--tls-server-name", "network.tls->server_name"},
    {"--tls", "network.tls"},
    {"--manifest", "manifest"},
}};

// Whether an option that follows `before` is one of a server.
bool IsOfServer(absl::string_view before) {
  return absl::EndsWith(before, "servers' ") || absl::EndsWith(before, "server's ") ||
         absl::EndsWith(before, "penstock-server ");
}

// The entry for the option that `text` begins with, or null.
const Name* FindName(absl::string_view text) {
  const auto found = std::find_if(kNames.begin(), kNames.end(), [text](const Name& name) {
    const absl::string_view option = name.first;
    if (!absl::StartsWith(text, option)) return false;
    const char next = text.size() == option.size() ? ' ' : text[option.size()];
    return next != '-' && !absl::ascii_isalnum(static_cast<unsigned char>(next));
  });
  return found == kNames.end() ? nullptr : found;
}

}  // namespace

std::string NameMembers(absl::string_view message) {
  std::string named;
  for (size_t i = 0; i < message.size();) {
    const Name* name = IsOfServer(message.substr(0, i)) ? nullptr : FindName(message.substr(i));
    if (name != nullptr) {
      absl::StrAppend(&named, name->second);
      i += name->first.size();
    } else {
      named += message[i++];
    }
  }
  return named;
}

absl::Status NameMembers(const absl::Status& status) {
  return absl::Status(status.code(), NameMembers(status.message()));
}

}  // namespace penstock
