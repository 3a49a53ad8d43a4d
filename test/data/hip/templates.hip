/* Kernels made by templates: reductions, scans, products, sorting, tables. */
#include "hip.h"

struct Sum {
  template <typename T> static __device__ T of(T a, T b) { return a + b; }
};
struct Largest {
  template <typename T> static __device__ T of(T a, T b) { return a < b ? b : a; }
};

template <typename T, class Operation> __device__ T of_block(T value) {
  __shared__ T of_waves[1024 / SHUFFLE_WIDTH];
  for (uint mask = SHUFFLE_WIDTH / 2; mask > 0; mask /= 2) value = Operation::of(value, __shfl_xor(T, value, mask));
  __syncthreads();
  if (lane() % SHUFFLE_WIDTH == 0) of_waves[threadIdx.x / SHUFFLE_WIDTH] = value;
  __syncthreads();
  T result = of_waves[0];
  for (uint wave = 1; wave * SHUFFLE_WIDTH < blockDim.x; wave++) result = Operation::of(result, of_waves[wave]);
  return result;
}

/* Two numbers of each block: all of its threads', and those of all of its threads with even indices. */
template <typename T, class Operation> __global__ void reduce(T *out, const T *in, T neutral, uint n) {
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  T value = i < n ? in[i] : neutral;
  T all = of_block<T, Operation>(value), even = of_block<T, Operation>(i % 2 == 0 ? value : neutral);
  if (threadIdx.x == 0) {
    out[blockIdx.x * 2] = all;
    out[blockIdx.x * 2 + 1] = even;
  }
}

/* Prefix sums of each SHUFFLE_WIDTH threads. */
template <typename T> __global__ void scan(T *out, const T *in, uint n) {
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  T sum = i < n ? in[i] : T(0);
  for (uint by = 1; by < SHUFFLE_WIDTH; by *= 2) {
    T other = __shfl_up(T, sum, by);
    if (lane() % SHUFFLE_WIDTH >= by) sum += other;
  }
  if (i < n) out[i] = sum;
}

/* C = A B, row by row of tiles; each thread has ROWS results. */
template <typename T, typename Accumulator, uint TILE, uint ROWS>
__global__ void __launch_bounds__(TILE *TILE / ROWS) matmul(T *c, const T *a, const T *b, uint m, uint n, uint k) {
  __shared__ T left[TILE][TILE + 1], right[TILE][TILE + 1];
  Accumulator sums[ROWS] = {};
  uint column = blockIdx.x * TILE + threadIdx.x;
  for (uint start = 0; start < k; start += TILE) {
    __syncthreads();
    for (uint y = threadIdx.y; y < TILE; y += TILE / ROWS) {
      uint row = blockIdx.y * TILE + y, from = start + threadIdx.x;
      left[y][threadIdx.x] = row < m && from < k ? a[row * k + from] : T(0);
      right[y][threadIdx.x] = start + y < k && column < n ? b[(start + y) * n + column] : T(0);
    }
    __syncthreads();
#pragma unroll
    for (uint r = 0; r < ROWS; r++)
      for (uint x = 0; x < TILE; x++)
        sums[r] += (Accumulator)left[threadIdx.y + r * (TILE / ROWS)][x] * (Accumulator)right[x][threadIdx.x];
  }
  for (uint r = 0; r < ROWS; r++) {
    uint row = blockIdx.y * TILE + threadIdx.y + r * (TILE / ROWS);
    if (row < m && column < n) c[row * n + column] = (T)sums[r];
  }
}

/* Each block sorts its numbers by their low bits, 4 at a time; numbers and counts of each wave are in LDS of the launch. */
template <typename Key> __global__ void radix_sort(Key *out, const Key *in, uint n, uint bits) {
  const uint size = blockDim.x, self = threadIdx.x, i = blockIdx.x * size + self, wave = self / WAVE;
  Key *keys = (Key *)dynamic_shared;
  uint *counts = (uint *)(keys + size);
  Key key = i < n ? in[i] : ~Key(0);
  for (uint shift = 0; shift < bits; shift += 4) {
    uint digit = (uint)(key >> shift) & 15, place = 0;
    for (uint d = 0; d < 16; d++) {
      ulong same = __ballot(digit == d);
      if (digit == d) place = __builtin_popcountl(same & ((1ul << lane()) - 1));
      if (lane() == d) counts[wave * 16 + d] = __builtin_popcountl(same);
    }
    __syncthreads();
    for (uint k = 0; k < size / WAVE * 16; k++)
      if (k % 16 < digit || (k % 16 == digit && k / 16 < wave)) place += counts[k];
    keys[place] = key;
    __syncthreads();
    key = keys[self];
    __syncthreads();
  }
  if (i < n) out[i] = key;
}

/* Counts in LDS by atomics, then in memory. */
template <uint BINS> __global__ void histogram(uint *counts, const uchar *in, uint n) {
  __shared__ uint own[BINS];
  for (uint bin = threadIdx.x; bin < BINS; bin += blockDim.x) own[bin] = 0;
  __syncthreads();
  for (uint i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[in[i] % BINS], 1u);
  __syncthreads();
  for (uint bin = threadIdx.x; bin < BINS; bin += blockDim.x)
    if (own[bin] != 0) atomicAdd(&counts[bin], own[bin]);
}

/* A table of keys, a variable of the program; where keys stand depends on the order of threads, so another kernel asks for each. */
template <uint SIZE> struct Table {
  uint keys[SIZE];
  ulong sums[SIZE];
  uint largest;

  __device__ uint place_of(uint key) {
    for (uint place = key * 2654435761u % SIZE;; place = (place + 1) % SIZE) {
      uint found = atomicCAS(&keys[place], 0u, key);
      if (found == 0 || found == key) return place;
    }
  }
};
__device__ Table<512> table;

template <uint KEYS> __global__ void add_to_table(const uint *in, uint n) {
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint key = in[i] % KEYS + 1;
  atomicAdd(&table.sums[table.place_of(key)], (ulong)i);
  atomicMax(&table.largest, key);
}
template <uint KEYS> __global__ void read_table(ulong *out, uint *largest) {
  uint key = blockIdx.x * blockDim.x + threadIdx.x + 1;
  if (key <= KEYS) out[key - 1] = table.sums[table.place_of(key)];
  *largest = table.largest;
}

template __global__ void reduce<int, Sum>(int *, const int *, int, uint);
template __global__ void reduce<double, Largest>(double *, const double *, double, uint);
template __global__ void reduce<ulong, Sum>(ulong *, const ulong *, ulong, uint);
template __global__ void scan<float>(float *, const float *, uint);
template __global__ void scan<long>(long *, const long *, uint);
template __global__ void matmul<float, float, 16, 2>(float *, const float *, const float *, uint, uint, uint);
template __global__ void matmul<_Float16, float, 8, 4>(_Float16 *, const _Float16 *, const _Float16 *, uint, uint, uint);
template __global__ void radix_sort<uint>(uint *, const uint *, uint, uint);
template __global__ void radix_sort<ulong>(ulong *, const ulong *, uint, uint);
template __global__ void histogram<100>(uint *, const uchar *, uint);
template __global__ void add_to_table<300>(const uint *, uint);
template __global__ void read_table<300>(ulong *, uint *);
