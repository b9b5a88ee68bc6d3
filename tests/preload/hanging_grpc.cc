// For LD_PRELOAD: gRPC hangs when one of its servers is destroyed, as it does if it could not start
// its threads. With PENSTOCK_TEST_HANG=start it hangs when a server is created.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {

[[noreturn]] void Hang() {
  while (true) pause();
}

}  // namespace

extern "C" void grpc_server_destroy(void*) { Hang(); }

extern "C" void* grpc_server_create(const void* args, void* reserved) {
  const char* at = getenv("PENSTOCK_TEST_HANG");
  if (at != nullptr && std::strcmp(at, "start") == 0) Hang();
  using Create = void* (*)(const void*, void*);
  static const Create create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "grpc_server_create"));
  return create(args, reserved);
}
