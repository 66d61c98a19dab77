#!/usr/bin/env bash
# Installs what a build needs: Debian packages and LibTorch. Safe to run again; skips what is there.
#   setup.sh [--if-missing]    --if-missing says nothing when nothing is to be done
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"
source ./env.sh

quiet=false
[ "${1:-}" = "--if-missing" ] && quiet=true

say() { echo "setup: $*" >&2; }
die() {
  say "$*"
  exit 1
}

check_system() {
  local id="" version=""
  [ -r /etc/os-release ] && { id=$(. /etc/os-release && echo "${ID:-}"); version=$(. /etc/os-release && echo "${VERSION_ID:-}"); }
  if [ "$id" != debian ] || [ "$version" != 12 ] || [ "$(uname -m)" != x86_64 ]; then
    die "this is '${id:-unknown} ${version:-}' on $(uname -m); sdp is built on Debian 12 (bookworm), x86_64. A container of debian:12 works."
  fi
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "installing packages needs root or sudo: run as root: apt-get install --no-install-recommends ${missing[*]}"
  fi
}

install_packages() {
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' 2>/dev/null | sed -n 's/^ii //p')
  missing=()
  while read -r package; do
    grep -qx "$package" <<<"$installed" || missing+=("$package")
  done < <(grep -v '^#' packages.txt)
  if [ ${#missing[@]} -eq 0 ]; then
    $quiet || say "all $(grep -vc '^#' packages.txt) packages are installed"
    return
  fi
  say "installing ${#missing[@]} packages: ${missing[*]}"
  as_root apt-get update -q >&2
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}" >&2
}

# Download, check the hashes, unpack only what is used, and rename last: an interrupted run leaves no half library.
install_downloads() {
  if [ -e "$SDP_LIBTORCH/torch/lib/libtorch_cpu.so" ] && [ -e "$SDP_GOOGLEAPIS/google/rpc/status.proto" ]; then
    $quiet || say "LibTorch and the google.rpc protos are in $SDP_CACHE"
    return
  fi
  say "fetching LibTorch 2.11.0 (540 MB; 1.2 GB unpacked) into $SDP_CACHE"
  mkdir -p "$SDP_CACHE"
  local work
  work=$(mktemp -d "$SDP_CACHE/downloads.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  python3 -m pip download --no-deps --only-binary=:all: --python-version 3.11 --implementation cp \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_25_x86_64 --platform manylinux_2_17_x86_64 \
    --require-hashes --no-cache-dir --dest "$work/wheels" -r downloads.requirements.txt >&2 ||
    die "the download failed (above); check the network and the pip settings, then run ./sdp setup again"
  say "unpacking"
  mkdir "$work/libtorch" "$work/googleapis"
  unzip -q "$work"/wheels/torch-*.whl 'torch/include/ATen/*' 'torch/include/c10/*' 'torch/include/caffe2/*' \
    'torch/include/torch/*' torch/lib/libtorch_cpu.so torch/lib/libc10.so torch/lib/libgomp.so.1 -d "$work/libtorch"
  unzip -q "$work"/wheels/nvidia_cuda_runtime-*.whl 'nvidia/cu13/lib/libcudart.so.13' -d "$work/libtorch"
  unzip -q "$work"/wheels/nvidia_cuda_cupti-*.whl 'nvidia/cu13/lib/libcupti.so.13' -d "$work/libtorch"
  unzip -q "$work"/wheels/googleapis_common_protos-*.whl 'google/rpc/*.proto' -d "$work/googleapis"
  rm -rf "$SDP_LIBTORCH" "$SDP_GOOGLEAPIS"
  mkdir -p "$(dirname "$SDP_LIBTORCH")" "$(dirname "$SDP_GOOGLEAPIS")"
  mv "$work/libtorch" "$SDP_LIBTORCH"
  mv "$work/googleapis" "$SDP_GOOGLEAPIS"
  rm -rf "$work"
  trap - EXIT
}

check_system
install_packages
install_downloads
$quiet || say "done"
