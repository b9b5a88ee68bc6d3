// For LD_PRELOAD: gRPC hangs where a server of it is destroyed, as it does where it could not start
// its threads; with PENSTOCK_TEST_HANG=start already where one is created.
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
