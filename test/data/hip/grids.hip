/* Kernels in grids of one and two dimensions, whose size they also read from what the launch hides behind their arguments. */
#include "hip.h"

__device__ uint hidden_blocks(uint axis) {
  return ((const __attribute__((address_space(4))) uint *)__builtin_amdgcn_implicitarg_ptr())[axis];
}

/* Each pixel of the result is the one of the image that the transform leads to, or the border's. */
extern "C" __global__ void affine(uint *out, const uint *in, float xx, float xy, float yx, float yy, int width,
                                  int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int from_x = (int)(xx * x + xy * y), from_y = (int)(yx * x + yy * y);
  bool inside = from_x >= 0 && from_x < width && from_y >= 0 && from_y < height;
  out[y * width + x] = inside ? in[from_y * width + from_x] : hidden_blocks(0) * 16 + hidden_blocks(1);
}

/* Transposes tiles of 64 structures in place, through LDS: blocks take tiles in turn. */
extern "C" __global__ void asta(uint *structures, uint *next, uint tiles, uint fields) {
  __shared__ uint tile[64 * 8];
  __shared__ uint number;
  for (;;) {
    if (threadIdx.x == 0) number = atomicAdd(next, 1u);
    __syncthreads();
    if (number >= tiles) return;
    uint *mine = structures + number * 64 * fields;
    for (uint i = threadIdx.x; i < 64 * fields; i += blockDim.x) tile[i] = mine[i];
    __syncthreads();
    for (uint i = threadIdx.x; i < 64 * fields; i += blockDim.x) mine[i] = tile[i % 64 * fields + i / 64];
  }
}

struct Complex {
  float re, im;
};

/* Each thread squares and adds, as often as there are blocks; the result says whether it stays near 0. */
extern "C" __global__ void complex_powers(uchar *out, uint n) {
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Complex c{i * 2e-7f, -0.5f}, z{0, 0};
  for (uint round = 0; round < hidden_blocks(0) % 8; round++)
    z = Complex{z.re * z.re - z.im * z.im + c.re, 2 * z.re * z.im + c.im};
  out[i] = z.re * z.re + z.im * z.im < 4;
}
