// TSan's runtime reads this; it is compiled into every test of the TSan build. absl::Status counts
// its references in the packaged library, which is not instrumented. So TSan cannot see that the
// last reference is dropped only after all reads of the message. With this suppression it would not
// report later reads either, but the tests under ASan find those.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "race:absl::*::Status::Unref\n"; }
