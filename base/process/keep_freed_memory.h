// How much freed memory a process keeps for its next allocation.
#ifndef PENSTOCK_BASE_PROCESS_KEEP_FREED_MEMORY_H_
#define PENSTOCK_BASE_PROCESS_KEEP_FREED_MEMORY_H_

namespace penstock {

// For main(). gRPC allocates and frees a buffer of up to some MiB for each read; with glibc's
// defaults most of them are given back to the kernel and faulted in again, page by page, which took
// a tenth of the CPU time of a stream. From now on allocations of up to 4 MiB come from memory that
// is kept, up to 64 MiB of it unused. Does nothing where the C library is not glibc.
void KeepFreedMemory();

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_KEEP_FREED_MEMORY_H_
