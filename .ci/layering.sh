#!/usr/bin/env bash
# Checks that each folder includes only the folders below it (docs/internals/design.md, "The
# house").
set -euo pipefail
cd "$(dirname "$0")/.."

git ls-files '*.h' '*.cc' '*.cu' '*.cuh' | xargs awk '
  BEGIN {
    below["proto"] = "proto"
    below["kernels"] = "kernels"
    below["base"] = "base"
    below["records"] = "records base proto"
    below["metrics"] = "metrics base"
    below["client"] = "client metrics records base proto"
    below["server"] = "server metrics records base proto"
    below["trainer"] = "trainer client metrics records base kernels proto"
    below["cli"] = "cli client metrics records base proto"
    count = split("process io tls drawing flags format container image dataset chess decode engine wire", order, " ")
    for (i = 1; i <= count; ++i) floor[order[i]] = i
  }
  function complain(why) {
    printf "%s:%d: %s\n", FILENAME, FNR, why
    failed = 1
  }
  # Tests, test fixtures, fuzzers and benchmarks see everything.
  FILENAME ~ /^(tests|bench)\/|_test\.cc$|_fuzzer\.cc$|\/testing\// { next }
  match($0, /^#include "[^"]+"/) {
    include = substr($0, 11, RLENGTH - 11)
    if (split(include, to, "/") < 2) next
    split(FILENAME, from, "/")
    if (!(from[1] in below) || !(to[1] in below || to[1] ~ /^(tests|bench)$/)) next
    if (index(" " below[from[1]] " ", " " to[1] " ") == 0)
      complain(from[1] " must not include " include)
    if (from[1] ~ /^(base|records)$/ && to[1] == from[1] && floor[to[2]] > floor[from[2]])
      complain(from[1] "/" from[2] " must not include " include)
    if (include ~ /^base\/flags\// && from[1] ~ /^(records|metrics)$/)
      complain(from[1] " must not include " include)
    # Other headers of kernels/cuda include the CUDA toolkit, which not every machine has.
    if (include ~ /^kernels\/(cuda|simt)\// && include !~ /geometry\.h$/ && from[1] == "trainer" &&
        FILENAME !~ /^trainer\/(cuda\/|backend\/device\/kernel_launch\.cc)/)
      complain("only trainer/cuda and kernel_launch.cc may include " include)
    if (include ~ /^trainer\/cuda\// && FILENAME ~ /^trainer\/(backend|comm)\//)
      complain("only trainer/app and trainer/cuda may include " include)
  }
  END { exit failed }'

# Programs print through base/print_escaped.h, which escapes characters that could control a
# terminal.
! git ls-files '*.h' '*.cc' | grep -Ev '^(tests|bench|kernels)/|_test\.cc$|/(testing|example)/|/print_escaped\.h$' |
  xargs grep -nE 'std::(cout|cerr|clog|f?printf|puts|perror)\b|absl::F?PrintF\(|fputs\([^;]*std(out|err)'
