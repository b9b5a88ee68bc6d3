// For LD_PRELOAD: gRPC hangs where a server of it is destroyed, as it does where it could not start
// its threads.
#include <unistd.h>

extern "C" void grpc_server_destroy(void*) {
  while (true) pause();
}
