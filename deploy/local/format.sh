#!/usr/bin/env bash
# clang-format over all C++ and proto files; --check reports instead of changing.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
arguments=(-i)
[ "${1:-}" = "--check" ] && arguments=(--dry-run --Werror)
git ls-files --cached --others --exclude-standard '*.cc' '*.h' '*.proto' | xargs -r clang-format "${arguments[@]}"
