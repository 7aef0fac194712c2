#!/usr/bin/env bash
# What the tests on emulated 64-bit Arm need, below build/arm alone: Debian's arm64 Python in
# build/arm/sysroot, Python packages for it in build/arm/site. apt works on lists and a state of
# its own, so the machine's packages stay what they are. Run from the top of the repository.
#
#   setup.sh PYTHON REQUIREMENTS    PYTHON runs pip; REQUIREMENTS is a file that names the packages
set -euo pipefail
at=$PWD/build/arm
mkdir -p "$at/apt/state/lists/partial" "$at/apt/cache/archives/partial" "$at/apt/debs"

want=$(cat "$2" tests/arm/setup.sh | cksum)
[ "$(cat "$at/.installed" 2>/dev/null)" = "$want" ] && exit
rm -rf "$at/sysroot" "$at/site" "$at/.installed"
mkdir -p "$at/sysroot" "$at/site"

: >"$at/apt/status"
debs() {
  apt-get -qq -o Dir::State="$at/apt/state" -o Dir::State::status="$at/apt/status" -o Dir::Cache="$at/apt/cache" \
    -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root "$@"
}
debs update
# The interpreter, its headers, and the libraries of its modules.
(cd "$at/apt/debs" && debs download python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libpython3.11-dev \
  libc6 libgcc-s1 libstdc++6 zlib1g libexpat1 libssl3 libffi8 libbz2-1.0 liblzma5 libsqlite3-0 libuuid1 libdb5.3 \
  libcrypt1 libncursesw6 libtinfo6 libreadline8)
for deb in "$at"/apt/debs/*.deb; do dpkg-deb -x "$deb" "$at/sysroot"; done
[ -e "$at/sysroot/lib64" ] || ln -s lib "$at/sysroot/lib64"

"$1" -m pip install -q --disable-pip-version-check --no-compile --only-binary=:all: --python-version 3.11 \
  --implementation cp --abi cp311 --abi abi3 --abi none --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 \
  --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 --target "$at/site" \
  -r "$2"
echo "$want" >"$at/.installed"
