// Everything that programs which read batches need. docs/reference/cpp_api.md lists what is public.
#ifndef PENSTOCK_CLIENT_PENSTOCK_H_
#define PENSTOCK_CLIENT_PENSTOCK_H_

#include "client/loader/loader.h"
#include "client/loader/packed_bits.h"
#include "penstock/version.h"

#endif  // PENSTOCK_CLIENT_PENSTOCK_H_
