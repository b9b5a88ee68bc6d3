#include "trainer/app/training_metrics.h"

#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

std::map<std::string, prometheus::ClientMetric> Served(const TrainingMetrics& metrics) {
  MetricFamilies families;
  metrics.AddTo(families);
  std::map<std::string, prometheus::ClientMetric> served;
  for (const prometheus::MetricFamily& family : std::move(families).Take()) {
    served[family.name] = family.metric[0];
  }
  return served;
}

TEST(TrainingMetricsTest, TellTheLastStepAndTheTimesOfAll) {
  TrainingMetrics metrics;
  StepReport report;
  report.step = 11;
  report.total_steps = 20;
  report.loss = 0.5;
  report.wait = std::chrono::milliseconds(20);
  report.compute = std::chrono::milliseconds(200);
  metrics.NoteStep(report);
  report.step = 12;
  report.loss = 0.25;
  metrics.NoteStep(report);
  auto served = Served(metrics);
  EXPECT_EQ(served["penstock_trainer_step"].gauge.value, 12);
  EXPECT_EQ(served["penstock_trainer_total_steps"].gauge.value, 20);
  EXPECT_EQ(served["penstock_trainer_loss"].gauge.value, 0.25);
  EXPECT_EQ(served["penstock_trainer_step_seconds"].histogram.sample_count, 2);
  EXPECT_DOUBLE_EQ(served["penstock_trainer_step_seconds"].histogram.sample_sum, 0.44);
}

TEST(TrainingMetricsTest, TellTheAgeOfACheckpointOnlyWhereTheyAreWritten) {
  TrainingMetrics metrics;
  EXPECT_FALSE(Served(metrics).contains("penstock_trainer_checkpoint_age_seconds"));
  metrics.ExpectCheckpoints();
  const auto age = [&metrics] {
    return Served(metrics)["penstock_trainer_checkpoint_age_seconds"].gauge.value;
  };
  while (age() < 0.01) continue;
  metrics.NoteCheckpoint();
  const double before = age();
  EXPECT_GE(before, 0);
  while (age() <= before) continue;
}

}  // namespace
}  // namespace penstock
