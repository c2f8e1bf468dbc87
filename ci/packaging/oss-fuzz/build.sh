#!/usr/bin/env bash
# Builds the fuzz targets as OSS-Fuzz asks for them: its compiler, flags and engine come in the
# environment ($CXX, $CXXFLAGS, $LIB_FUZZING_ENGINE), targets go to $OUT with their seeds and words.
set -euo pipefail
cd "${SRC:?}/retensor"

# The distribution's static libraries are built with libstdc++.
export CXXFLAGS="${CXXFLAGS//-stdlib=libc++/}"
meson setup "${WORK:?}/build" -Dcuda=disabled -Dcpu_arch= -Dfuzz=true -Dgroup_files=true -Doptimization=1 \
  -Db_lundef=false "-Dfuzz_engine=${LIB_FUZZING_ENGINE:--fsanitize=fuzzer}"
ninja -C "$WORK/build" fuzzers
for program in "$WORK"/build/tests/fuzz/*_fuzz; do
  target=$(basename "$program" _fuzz)
  cp "$program" "${OUT:?}/"
  cp "tests/fuzz/$target.dict" "$OUT/${target}_fuzz.dict"
  zip -jqr "$OUT/${target}_fuzz_seed_corpus.zip" "tests/fuzz/corpus/$target"
done
