#include "trainer/cuda/shared_library.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/cuda/cuda_libraries.h"
#include "trainer/cuda/gpu_users.h"
#include "trainer/cuda/library_search.h"

// LeakSanitizer itself has crashed while scanning NVIDIA's libraries at exit.
extern "C" const char* __lsan_default_options() { return "detect_leaks=0"; }

namespace penstock {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

uint64_t FakeVersion(void* function) {
  int version = 0;
  return reinterpret_cast<int (*)(int*)>(function)(&version) == 0 ? uint64_t(version) : 0;
}

LibrarySpec FakeSpec() {
  return {.name = "Fake",
          .files = {"libpenstock_fake.so.2", "libpenstock_fake.so.1"},
          .functions = {"fakeTwice"},
          .version = FakeVersion,
          .version_function = "fakeGetVersion",
          .least_version = 20,
          .print = [](uint64_t v) { return absl::StrCat(v / 10, ".", v % 10); },
          .remedy = "Get it."};
}

class SharedLibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/libraries.XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(root_); }

  // Creates a folder below the root.
  std::string Folder(const std::string& name) {
    fs::create_directories(root_ / name);
    return (root_ / name).string();
  }
  // Copies `built`, a library from the build.
  void Put(const std::string& built, const std::string& folder, const std::string& name) {
    fs::copy_file(built, fs::path(Folder(folder)) / name);
  }

  fs::path root_;
};

TEST_F(SharedLibraryTest, FirstFolderWithAFitLibraryIsTaken) {
  Put(PENSTOCK_FAKE_OLD, "a", "libpenstock_fake.so.2");
  Put(PENSTOCK_FAKE_GOOD, "b", "libpenstock_fake.so.1");
  Put(PENSTOCK_FAKE_GOOD, "c", "libpenstock_fake.so.2");
  const auto library = SharedLibrary::Open(FakeSpec(), {Folder("a"), Folder("b"), Folder("c")});
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->path(), Folder("b") + "/libpenstock_fake.so.1");
  EXPECT_THAT(library->passed_over(), ElementsAre(HasSubstr("is too old: it has version 1.9")));
  EXPECT_EQ(library->version(), 25u);
  EXPECT_EQ(library->Function<int(int)>("fakeTwice")(21), 42);
}

TEST_F(SharedLibraryTest, MissingLibraryNamesWhereItWasLookedFor) {
  const auto library = SharedLibrary::Open(FakeSpec(), {Folder("a"), Folder("b")});
  EXPECT_EQ(library.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(library.status().message()),
              AllOf(HasSubstr("Fake: no libpenstock_fake.so.2 or libpenstock_fake.so.1 in"),
                    HasSubstr(Folder("a")), HasSubstr(Folder("b")), HasSubstr("Get it.")));
}

TEST_F(SharedLibraryTest, OldLibraryIsRefusedWithBothVersions) {
  Put(PENSTOCK_FAKE_OLD, "a", "libpenstock_fake.so.1");
  const auto library = SharedLibrary::Open(FakeSpec(), {Folder("a")});
  EXPECT_EQ(library.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(library.status().message()),
      HasSubstr(
          "libpenstock_fake.so.1 is too old: it has version 1.9, and 2.0 or newer is needed"));
}

TEST_F(SharedLibraryTest, LibraryWithoutAFunctionIsRefusedByItsName) {
  Put(PENSTOCK_FAKE_LACKING, "a", "libpenstock_fake.so.2");
  const auto library = SharedLibrary::Open(FakeSpec(), {Folder("a")});
  EXPECT_EQ(library.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(library.status().message()), HasSubstr("has no function fakeTwice"));
}

TEST_F(SharedLibraryTest, FileThatIsNoLibraryIsRefusedWithTheLoadersReason) {
  std::ofstream(fs::path(Folder("a")) / "libpenstock_fake.so.2") << "text";
  const auto library = SharedLibrary::Open(FakeSpec(), {Folder("a")});
  EXPECT_EQ(library.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(library.status().message()),
              AllOf(HasSubstr("does not load"), HasSubstr("Get it.")));
}

TEST_F(SharedLibraryTest, FoldersComeInOrderAndOnce) {
  const std::string own = Folder("own"), cuda = Folder("cuda/lib64"),
                    venv = Folder("venv/lib/python3.11/site-packages/nvidia/cublas/lib"),
                    nccl = Folder("venv/lib/python3.11/site-packages/nvidia/nccl/lib"),
                    tool = Folder("tool/lib/python3.12/site-packages/nvidia/cu13/lib"),
                    user = Folder("home/.local/lib/python3.12/site-packages/nvidia/cu13/lib"),
                    system = Folder("usr/lib/python3/dist-packages/nvidia/cublas/lib");
  Folder("venv/lib/python2.7/site-packages/nvidia/old/lib");
  LibraryEnvironment environment;
  environment.penstock_cuda_libs = own + ":" + own + "::" + (root_ / "missing").string();
  environment.cuda_home = (root_ / "cuda").string();
  environment.virtual_env = (root_ / "venv").string();
  // Only the packages of the first python3 are searched.
  Folder("other/lib/python3.12/site-packages/nvidia/cu12/lib");
  for (const char* bin : {"tool/bin", "other/bin"})
    std::ofstream(fs::path(Folder(bin)) / "python3");
  environment.path =
      absl::StrCat(Folder("empty"), "::", Folder("tool/bin"), ":", Folder("other/bin"));
  environment.home = (root_ / "home").string();
  environment.cuda_folders = {(root_ / "cuda").string()};
  environment.python_roots = {(root_ / "usr").string()};
  EXPECT_THAT(LibraryFolders(environment), ElementsAre(own, cuda, venv, nccl, tool, user, system));
  EXPECT_THAT(MissingFolders(environment), ElementsAre((root_ / "missing").string()));
}

TEST_F(SharedLibraryTest, EmptyEnvironmentHasNoFolders) {
  LibraryEnvironment environment;
  environment.cuda_folders = {(root_ / "missing").string()};
  environment.python_roots = {};
  EXPECT_THAT(LibraryFolders(environment), IsEmpty());
}

// A misspelt name in a spec shows only on a machine with the library, so check installed libraries.
TEST(CudaLibrariesTest, InstalledLibrariesFitTheirSpecs) {
  const auto folders = LibraryFolders(LibraryEnvironment::FromProcess());
  int found = 0;
  for (const LibrarySpec& spec : {CublasLtSpec(), NcclSpec(), CuptiSpec()}) {
    const auto library = SharedLibrary::Open(spec, folders);
    if (absl::IsNotFound(library.status())) continue;
    ++found;
    // Without a driver NCCL may not load, and missing functions are then unknown.
    if (!library.ok() && absl::StrContains(library.status().message(), "does not load")) continue;
    EXPECT_TRUE(library.ok()) << library.status();
  }
  if (found == 0) GTEST_SKIP() << "no library of NVIDIA's on this machine";
}

TEST(GpuUsersTest, NamesTheOthersLargestFirst) {
  const GpuUser users[] = {
      {4194305, 3 << 20}, {4194306, 0}, {4194307, 5 << 20}, {4194308, 9 << 20}};
  EXPECT_EQ(DescribeGpuUsers(users, /*own=*/4194308),
            "5 MiB in process 4194307, 3 MiB in process 4194305, some memory in process 4194306");
  EXPECT_EQ(DescribeGpuUsers({}, 1), "");
}

TEST(CudaLibrariesTest, VersionsAreReadable) {
  EXPECT_EQ(NcclSpec().print(21805), "2.18.5");
  EXPECT_EQ(CublasLtSpec().print(130002), "13.0.2");
}

}  // namespace
}  // namespace penstock
