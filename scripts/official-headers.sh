#!/usr/bin/env bash
# Holds include/dlpack/dlpack.h against the official headers: 1.3 from the apache-tvm-ffi wheel, and the legacy struct from Debian's libdlpack-dev.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
official=.cache/official-headers
mkdir -p "$official"

if [ ! -e "$official/wheel/tvm_ffi/include/dlpack/dlpack.h" ]; then
  python3 -m pip download -q --disable-pip-version-check --no-deps -d "$official/download" apache-tvm-ffi==0.1.15.post2
  rm -rf "$official/wheel"
  python3 -m zipfile -e "$official"/download/apache_tvm_ffi-*.whl "$official/wheel"
fi
node scripts/check-dlpack-header.mjs "$official/wheel/tvm_ffi/include"

if [ ! -e "$official/debian/usr/include/dlpack/dlpack.h" ]; then
  if ! command -v apt-get >/dev/null; then
    echo 'skipped: the legacy struct against Debian'"'"'s libdlpack-dev: no apt-get here'
    exit 0
  fi
  (cd "$official" && { apt-get download -qq libdlpack-dev 2>/dev/null || { apt-get update -qq && apt-get download -qq libdlpack-dev; }; })
  dpkg-deb -x "$official"/libdlpack-dev_*.deb "$official/debian"
fi
node scripts/check-dlpack-header.mjs "$official/debian/usr/include" --subset
