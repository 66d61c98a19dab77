#!/usr/bin/env bash
# buf lint over proto/, with buf from PyPI in an environment of its own inside the cache.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
source deploy/local/env.sh
buf="$SDP_CACHE/buf/bin/buf"
if [ ! -x "$buf" ]; then
  echo "lint: installing buf-bin into $SDP_CACHE/buf" >&2
  python3 -m venv "$SDP_CACHE/buf"
  "$SDP_CACHE/buf/bin/pip" install -q buf-bin
fi
cd proto
exec "$buf" lint
