#!/bin/sh
# Builds the baselines into bench/baselines/build:
#   gcc             -O3
#   gcc-native      -O3 -march=native
#   gcc-vectorised  the same, loops ordered by hand so that gcc makes vectors of them
#   pocl            the OpenCL sources, where OpenCL headers are installed
# Debian: apt-get install gcc libc6-dev pocl-opencl-icd ocl-icd-opencl-dev opencl-headers
set -eu
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
mkdir -p build
# Contraction is off as in the kernels, which say where they mean fma; the C says it through the macro FMA.
flags="-std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -ffp-contract=off"
gcc $flags -O3 -o build/gcc baseline.c native.c -lm
gcc $flags -O3 -march=native -o build/gcc-native baseline.c native.c -lm
gcc $flags -O3 -march=native -DVECTORISED -o build/gcc-vectorised baseline.c native.c -lm
if [ -e /usr/include/CL/cl.h ]; then
  gcc $flags -O2 -DKERNELS_FOLDER="\"$root/examples/kernels\"" -DSTAND_IN_FOLDER="\"$root/bench/baselines/opencl\"" \
    -o build/pocl baseline.c opencl.c -lOpenCL
else
  echo "no OpenCL headers: without PoCL" >&2
fi
