#include "trainer/comm/gloo_mesh.h"

#include <signal.h>

#include <chrono>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "gloo/transport/address.h"
#include "gloo/transport/context.h"
#include "gloo/transport/pair.h"

namespace penstock {
namespace {

// Gloo waits for a connection for this many of its time-outs.
constexpr int kGlooTimeouts = 5;

std::string GlooKey(int rank) { return absl::StrCat("gloo/", rank); }

// Gloo writes to sockets of ranks that may have died. Unless the program has set up SIGPIPE itself,
// that becomes an error instead of ending the process.
void IgnoreBrokenPipes() {
  struct sigaction now;
  if (sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
    signal(SIGPIPE, SIG_IGN);
  }
}

}  // namespace

GlooMesh::GlooMesh(const RankInfo& info)
    : gloo::Context(static_cast<int>(info.rank), static_cast<int>(info.world_size)) {}

void GlooMesh::CreatePairs(std::shared_ptr<gloo::transport::Device> device,
                           absl::Duration timeout) {
  device_ = std::move(device);
  transportContext_ = device_->createContext(rank, size);
  transportContext_->setTimeout(absl::ToChronoMilliseconds(timeout / kGlooTimeouts));
  for (int peer = 0; peer < size; ++peer) {
    if (peer != rank) transportContext_->createPair(peer);
  }
}

std::vector<std::string> GlooMesh::Addresses() const {
  std::vector<std::string> addresses(
      static_cast<size_t>(size));  // The own entry stays "": nobody reads it.
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    const std::vector<char> bytes = transportContext_->getPair(peer)->address().bytes();
    addresses[static_cast<size_t>(peer)].assign(bytes.begin(), bytes.end());
  }
  return addresses;
}

absl::Status GlooMesh::ConnectTo(int peer, StoreClient& store, absl::Duration timeout) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string address, store.Get(GlooKey(peer), timeout));
  if (!BeginWait()) return store.lost();
  absl::Status status;
  try {
    transportContext_->getPair(peer)->connect({address.begin(), address.end()});
  } catch (const std::exception& error) {
    status = absl::UnavailableError(error.what());
  }
  EndWait();
  PENSTOCK_RETURN_IF_ERROR(store.lost());  // Reports the loss, rather than its consequence.
  return status;
}

bool GlooMesh::BeginWait() {
  MutexLock lock(&mutex_);
  waiting_ = !aborted_;
  return waiting_;
}

void GlooMesh::EndWait() {
  MutexLock lock(&mutex_);
  waiting_ = false;
  changed_.NotifyAll();
}

absl::Status GlooMesh::Connect(std::shared_ptr<gloo::transport::Device> device, StoreClient& store,
                               absl::Duration timeout) {
  IgnoreBrokenPipes();
  CreatePairs(std::move(device), timeout);
  // May throw, so this must come before the store refers to this mesh.
  const std::vector<std::string> addresses = Addresses();
  store.OnLost(this, [this](const absl::Status&) { Abort(); });
  absl::Status status = store.PutForEach(GlooKey(rank), addresses);
  for (int peer = 0; status.ok() && peer < size; ++peer) {
    if (peer == rank) continue;
    status = Annotate(ConnectTo(peer, store, timeout), absl::StrCat("connecting to rank ", peer));
  }
  store.OnLost(this, nullptr);
  return status;
}

// A closed pair does not wait for a connection. A pair that was closed just before it started to
// connect still connects, so it is closed again.
void GlooMesh::Abort() {
  MutexLock lock(&mutex_);
  aborted_ = true;
  while (waiting_) {
    try {
      closeConnections();
    } catch (const std::exception&) {
      // This connection is already closing.
    }
    changed_.WaitUntil(&mutex_, std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
  }
}

}  // namespace penstock
