// Marks functions that run on both host and device.
#ifndef PENSTOCK_KERNELS_NUMERIC_HOST_DEVICE_H_
#define PENSTOCK_KERNELS_NUMERIC_HOST_DEVICE_H_

#if defined(__CUDACC__)
#define PENSTOCK_HOST_DEVICE __host__ __device__
#else
#define PENSTOCK_HOST_DEVICE
#endif

#endif  // PENSTOCK_KERNELS_NUMERIC_HOST_DEVICE_H_
