// exits WAY MANIFEST: ends in several ways while a loader is open, as programs of users do. The
// exit code is 3.
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>

#include "penstock/penstock.h"

std::unique_ptr<penstock::Loader> global;

int main(int, char** argv) {
  static_assert(PENSTOCK_VERSION_NUMBER >= 1000);
  auto loader = penstock::Loader::Open(argv[2]);
  if (!loader.ok()) {
    std::cerr << loader.status() << "\n";
    return 1;
  }
  if (std::strcmp(argv[1], "exit") == 0) std::exit(3);
  if (std::strcmp(argv[1], "leak") == 0) loader->release();
  if (std::strcmp(argv[1], "global") == 0) global = *std::move(loader);
  return 3;
}
