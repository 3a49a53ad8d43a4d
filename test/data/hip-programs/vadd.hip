#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>
#define CHECK(call) do { hipError_t e = (call); if (e != hipSuccess) { printf("%s: %s\n", #call, hipGetErrorString(e)); return 1; } } while (0)
__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
int main() {
  const int n = 100000;
  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; i++) { a[i] = i; b[i] = 2 * i; }
  float *da, *db, *dc;
  CHECK(hipMalloc(&da, n * 4)); CHECK(hipMalloc(&db, n * 4)); CHECK(hipMalloc(&dc, n * 4));
  CHECK(hipMemcpy(da, a.data(), n * 4, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(db, b.data(), n * 4, hipMemcpyHostToDevice));
  add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
  CHECK(hipGetLastError());
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(c.data(), dc, n * 4, hipMemcpyDeviceToHost));
  int bad = 0;
  for (int i = 0; i < n; i++) if (c[i] != 3.0f * i) bad++;
  printf("n=%d bad=%d\n", n, bad);
  return bad != 0;
}
