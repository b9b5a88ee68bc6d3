#include "trainer/app/rank_options.h"

#include <cmath>
#include <cstdio>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/byte_size.h"
#include "base/status.h"
#include "base/timeout.h"

namespace penstock {
namespace {

absl::Status CheckBucketSize(const std::string& text) {
  const auto bytes = ParseByteSize(text);
  PENSTOCK_RETURN_IF_ERROR(Annotate(bytes.status(), "--bucket-size"));
  if (*bytes == 0 || *bytes >= sizeof(float)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--bucket-size ", text, " is smaller than one gradient (", sizeof(float), " bytes); give ",
      sizeof(float), " or more, or 0 for one bucket of all gradients"));
}

}  // namespace

absl::Status RankFlags::Validate() const {
  PENSTOCK_RETURN_IF_ERROR(
      Annotate(ParseTimeout(rendezvous_timeout).status(), "--rendezvous-timeout"));
  PENSTOCK_RETURN_IF_ERROR(Annotate(ParseTimeout(late_after).status(), "--late-after"));
  PENSTOCK_RETURN_IF_ERROR(CheckBucketSize(bucket_size));
  if (compression != "none" && !fast()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--compression ", compression,
                     " needs --reduction fast, because it rounds the gradients that are sent"));
  }
  return Annotate(ParseTimeout(collective_timeout).status(), "--collective-timeout");
}

WireFloat RankFlags::wire() const {
  if (compression == "bf16") return WireFloat::kBf16;
  return compression == "fp16" ? WireFloat::kFp16 : WireFloat::kFp32;
}

size_t RankFlags::bucket_floats() const { return *ParseByteSize(bucket_size) / sizeof(float); }

double RankFlags::LearningRateFactor(uint32_t world_size) const {
  if (lr_scaling == "linear") return world_size;
  return lr_scaling == "sqrt" ? std::sqrt(static_cast<double>(world_size)) : 1.0;
}

std::string RankFlags::WarmUpWarning(uint32_t world_size, uint64_t warmup_steps) const {
  if (LearningRateFactor(world_size) == 1 || warmup_steps > 0) return "";
  return absl::StrCat("--lr-scaling ", lr_scaling, " on ", world_size, " ranks without ",
                      "--warmup-steps: the first steps may diverge at the scaled learning rate; ",
                      "give --warmup-steps");
}

void AddRankOptions(CLI::App& app, RankFlags& flags) {
  app.option_defaults()->group("Data");
  app.add_option("--shard-by", flags.shard_by,
                 "Ranks that share the data of --manifest: all of them (rank), or those of a host, "
                 "which has its own data (local-rank)")
      ->check(CLI::IsMember({"rank", "local-rank"}))
      ->type_name("MODE");
  app.option_defaults()->group("Optimizer");
  app.add_option(
         "--lr-scaling", flags.lr_scaling,
         "Multiply --lr by the world size (linear) or its root (sqrt); use --warmup-steps then")
      ->check(CLI::IsMember({"none", "linear", "sqrt"}))
      ->type_name("MODE");
  app.option_defaults()->group("Ranks");
  // Excluded from configuration files, which all ranks may share.
  app.add_option("--rank", flags.ranks.rank,
                 "Rank of this process; absent: from torchrun, Open MPI, Slurm, PMI, Horovod or "
                 "TF_CONFIG")
      ->configurable(false);
  app.add_option("--world-size", flags.ranks.world_size, "Number of ranks")->configurable(false);
  app.add_option("--local-rank", flags.ranks.local_rank,
                 "Rank of this process among the ranks of this host")
      ->configurable(false);
  app.add_option("--local-size", flags.ranks.local_size, "Number of ranks on this host")
      ->configurable(false);
  app.add_option("--rendezvous", flags.ranks.rendezvous,
                 "HOST:PORT where rank 0 listens and all ranks meet")
      ->type_name("ADDRESS");
  app.add_option("--rendezvous-timeout", flags.rendezvous_timeout,
                 "Fail if ranks are missing after this time")
      ->type_name("TIME")
      ->envname("PENSTOCK_RENDEZVOUS_TIMEOUT");
  app.add_option("--interface", flags.interface,
                 "Network interface between ranks; empty: the one towards --rendezvous")
      ->type_name("NAME")
      ->envname("PENSTOCK_INTERFACE");
  app.add_option("--collective-timeout", flags.collective_timeout,
                 "Fail if another rank, or the GPU, is silent for this time")
      ->type_name("TIME");
  app.add_option(
         "--late-after", flags.late_after,
         "Waiting time after which every rank reports the cause: a late rank and where it is, or "
         "the GPU")
      ->type_name("TIME");
  app.add_flag("--divide-steps", flags.divide_steps, "Divide --steps by the number of ranks");
  app.add_option("--reduction", flags.reduction,
                 "How ranks sum gradients; deterministic: the same bits at any world size")
      ->check(CLI::IsMember({"deterministic", "fast"}))
      ->type_name("MODE");
  app.add_option("--compression", flags.compression,
                 "Type in which gradients are sent, with --reduction fast")
      ->check(CLI::IsMember({"none", "bf16", "fp16"}))
      ->type_name("DTYPE");
  app.add_option(
         "--bucket-size", flags.bucket_size,
         "Gradients to exchange at a time during the backward pass; 0: all of them after it")
      ->type_name("SIZE");
}

std::string RankMark(const RankInfo& info) {
  return info.world_size == 1 ? "" : absl::StrCat("rank ", info.rank, ": ");
}

RankGroupOptions ToGroupOptions(const RankFlags& flags, const LateReport& late) {
  RankGroupOptions options;
  options.join_timeout = *ParseTimeout(flags.rendezvous_timeout);
  options.tcp.interface = flags.interface;
  options.tcp.timeout = *ParseTimeout(flags.collective_timeout);
  options.tcp.late_after = *ParseTimeout(flags.late_after);
  options.tcp.report = [&late](absl::string_view line) { late.Tell(line); };
  return options;
}

}  // namespace penstock
