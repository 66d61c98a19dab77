#!/usr/bin/env bash
# Builds what the demo runs, then runs it.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
source deploy/local/env.sh
for argument in "$@"; do
  case "$argument" in
    -h | --help) exec python3 deploy/local/demo.py --help ;;
  esac
done
echo "demo: building (a first build takes several minutes)" >&2
bazel build "${SDP_BAZEL_FLAGS[@]}" --show_progress //coordinator //worker //worker:generate //cli:sdpctl
exec python3 deploy/local/demo.py "$@"
