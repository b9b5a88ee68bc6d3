#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <ctime>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/servers/resolver.h"

namespace penstock {
namespace {

// One call of getaddrinfo(). It cannot be ended while a name server keeps silent, so it runs on a
// thread of the C library, which is abandoned when nobody wants the answer any more.
class Lookup {
 public:
  explicit Lookup(std::string host) : request_(std::make_unique<Request>()) {
    request_->host = std::move(host);
    request_->hints.ai_family = AF_UNSPEC;
    request_->hints.ai_socktype = SOCK_STREAM;
    request_->hints.ai_flags = AI_ADDRCONFIG;
    request_->control.ar_name = request_->host.c_str();
    request_->control.ar_request = &request_->hints;
    gaicb* list[] = {&request_->control};
    error_ = getaddrinfo_a(GAI_NOWAIT, list, 1, nullptr);
  }
  ~Lookup() {
    if (error_ != 0) return;
    if (gai_error(&request_->control) == EAI_INPROGRESS &&
        gai_cancel(&request_->control) != EAI_CANCELED &&
        gai_error(&request_->control) == EAI_INPROGRESS) {
      // Leaked on purpose: the thread will still write to it. This costs some 200 bytes for each
      // source that ends while a name server keeps silent.
      request_.release();
      return;
    }
    if (request_->control.ar_result != nullptr) freeaddrinfo(request_->control.ar_result);
  }

  // Returns 0 or an error of getaddrinfo(); EAI_INPROGRESS once `stop` is requested.
  int Wait(const std::stop_token& stop) {
    if (error_ != 0) return error_;
    const gaicb* list[] = {&request_->control};
    const timespec moment = {.tv_sec = 0, .tv_nsec = 50'000'000};
    while (gai_error(&request_->control) == EAI_INPROGRESS && !stop.stop_requested()) {
      gai_suspend(list, 1, &moment);
    }
    return gai_error(&request_->control);
  }
  const addrinfo* result() const { return request_->control.ar_result; }

 private:
  struct Request {
    std::string host;
    addrinfo hints = {};
    gaicb control = {};
  };
  std::unique_ptr<Request> request_;
  int error_ = 0;
};

absl::Status ResolveError(int error, const std::string& host) {
  const std::string why = error == EAI_SYSTEM ? std::string(ErrnoToStatus(errno, "").message())
                                              : std::string(gai_strerror(error));
  const bool none = error == EAI_NONAME || error == EAI_NODATA;
  const std::string message =
      absl::StrCat(host, ": ", why,
                   none ? " (correct the name, or check the name servers of this machine)"
                        : " (check the network and the name servers of this machine)");
  return none ? absl::NotFoundError(message) : absl::UnavailableError(message);
}

// Returns the empty string if the address cannot be written as text.
std::string Numeric(const addrinfo& info, uint16_t port) {
  char host[NI_MAXHOST];
  const int error =
      getnameinfo(info.ai_addr, info.ai_addrlen, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  if (error != 0) return "";
  return info.ai_family == AF_INET6 ? absl::StrCat("[", host, "]:", port)
                                    : absl::StrCat(host, ":", port);
}

class SystemResolver final : public Resolver {
 public:
  absl::StatusOr<std::vector<std::string>> Resolve(const std::string& host, uint16_t port,
                                                   const std::stop_token& stop) override {
    const bool bracketed = absl::StartsWith(host, "[");
    Lookup lookup(bracketed ? host.substr(1, host.size() - 2) : host);
    const int error = lookup.Wait(stop);
    if (error == EAI_INPROGRESS) return absl::CancelledError(absl::StrCat(host, ": not resolved"));
    if (error != 0) return ResolveError(error, host);
    std::vector<std::string> addresses;
    for (const addrinfo* info = lookup.result(); info != nullptr; info = info->ai_next) {
      std::string address = Numeric(*info, port);
      if (!address.empty()) addresses.push_back(std::move(address));
    }
    return addresses;
  }
};

}  // namespace

std::shared_ptr<Resolver> MakeSystemResolver() { return std::make_shared<SystemResolver>(); }

}  // namespace penstock
