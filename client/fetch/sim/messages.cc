#include "client/fetch/sim/messages.h"

#include "absl/strings/str_cat.h"

namespace penstock::sim {
namespace {

std::string Describe(const ServerInfo& info) {
  return absl::StrCat("hello, instance ", info.instance, ", ", info.cores, " cores");
}
std::string Describe(const SaysCredit& credit) { return absl::StrCat("credit ", credit.bytes); }
std::string Describe(const SaysReady& ready) {
  return absl::StrCat("window ", ready.window, " ready");
}
std::string Describe(const SaysPart& part) {
  return absl::StrCat("part of request ", part.request, ", rows [", part.first_row, ", ",
                      part.first_row + part.rows, ")");
}
std::string Describe(const StreamError& error) {
  return absl::StrCat("error of ",
                      error.request  ? absl::StrCat("request ", *error.request)
                      : error.window ? absl::StrCat("window ", *error.window)
                                     : "nothing",
                      ": ", error.status.ToString());
}
std::string Describe(const SaysDraining&) { return "draining"; }
std::string Describe(const absl::Status& status) {
  return absl::StrCat("stream ends: ", status.ToString());
}

}  // namespace

std::string ToString(const Message& message) {
  return std::visit([](const auto& what) { return Describe(what); }, message);
}

std::string ToString(WindowId id) { return absl::StrCat(id.epoch, "/", id.lane, "/", id.index); }

}  // namespace penstock::sim
