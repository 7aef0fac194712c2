#!/usr/bin/env bash
# Builds the fuzz target: what reads files and texts, compiled by clang for libFuzzer and the sanitizers,
# and the other objects of the engine as they are in build/. Run by ./dev fuzz in the root.
set -euo pipefail
out=build/fuzz
mkdir -p $out
readers=(mlx/io/*.cpp mlx/ops/{einsum,file_read}.cpp mlx/transforms/{function_file,export_ops}.cpp
  mlx/c/src/*.cpp build/c/functions_*.cpp mlx/distributed/{connect,order,words}.cpp)
clang=$(compgen -c clang++ | sort -u | grep -E '^clang\+\+(-[0-9]+)?$' | head -1)
# What the build includes everywhere (cmake/engine.cmake).
prefix=()
for header in algorithm cmath functional memory mutex optional string unordered_map vector; do
  prefix+=(-include $header)
done
flags=(-std=c++20 -O1 -g1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined
  -fno-sanitize=vptr,function -fno-sanitize-recover=all -I.
  -Imlx/compat/published -Ibuild/include -Ibuild/c
  -isystem build/packages/json "${prefix[@]}")
objects=()
stale=()
newest=$(find mlx python/src/signature_text.h tests/fuzz -name '*.h' -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2)
for source in "${readers[@]}" python/src/signature_text.cpp tests/fuzz/*.cpp; do
  object=$out/$(echo "$source" | tr / _).o
  objects+=("$object")
  if [ ! "$object" -nt "$source" ] || [ "$newest" -nt "$object" ]; then stale+=("$object" "$source"); fi
done
if [ ${#stale[@]} -gt 0 ]; then
  printf '%s\n' "${stale[@]}" | xargs -n 2 -P "${MLX_BUILD_JOBS:-$(nproc)}" "$clang" "${flags[@]}" -c -o
fi
rest=()
while read -r object; do
  source=${object#*/__/}
  source=${source%.o}
  # Removed sources leave objects.
  if [ -f "$source" ] && ! [[ " ${readers[*]} " = *" $source "* ]]; then rest+=("$object"); fi
done < <(find build/objects/CMakeFiles/mlx{,_v2,_avx2,_avx512}.dir -name '*.o')
blas=$(dirname "$(find .venv -name libscipy_openblas.so | head -1)")
"$clang" -fsanitize=fuzzer,address,undefined -fno-sanitize=vptr,function "${objects[@]}" "${rest[@]}" \
  -L"$blas" -Wl,-rpath,"$PWD/$blas" -lscipy_openblas -ldl -lpthread -o $out/fuzz_target
