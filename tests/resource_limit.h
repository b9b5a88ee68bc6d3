// Limits a resource of the process for a while.
#ifndef PENSTOCK_TESTS_RESOURCE_LIMIT_H_
#define PENSTOCK_TESTS_RESOURCE_LIMIT_H_

#include <sys/resource.h>

namespace penstock {

// The soft limit is `value` while this lives. Under UBSan, assert nothing while there are no
// descriptors, because UBSan needs some for its checks.
class ResourceLimit {
 public:
  ResourceLimit(__rlimit_resource resource, rlim_t value) : resource_(resource) {
    getrlimit(resource_, &old_);
    const rlimit limit = {value, old_.rlim_max};
    setrlimit(resource_, &limit);
  }
  ~ResourceLimit() { setrlimit(resource_, &old_); }
  ResourceLimit(const ResourceLimit&) = delete;
  ResourceLimit& operator=(const ResourceLimit&) = delete;

 private:
  const __rlimit_resource resource_;
  rlimit old_;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_RESOURCE_LIMIT_H_
