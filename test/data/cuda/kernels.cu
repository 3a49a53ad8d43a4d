// Kernels as CUDA programs have them; test/oracle/cuda.test.ts has what they come to.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define KERNEL extern "C" __global__ void
#if __CUDA_ARCH__ < 800
__device__ unsigned __reduce_xor_sync(unsigned members, unsigned value) {
  for (int distance = 16; distance; distance /= 2) value ^= __shfl_xor_sync(members, value, distance);
  return value;
}
#endif

#define ID (blockIdx.x * blockDim.x + threadIdx.x)

KERNEL vector_add(float *out, const float *in, int n) {
  int i = ID;
  if (i < n) out[i] = in[i] + in[i + n];
}

KERNEL saxpy4(float4 *out, const float4 *in, int n) {
  int i = ID;
  if (i >= n / 4) return;
  float4 x = __ldg(in + i), y = in[i + n / 4];
  out[i] = make_float4(2.5f * x.x + y.x, 2.5f * x.y + y.y, 2.5f * x.z + y.z, 2.5f * x.w + y.w);
}

KERNEL block_sum(unsigned *out, const unsigned *in, int n) {
  __shared__ unsigned part[128];
  int t = threadIdx.x;
  part[t] = in[ID];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s) part[t] += part[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

KERNEL matrix_product(float *out, const float *in, int n) {
  __shared__ float left[8][8], right[8][9];
  int x = threadIdx.x % 8, y = threadIdx.x / 8;
  int column = blockIdx.x % 2 * 8 + x, row = blockIdx.x / 2 * 8 + y;
  float sum = 0;
  for (int tile = 0; tile < 2; tile++) {
    left[y][x] = in[row * 16 + tile * 8 + x];
    right[y][x] = in[256 + (tile * 8 + y) * 16 + column];
    __syncthreads();
    for (int k = 0; k < 8; k++) sum += left[y][k] * right[k][x];
    __syncthreads();
  }
  out[row * 16 + column] = sum;
}

KERNEL warp_sum(unsigned *out, const unsigned *in, int n) {
  unsigned value = in[ID];
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  unsigned all = __reduce_xor_sync(~0u, in[ID]);
  if (threadIdx.x % 32 == 0) out[ID / 32] = value ^ all;
}

KERNEL histogram(unsigned *out, const unsigned *in, int n) {
  __shared__ unsigned bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[in[ID] % 16], 1);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

KERNEL scan(unsigned *out, const unsigned *in, int n) {
  __shared__ unsigned sums[2][128];
  int t = threadIdx.x, from = 0;
  sums[0][t] = in[ID];
  for (int distance = 1; distance < blockDim.x; distance *= 2) {
    __syncthreads();
    sums[1 - from][t] = sums[from][t] + (t >= distance ? sums[from][t - distance] : 0);
    from = 1 - from;
  }
  out[ID] = sums[from][t];
}

KERNEL transpose(unsigned *out, const unsigned *in, int n) {
  __shared__ unsigned tile[16][17];
  int x = threadIdx.x % 16, y = threadIdx.x / 16;
  for (int step = 0; step < 16; step += 8) tile[y + step][x] = in[(y + step) * 16 + x];
  __syncthreads();
  for (int step = 0; step < 16; step += 8) out[(y + step) * 16 + x] = tile[x][y + step];
}

__constant__ float weights[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};

KERNEL convolve(float *out, const float *in, int n) {
  int i = ID;
  float sum = 0;
  for (int k = -2; k <= 2; k++)
    if (i + k >= 0 && i + k < n) sum += weights[k + 2] * in[i + k];
  out[i] = sum;
}

KERNEL mandelbrot(unsigned *out, const unsigned *in, int n) {
  float a = (ID % 32) / 12.0f - 2.0f, b = (ID / 32) / 6.0f - 1.25f, x = 0, y = 0;
  unsigned steps = 0;
  while (steps < 200 && x * x + y * y < 4) {
    float next = x * x - y * y + a;
    y = 2 * x * y + b;
    x = next;
    steps++;
  }
  out[ID] = steps;
}

KERNEL fast_math(float *out, const float *in, int n) {
  float x = in[ID];
  out[ID] = __sinf(x) * __expf(-x) + __logf(x + 1) + rsqrtf(x + 1) + __fdividef(x, 3) + __cosf(x) + __powf(x + 1, 0.5f);
}

KERNEL exact_math(float *out, const float *in, int n) {
  float x = in[ID];
  out[ID] = sinf(x) + expf(-x) + logf(x + 1) + tanhf(x) + cbrtf(x) + atan2f(x, 2) + erff(x) + fmodf(x, 0.3f);
}

KERNEL half_pairs(unsigned *out, const float *in, int n) {
  __half2 x = __floats2half2_rn(in[ID], in[ID + 1]);
  __half2 y = __hmax2(__hfma2(x, x, __float2half2_rn(-1.0f)), __hneg2(x));
  out[ID] = *(unsigned *)&y;
}

KERNEL brain_floats(float *out, const float *in, int n) {
  __nv_bfloat16 x = __float2bfloat16(in[ID]);
  out[ID] = __bfloat162float(__hadd(__hmul(x, x), __float2bfloat16(1.0f)));
}

__device__ float atomic_max(float *at, float value) {
  int *word = (int *)at, old = *word;
  while (__int_as_float(old) < value) {
    int seen = atomicCAS(word, old, __float_as_int(value));
    if (seen == old) break;
    old = seen;
  }
  return __int_as_float(old);
}

KERNEL atomics(unsigned *out, const float *in, int n) {
  atomic_max((float *)out, in[ID]);
  atomicInc(out + 1, 99);
  atomicMin(out + 2, (unsigned)ID - 5);
  atomicAdd((float *)out + 3, 0.5f);
  atomicAdd((unsigned long long *)out + 2, 1ull << 32);
  atomicXor(out + 6, ID);
}

KERNEL compact(unsigned *out, const unsigned *in, int n) {
  unsigned value = in[ID], lane = threadIdx.x % 32;
  unsigned keep = __ballot_sync(~0u, value % 3 == 0), base = 0;
  if (lane == 0) base = atomicAdd(out, __popc(keep));
  base = __shfl_sync(~0u, base, 0);
  if (value % 3 == 0) out[1 + base + __popc(keep & ((1u << lane) - 1))] = value;
  unsigned same = __match_any_sync(~0u, value % 4);
  out[256 + ID] = __popc(same) + __any_sync(~0u, value == 7) + 2 * __all_sync(~0u, value < 5);
}

KERNEL forces(double *out, const double *in, int n) {
  double x = in[ID], force = 0;
  for (int k = 0; k < n; k++) {
    double d = in[k] - x;
    force += d / sqrt((d * d + 0.01) * (d * d + 0.01) * (d * d + 0.01));
  }
  out[ID] = force;
}

KERNEL bits(unsigned *out, const unsigned *in, int n) {
  unsigned x = in[ID], y = in[ID + 1];
  unsigned mixed = __funnelshift_l(x, y, 7) ^ __byte_perm(x, y, 0x3725) ^ __brev(x) + __clz(y) + __ffs(x);
  mixed += __dp4a((int)x, (int)y, 5) + __vabsdiffu4(x, y) + __sad(x, y, 1) + __umulhi(x, y) + __mul24(x, y);
  out[ID] = mixed ^ (unsigned)((unsigned long long)x * y / 1000003 % 65537) ^ (unsigned)((int)x / ((int)y | 1));
}

KERNEL collatz(unsigned *out, const unsigned *in, int n) {
  unsigned long long x = in[ID] % 10000 + 1;
  unsigned steps = 0;
  for (; x != 1; steps++) x = x % 2 ? 3 * x + 1 : x / 2;
  switch (steps % 6) {
    case 0: steps += 1000; break;
    case 1: steps *= 3; break;
    case 2: steps ^= 0x55; break;
    case 3: steps = ~steps; break;
    case 4: steps <<= 3; break;
    default: steps -= 7;
  }
  out[ID] = steps;
}

KERNEL bitonic(unsigned *out, const unsigned *in, int n) {
  extern __shared__ unsigned values[];
  unsigned t = threadIdx.x;
  values[t] = in[ID];
  for (unsigned size = 2; size <= blockDim.x; size *= 2)
    for (unsigned distance = size / 2; distance > 0; distance /= 2) {
      __syncthreads();
      unsigned other = t ^ distance;
      if (other <= t) continue;
      unsigned low = values[t], high = values[other];
      if ((low > high) == !(t & size)) values[t] = high, values[other] = low;
    }
  __syncthreads();
  out[ID] = values[t];
}

KERNEL heat(float *out, const float *in, int n) {
  __shared__ float tile[10][18];
  int x = ID % 16, y = ID / 16, row = threadIdx.x / 16, steps = 3;
  float here = in[ID];
  for (int step = 0; step < steps; step++) {
    tile[row + 1][x + 1] = here;
    if (x == 0) tile[row + 1][0] = 1;
    if (x == 15) tile[row + 1][17] = 2;
    if (row == 0) tile[0][x + 1] = y == 0 ? 3 : in[ID - 16];
    if (row == 7) tile[9][x + 1] = y == 15 ? 4 : in[ID + 16];
    __syncthreads();
    here = 0.25f * (tile[row][x + 1] + tile[row + 2][x + 1] + (tile[row + 1][x] + tile[row + 1][x + 2]));
    __syncthreads();
  }
  out[ID] = here;
}

struct Body {
  float x, y, z, mass;
};

KERNEL bodies(float3 *out, const Body *in, int n) {
  __shared__ Body tile[32];
  Body own = in[ID];
  float3 force = make_float3(0, 0, 0);
  for (int first = 0; first < n; first += 32) {
    __syncthreads();
    if (threadIdx.x < 32) tile[threadIdx.x] = in[first + threadIdx.x];
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < 32; k++) {
      float x = tile[k].x - own.x, y = tile[k].y - own.y, z = tile[k].z - own.z;
      float distance = rsqrtf(x * x + y * y + z * z + 0.5f);
      float pull = tile[k].mass * distance * distance * distance;
      force.x += x * pull, force.y += y * pull, force.z += z * pull;
    }
  }
  out[ID] = force;
}

// Rows of a matrix or neighbours of nodes: n + 1 offsets, then columns.
KERNEL sparse(unsigned *out, const unsigned *in, int n) {
  unsigned sum = 0;
  for (unsigned at = in[ID]; at < in[ID + 1]; at++) {
    unsigned column = in[n + 1 + at];
    sum += (at + 3) * (column * column + 1);
  }
  out[ID] = sum;
}

KERNEL breadth_first(int *out, const unsigned *in, int n) {
  int node = threadIdx.x;
  out[node] = node == 0 ? 0 : -1;
  for (int level = 0, grew = 1; grew; level++) {
    __syncthreads();
    bool found = false;
    if (out[node] == level)
      for (unsigned at = in[node]; at < in[node + 1]; at++)
        if (atomicCAS(out + in[n + 1 + at], -1, level + 1) == -1) found = true;
    grew = __syncthreads_or(found);
  }
}

__device__ float normal(float x) {
  float k = 1 / (1 + 0.2316419f * fabsf(x));
  float tail = 0.39894228f * __expf(-0.5f * x * x) *
               (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return x > 0 ? 1 - tail : tail;
}

KERNEL options(float2 *out, const float *in, int n) {
  float price = in[ID] + 5, strike = in[ID + n] + 5, years = 0.25f + in[ID + 2 * n], rate = 0.02f, spread = 0.3f;
  float root = sqrtf(years);
  float d1 = __fdividef(__logf(price / strike) + (rate + 0.5f * spread * spread) * years, spread * root);
  float discounted = strike * __expf(-rate * years), call = price * normal(d1) - discounted * normal(d1 - spread * root);
  out[ID] = make_float2(call, call + discounted - price);
}

KERNEL monte_carlo(unsigned *out, const unsigned *in, int n) {
  unsigned state = in[ID] | 1, hits = 0;
  auto next = [&state] {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return (float)(state >> 8) * (1.0f / 16777216);
  };
  for (int i = 0; i < 50; i++) {
    float x = next(), y = next();
    hits += x * x + y * y < 1;
  }
  out[1 + ID] = hits;
  atomicAdd(out, hits);
}

namespace cg = cooperative_groups;

KERNEL tiles(unsigned *out, const unsigned *in, int n) {
  cg::thread_block block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  auto tile = cg::tiled_partition<8>(warp);
  unsigned value = in[ID] % 1000;
  unsigned sum = cg::reduce(tile, value, cg::plus<unsigned>()), most = cg::reduce(warp, value, cg::greater<unsigned>());
  unsigned odd = 0;
  if (value % 2) {
    cg::coalesced_group some = cg::coalesced_threads();
    odd = some.size() * 100 + some.thread_rank() + some.shfl(value, 0);
  }
  block.sync();
  out[ID] = sum * 7 + most * 3 + odd + tile.shfl_xor(value, 3) + tile.meta_group_rank() + block.thread_rank();
}

struct Shape {
  unsigned size;
  __device__ Shape(unsigned size) : size(size) {}
  __device__ virtual unsigned area() const { return size; }
};
struct Square : Shape {
  using Shape::Shape;
  __device__ unsigned area() const override { return size * size; }
};
struct Nested : Shape {
  const Shape *inner;
  __device__ Nested(unsigned size, const Shape *inner) : Shape(size), inner(inner) {}
  __device__ unsigned area() const override { return size + 2 * inner->area(); }
};

__device__ __noinline__ unsigned area_of(const Shape *shape) { return shape->area(); }

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

KERNEL shapes(unsigned *out, const unsigned *in, int n) {
  unsigned size = in[ID] % 50;
  Shape plain(size);
  Square square(size);
  Nested nested(3, size % 3 == 0 ? (const Shape *)&square : &plain), twice(5, &nested);
  const Shape *all[] = {&plain, &square, &nested, &twice};
  out[ID] = area_of(all[size % 4]) + 1000 * ackermann(size % 3, size % 5);
}
