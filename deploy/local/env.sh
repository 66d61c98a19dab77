# Settings shared by the local scripts; sourced, never run.

SDP_CACHE="${SDP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sdp}"
SDP_LIBTORCH="${SDP_LIBTORCH:-$SDP_CACHE/libtorch-2.11.0}"
SDP_GOOGLEAPIS="${SDP_GOOGLEAPIS:-$SDP_CACHE/googleapis-1.76.0}"
export SDP_CACHE SDP_LIBTORCH SDP_GOOGLEAPIS

# The disk cache makes a fresh clone build in seconds.
SDP_BAZEL_FLAGS=(--disk_cache="$SDP_CACHE/bazel")
