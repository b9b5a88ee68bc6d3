// Defines PENSTOCK_SANITIZED if a test is built with AddressSanitizer or ThreadSanitizer. gcc and
// clang report this in different ways.
#ifndef PENSTOCK_TESTS_SANITIZED_H_
#define PENSTOCK_TESTS_SANITIZED_H_

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PENSTOCK_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PENSTOCK_SANITIZED 1
#endif
#endif

#endif  // PENSTOCK_TESTS_SANITIZED_H_
