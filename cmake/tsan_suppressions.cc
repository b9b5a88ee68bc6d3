// Read by TSan's runtime, compiled into every test of the TSan build.
// absl::Status counts its holders in the packaged library, which is not instrumented: TSan does not
// see that the last one to let go comes after all others' reads of the message. A read of one that
// was let go would not be reported either: ASan's tests look for that.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "race:absl::*::Status::Unref\n"; }
