#!/bin/sh
# Builds the baselines into a folder, by default bench/baselines/build:
#   gcc             -O3
#   gcc-native      -O3 -march=native
#   gcc-vectorised  the same, loops ordered by hand so that gcc makes vectors of them
#   pocl            the OpenCL sources, where OpenCL headers are installed
# Debian: apt-get install gcc libc6-dev pocl-opencl-icd ocl-icd-opencl-dev opencl-headers
set -eu
[ $# -eq 0 ] || set -- "$(realpath "$1")"
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
out=${1:-build}
mkdir -p "$out"
# Contraction is off as in the kernels, which say where they mean fma; the C says it through the macro FMA.
flags="-std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -ffp-contract=off"
gcc $flags -O3 -o "$out/gcc" baseline.c native.c -lm
gcc $flags -O3 -march=native -o "$out/gcc-native" baseline.c native.c -lm
gcc $flags -O3 -march=native -DVECTORISED -o "$out/gcc-vectorised" baseline.c native.c -lm
if [ -e /usr/include/CL/cl.h ]; then
  gcc $flags -O2 -DROOT_FOLDER="\"$root\"" -DSTAND_IN_FOLDER="\"$root/bench/baselines/opencl\"" \
    -o "$out/pocl" baseline.c opencl.c -lOpenCL
else
  echo "no OpenCL headers: without PoCL" >&2
fi
