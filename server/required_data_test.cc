#include "server/required_data.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/dataset/manifest.h"
#include "server/log.h"
#include "server/testing/captured_log.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A root with chess/m.pb, which lists a and b of 100 bytes, and both shards.
class RequiredDataTest : public ::testing::Test {
 protected:
  RequiredDataTest() {
    ManifestBuilder builder;
    for (const char* name : {"a.tfrecord", "b.tfrecord"}) {
      builder.AddShard({.path = name, .size = 100});
      builder.AddChunk({.size = 100, .records = 1, .crc32c = 1});
      folder_.Write(std::string("chess/") + name, std::string(100, 'x'));
    }
    folder_.Write("chess/m.pb", *builder.Build()->Serialize());
  }
  absl::Status Check(const std::string& path = "chess/m.pb") {
    return CheckRequiredData(root_, path);
  }
  void Remove(const std::string& name) { std::filesystem::remove(folder_.File(name)); }

  TempFolder folder_;
  Root root_ = *Root::Open(folder_.path());
};

TEST_F(RequiredDataTest, DataThatIsThereIsComplete) { EXPECT_OK(Check()); }

TEST_F(RequiredDataTest, NamesWhatIsMissing) {
  Remove("chess/b.tfrecord");
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr("chess/m.pb: lacks 1 of 2 shards, first chess/b."),
                                      HasSubstr("No such file"))));
  Remove("chess/a.tfrecord");
  EXPECT_THAT(Check().message(), HasSubstr("lacks 2 of 2 shards, first chess/a.tfrecord"));
}

TEST_F(RequiredDataTest, AShardOfAnotherSizeIsMissing) {
  folder_.Write("chess/a.tfrecord", std::string(101, 'x'));
  EXPECT_THAT(Check().message(),
              HasSubstr("chess/a.tfrecord: has 101 bytes, the manifest says 100"));
}

TEST_F(RequiredDataTest, AManifestThatIsMissingOrDamagedIsMissingData) {
  EXPECT_THAT(Check("chess/n.pb").message(), AllOf(HasSubstr("cannot be read"), HasSubstr("n.pb")));
  folder_.Write("chess/m.pb", folder_.Read("chess/m.pb").substr(0, 40));
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("be read")));
}

TEST_F(RequiredDataTest, AFolderStandsForItsManifest) {
  EXPECT_THAT(RequiredManifestPath("chess/"), IsOkAndHolds("chess/manifest.pb"));
  EXPECT_THAT(RequiredManifestPath("."), IsOkAndHolds("manifest.pb"));
  EXPECT_THAT(RequiredManifestPath("chess/m.pb"), IsOkAndHolds("chess/m.pb"));
  EXPECT_THAT(RequiredManifestPath("/data/m.pb"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("beneath --data-root")));
}

// The reports of a watch, in order.
class Reports {
 public:
  void Add(const std::string& lack) {
    MutexLock lock(&mutex_);
    all_.push_back(lack);
    changed_.NotifyAll();
  }
  std::vector<std::string> WaitFor(size_t count) {
    MutexLock lock(&mutex_);
    while (all_.size() < count) changed_.Wait(&mutex_);
    return all_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> all_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(RequiredDataTest, TellsWhenDataComesAndGoes) {
  CapturedLog log;
  Reports reports;
  Remove("chess/b.tfrecord");
  {
    ASSERT_OK_AND_ASSIGN(
        const auto data,
        RequiredData::Start(
            root_, {"chess/m.pb"}, [&](const std::string& lack) { reports.Add(lack); },
            {.while_lacking = absl::Milliseconds(1), .while_complete = absl::Milliseconds(1)}));
    reports.WaitFor(1);
    folder_.Write("chess/b.tfrecord", std::string(100, 'x'));
    reports.WaitFor(2);
    Remove("chess/a.tfrecord");
    const auto all = reports.WaitFor(3);
    EXPECT_THAT(all[0], HasSubstr("chess/b.tfrecord"));
    EXPECT_THAT(all.back(), HasSubstr("chess/a.tfrecord"));
  }
  EXPECT_THAT(log.LinesWith("required data is complete"), SizeIs(testing::Ge(1)));
  EXPECT_THAT(log.LinesWith("required data is missing"), SizeIs(testing::Ge(2)));
}

TEST_F(RequiredDataTest, EndsWhileItWaits) {
  Reports reports;
  ASSERT_OK_AND_ASSIGN(
      const auto data,
      RequiredData::Start(root_, {"chess/m.pb"},
                          [&](const std::string& lack) { reports.Add(lack); },
                          {.while_lacking = absl::Hours(1), .while_complete = absl::Hours(1)}));
  EXPECT_THAT(reports.WaitFor(1), ElementsAre(IsEmpty()));
}

}  // namespace
}  // namespace penstock
