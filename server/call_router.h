// Routes every call of one port by the name of its method.
#ifndef PENSTOCK_SERVER_CALL_ROUTER_H_
#define PENSTOCK_SERVER_CALL_ROUTER_H_

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "grpcpp/generic/async_generic_service.h"
#include "server/call_reactor.h"
#include "server/guard/connection_guard.h"

namespace penstock {

// Counts each call as soon as its headers are complete, including calls of unknown methods. Call
// Add() before the server starts. Thread-safe afterwards.
class CallRouter final : public grpc::CallbackGenericService {
 public:
  using Handler = std::function<CallReactor*(grpc::CallbackServerContext& context, OpenCall call)>;

  explicit CallRouter(GuardedPort port) : port_(std::move(port)) {}

  // `method` is, for example, "/penstock.v1.PieceService/Stats".
  void Add(const std::string& method, Handler handler) {
    handlers_.emplace(method, std::move(handler));
  }

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    OpenCall call = port_.BeginCall(context->peer());
    const auto found = handlers_.find(context->method());
    if (found != handlers_.end()) return found->second(*context, std::move(call));
    return new RefusedCall(std::move(call),
                           absl::UnimplementedError("this server has no such method"));
  }

  const GuardedPort& port() const { return port_; }

 private:
  const GuardedPort port_;
  std::map<std::string, Handler> handlers_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_CALL_ROUTER_H_
