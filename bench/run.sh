#!/usr/bin/env bash
# Runs the measurements: all, or the named one.
#   run.sh [sdp_vs_ddp | NAME OF A BENCHMARK TARGET] [ITS ARGUMENTS]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
source deploy/local/env.sh

run_one() {
  local name="$1"
  shift
  if [ "$name" = sdp_vs_ddp ]; then
    bazel build "${SDP_BAZEL_FLAGS[@]}" //coordinator //worker //cli:sdpctl
    python3 bench/sdp_vs_ddp.py "$@"
  else
    bazel build "${SDP_BAZEL_FLAGS[@]}" "//bench:$name"
    "bazel-bin/bench/$name" "$@"
  fi
}

if [ $# -gt 0 ]; then
  run_one "$@"
else
  run_one sdp_vs_ddp
  for target in $(bazel query --noshow_progress 'kind(cc_binary, //bench:all)' 2>/dev/null); do
    run_one "${target#*:}"
  done
fi
