// A log-uniform number that is the same on every machine.
#ifndef PENSTOCK_RECORDS_IMAGE_LOG_UNIFORM_H_
#define PENSTOCK_RECORDS_IMAGE_LOG_UNIFORM_H_

namespace penstock {

// Natural logarithm and exponential within a few units in the last place, by additions,
// multiplications and divisions in a fixed order. Those of glibc differ in the last bit between
// versions and processors, and a crop could then differ by a pixel between two servers.
// REQUIRES: x is positive, finite and normal.
double PortableLog(double x);
// REQUIRES: |x| <= 700.
double PortableExp(double x);

// exp(log(min) + (log(max) - log(min)) * uniform). REQUIRES: 0 < min <= max.
double LogUniform(double min, double max, double uniform);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_LOG_UNIFORM_H_
