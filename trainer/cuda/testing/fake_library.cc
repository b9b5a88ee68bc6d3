// A library with one function and a version, which a test builds in several variants:
// PENSTOCK_FAKE_VERSION is its version, PENSTOCK_FAKE_WITHOUT_FUNCTION omits the function.
extern "C" {
int fakeGetVersion(int* version) {
  *version = PENSTOCK_FAKE_VERSION;
  return 0;
}
#if !defined(PENSTOCK_FAKE_WITHOUT_FUNCTION)
int fakeTwice(int x) { return 2 * x; }
#endif
}
