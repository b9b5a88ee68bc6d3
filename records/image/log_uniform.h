// Log-uniform numbers that are the same on every machine.
#ifndef PENSTOCK_RECORDS_IMAGE_LOG_UNIFORM_H_
#define PENSTOCK_RECORDS_IMAGE_LOG_UNIFORM_H_

namespace penstock {

// Return the natural logarithm and the exponential, to within a few units in the last place,
// computed by additions, multiplications and divisions in a fixed order. The functions of glibc
// differ in the last bit between versions and processors, so a crop could differ by a pixel between
// two servers.
// REQUIRES: x is positive, finite and normal.
double PortableLog(double x);
// REQUIRES: |x| <= 700.
double PortableExp(double x);

// Returns exp(log(min) + (log(max) - log(min)) * uniform). REQUIRES: 0 < min <= max.
double LogUniform(double min, double max, double uniform);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_LOG_UNIFORM_H_
