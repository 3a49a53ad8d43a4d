// Adds two arrays on the GPU and checks the sums: a program of HIP for `wavewright exec`.
//
//     hipcc --offload-arch=gfx90a vadd.hip -o vadd && npx wavewright exec --stats ./vadd
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

static void expect(hipError_t status, const char *what) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, hipGetErrorString(status));
  std::exit(2);
}

__global__ void vadd(const float *a, const float *b, float *sum, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = a[i] + b[i];
}

int main() {
  const int count = 10000, block = 256;
  const size_t bytes = count * sizeof(float);
  std::vector<float> a(count), b(count), sum(count);
  for (int i = 0; i < count; i++) {
    a[i] = i;
    b[i] = 2 * i;
  }
  float *on_gpu[3];
  for (float *&array : on_gpu) expect(hipMalloc(&array, bytes), "hipMalloc");
  expect(hipMemcpy(on_gpu[0], a.data(), bytes, hipMemcpyHostToDevice), "hipMemcpy");
  expect(hipMemcpy(on_gpu[1], b.data(), bytes, hipMemcpyHostToDevice), "hipMemcpy");
  vadd<<<(count + block - 1) / block, block>>>(on_gpu[0], on_gpu[1], on_gpu[2], count);
  expect(hipMemcpy(sum.data(), on_gpu[2], bytes, hipMemcpyDeviceToHost), "hipMemcpy");
  int wrong = 0;
  for (int i = 0; i < count; i++) wrong += sum[i] != a[i] + b[i];
  std::printf("%d sums, %d wrong\n", count, wrong);
  return wrong == 0 ? 0 : 1;
}
