# shellcheck shell=bash
# Helpers shared by the scripts of this folder; sourced, never run. Sourcing changes to the root of
# the tree. Talk goes to stderr.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
# Where the CUDA toolkit installs itself without being on the PATH.
if ! command -v nvcc >/dev/null && [[ -x /usr/local/cuda/bin/nvcc ]]; then
  PATH=/usr/local/cuda/bin:$PATH
fi

note() { printf '%s\n' "$*" >&2; }
title() { printf '\n== %s\n' "$*" >&2; }
die() {
  note "${0##*/}: $*"
  exit 2
}

# first_that TEST CANDIDATE...: the path of the first program that TEST finds fit.
first_that() {
  local candidate
  for candidate in "${@:2}"; do
    if [[ -n $candidate ]] && "$1" "$candidate" 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

# Python of the plots and tests. The first python3 on the PATH need not be the one that the
# distribution's packages belong to, so each candidate has to import what is used.
draws_plots() { "$1" -c 'import matplotlib, pandas, yaml, jinja2'; }
find_python() { first_that draws_plots "${RETENSOR_PYTHON:-}" /usr/bin/python3 python3; }

# A Meson that starts and is 1.0.1 or newer. A leftover of another Python may stand first on the PATH.
is_new_meson() {
  local version
  version=$("$1" --version) && [[ $(printf '%s\n' 1.0.1 "$version" | sort -V | head -n 1) == 1.0.1 ]]
}
find_meson() { first_that is_new_meson "${RETENSOR_MESON:-}" /usr/bin/meson meson; }

# read_options USAGE WORDS ARGUMENT...: --build DIR into $build, --limit SECONDS into $limit, and one of the
# WORDS, a pattern, into $word. Anything else ends the script.
# shellcheck disable=SC2034  # for the script that sources this
read_options() {
  local usage=$1 words=$2
  shift 2
  build='' limit='' word=''
  while (($#)); do
    case $1 in
      --build) build=${2:?--build needs a folder} && shift ;;
      --limit) limit=${2:?--limit needs seconds} && shift ;;
      *) if [[ $1 =~ ^($words)$ ]]; then word=$1; else die "usage: $usage"; fi ;;
    esac
    shift
  done
}

# is_gcc COMMAND: whether this compiler command is one of GCC.
is_gcc() {
  # shellcheck disable=SC2086  # "ccache g++" are two words
  $1 --version | grep -q 'Free Software Foundation'
}

# After ci/bootstrap: the programs that the caller and what it starts work with.
find_tools() {
  RETENSOR_PYTHON=$(find_python)
  RETENSOR_MESON=$(find_meson)
  export RETENSOR_PYTHON RETENSOR_MESON
}

# configure DIR OPTION...: makes or updates a build folder; one left by another Meson is made anew.
configure() {
  local dir=$1
  shift
  # The default instruction set of the build is newer than some machines.
  grep -qw avx2 /proc/cpuinfo || set -- "$@" -Dcpu_arch=
  # Few systems but Debian have static libraries.
  local compiler=${CXX:-g++}
  [[ $("${compiler##* }" -print-file-name=libyaml-cpp.a) == /* ]] || set -- "$@" -Dstatic=false
  if [[ -f $dir/build.ninja ]]; then
    "$RETENSOR_MESON" setup --reconfigure "$dir" "$@" >&2 ||
      "$RETENSOR_MESON" setup --wipe "$dir" "$@" >&2
  else
    "$RETENSOR_MESON" setup "$dir" "$@" >&2
  fi
}

# A compiler behind a compiler cache, where there is one.
cached() {
  if command -v ccache >/dev/null; then printf 'ccache %s\n' "$1"; else printf '%s\n' "$1"; fi
}

# clang_build DIR SANITIZERS OPTION...: configures a build with sanitizers. It stays on the machine,
# and nothing in it is timed: what compiles fastest will do. Line tables are all of the debug
# information that a report of the sanitizers needs.
clang_build() {
  local dir=$1 sanitizers=$2
  shift 2
  # Instrumented loops may not vectorise where `omp simd` asks for it.
  CC=$(cached clang-14) CXX=$(cached clang++-14) configure "$dir" -Dwerror=true -Dcuda=disabled -Dheader_only_fmt=false \
    -Dgroup_files=true -Doptimization=1 -Ddebug=false -Db_lundef=false \
    "-Dcpp_args=-gline-tables-only -Wno-pass-failed" \
    "-Db_sanitize=$sanitizers" "$@"
}
# The build of ci/test, and those of ci/fuzz, which are optimised: a target gets 10^7 inputs and more.
# The plain one ends at undefined behaviour and at an index beyond a standard container, and sees no
# other access to memory; it takes a fraction of the time.
asan_build() { # OPTION...
  clang_build build-sanitize address,undefined -Dfuzz=true \
    "-Dcpp_args=-gline-tables-only -Wno-pass-failed -fsanitize-ignorelist=$PWD/tests/ubsan.ignore" "$@"
}
fuzz_build() { clang_build build-fuzz address,undefined -Dfuzz=true -Doptimization=2; }
plain_fuzz_build() {
  clang_build build-fuzz-plain undefined -Dfuzz=true -Doptimization=2 \
    "-Dcpp_args=-gline-tables-only -Wno-pass-failed -fsanitize-trap=undefined -D_GLIBCXX_ASSERTIONS"
}

# Compute capability of the first GPU, such as 90; fails where there is none.
gpu_arch() {
  local capability
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1)
  [[ $capability =~ ^[0-9]+\.[0-9]+$ ]] && printf '%s\n' "${capability/./}"
}
