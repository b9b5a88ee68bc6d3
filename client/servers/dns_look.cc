#include "client/servers/dns_look.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {

DnsLook::DnsLook(std::string host, uint16_t port, std::shared_ptr<Resolver> resolver)
    : host_(std::move(host)), port_(port), resolver_(std::move(resolver)) {}

ServerSet DnsLook::Look(const std::stop_token& stop) {
  absl::StatusOr<std::vector<std::string>> found = resolver_->Resolve(host_, port_, stop);
  if (found.ok() && found->empty()) {
    found = absl::NotFoundError(
        absl::StrCat(host_, ": the name has no address (start the servers behind it)"));
  }
  if (!found.ok()) {
    return {known_, Annotate(found.status(), absl::StrCat("dns:///", host_, ":", port_))};
  }
  known_ = *std::move(found);
  std::sort(known_.begin(), known_.end());
  known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
  return {known_, absl::OkStatus()};
}

}  // namespace penstock
