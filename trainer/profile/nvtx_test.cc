#include "trainer/profile/nvtx.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <string>

#include "gtest/gtest.h"
#include "trainer/profile/step_recorder.h"

namespace penstock {
namespace {

// NVTX looks for its tool only once, at the first range of the process, so there is only one test.
TEST(NvtxTest, AToolSeesStepsAndTheirPhases) {
  setenv("NVTX_INJECTION64_PATH", PENSTOCK_FAKE_NVTX_TOOL, 1);
  StepRecorder recorder;
  recorder.Start(7);
  recorder.Enter(Phase::kInput);
  { const PhaseScope launch(&recorder, Phase::kLaunch); }
  recorder.EndStep(7);
  recorder.Stop();

  void* tool = dlopen(PENSTOCK_FAKE_NVTX_TOOL, RTLD_NOW);
  ASSERT_NE(tool, nullptr) << dlerror();
  auto* seen = reinterpret_cast<const char* (*)()>(dlsym(tool, "FakeNvtxSeen"));
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(std::string(seen()),
            "<step 7<other><input><launch><input><other>>"
            "<step 8<other><other>>");
  dlclose(tool);
}

}  // namespace
}  // namespace penstock
