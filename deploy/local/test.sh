#!/usr/bin/env bash
# Runs the tests and closes with one line that counts test cases, not Bazel targets.
#   test.sh [BAZEL TARGETS OR FLAGS]
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
source deploy/local/env.sh
[ $# -gt 0 ] || set -- //...

events=$(mktemp)
trap 'rm -f "$events"' EXIT
bazel test "${SDP_BAZEL_FLAGS[@]}" --keep_going --build_event_json_file="$events" "$@"
status=$?
python3 deploy/local/count_test_cases.py "$events" || status=1
exit "$status"
