// Controls how much freed memory a process keeps for later allocations.
#ifndef PENSTOCK_BASE_PROCESS_KEEP_FREED_MEMORY_H_
#define PENSTOCK_BASE_PROCESS_KEEP_FREED_MEMORY_H_

namespace penstock {

// Call it in main(). gRPC allocates and frees a buffer of up to some MiB for each read. With
// glibc's defaults, most of these buffers are returned to the kernel and faulted in again, page by
// page, which took a tenth of the CPU time of a stream. After this call, allocations of up to 4 MiB
// come from memory that the process keeps, up to 64 MiB of it unused. Does nothing if the C library
// is not glibc.
void KeepFreedMemory();

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_KEEP_FREED_MEMORY_H_
