// What HIP programs use, one function each: `features NAME...` runs those, without a name all that end. Prints "NAME ok" or what is wrong.
// clang-format off: the second header needs the first
#include <hip/hip_runtime.h>
#include <hip/hip_cooperative_groups.h>
#include <hip/hiprtc.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                                    \
  do {                                                                                 \
    hipError_t status = (call);                                                        \
    if (status != hipSuccess) {                                                        \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(status)); \
      return false;                                                                    \
    }                                                                                  \
  } while (0)
#define EXPECT(condition)                                         \
  do {                                                            \
    if (!(condition)) {                                           \
      printf("%s:%d: not %s\n", __FILE__, __LINE__, #condition);  \
      return false;                                               \
    }                                                             \
  } while (0)

__global__ void fill(int *out, int value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = value + i;
}

__global__ void add_one(int *data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
}

static bool streams() {
  const int n = 5000, count = 4;
  hipStream_t stream[count];
  int *device[count];
  std::vector<int> host[count];
  for (int s = 0; s < count; s++) {
    CHECK(hipStreamCreate(&stream[s]));
    CHECK(hipMalloc(&device[s], n * sizeof(int)));
    host[s].resize(n);
  }
  for (int s = 0; s < count; s++) {
    fill<<<(n + 127) / 128, 128, 0, stream[s]>>>(device[s], s * 100000, n);
    for (int i = 0; i < 3; i++) add_one<<<(n + 127) / 128, 128, 0, stream[s]>>>(device[s], n);
    CHECK(hipMemcpyAsync(host[s].data(), device[s], n * sizeof(int), hipMemcpyDeviceToHost, stream[s]));
  }
  for (int s = 0; s < count; s++) {
    CHECK(hipStreamSynchronize(stream[s]));
    for (int i = 0; i < n; i++) EXPECT(host[s][i] == s * 100000 + i + 3);
    CHECK(hipFree(device[s]));
    CHECK(hipStreamDestroy(stream[s]));
  }
  return true;
}

static bool events() {
  const int n = 100000;
  int *data;
  CHECK(hipMalloc(&data, n * sizeof(int)));
  hipEvent_t before, after;
  CHECK(hipEventCreate(&before));
  CHECK(hipEventCreate(&after));
  hipStream_t first, second;
  CHECK(hipStreamCreate(&first));
  CHECK(hipStreamCreate(&second));
  CHECK(hipEventRecord(before, first));
  fill<<<(n + 255) / 256, 256, 0, first>>>(data, 7, n);
  CHECK(hipEventRecord(after, first));
  CHECK(hipStreamWaitEvent(second, after, 0));
  add_one<<<(n + 255) / 256, 256, 0, second>>>(data, n);
  CHECK(hipStreamSynchronize(second));
  CHECK(hipEventSynchronize(after));
  CHECK(hipEventQuery(after));
  float ms = -1;
  CHECK(hipEventElapsedTime(&ms, before, after));
  EXPECT(ms >= 0 && ms < 60000);
  int last;
  CHECK(hipMemcpy(&last, data + n - 1, sizeof last, hipMemcpyDeviceToHost));
  EXPECT(last == 7 + n - 1 + 1);
  CHECK(hipFree(data));
  return true;
}

static std::atomic<int> called{0};

static void count_call(hipStream_t, hipError_t status, void *data) {
  if (status == hipSuccess && *(int *)data == 42) called++;
}

static bool callbacks() {
  int payload = 42;
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  int *data;
  CHECK(hipMalloc(&data, 4096));
  for (int i = 0; i < 3; i++) {
    fill<<<4, 256, 0, stream>>>(data, i, 1024);
    CHECK(hipStreamAddCallback(stream, count_call, &payload, 0));
  }
  CHECK(hipStreamSynchronize(stream));
  for (int i = 0; i < 5000 && called < 3; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT(called == 3);
  return true;
}

__global__ void print_lanes() {
  if (threadIdx.x < 2) printf("lane %d of block %d: %s %.2f\n", (int)threadIdx.x, (int)blockIdx.x, "text", 1.5 * (int)threadIdx.x);
}

static bool device_printf() {
  print_lanes<<<1, 64>>>();
  CHECK(hipDeviceSynchronize());
  return true;
}

__global__ void failing(int value) { assert(value == 1 && "value is one"); }

static bool device_assert() {
  failing<<<1, 1>>>(2);
  CHECK(hipDeviceSynchronize());
  return true;
}

__global__ void use_heap(int **out) {
  int *mine = (int *)malloc(64 * sizeof(int));
  if (mine != nullptr)
    for (int i = 0; i < 64; i++) mine[i] = threadIdx.x * 100 + i;
  out[threadIdx.x] = mine;
}

__global__ void sum_heap(int **out, int *sums) {
  int sum = 0;
  for (int i = 0; i < 64; i++) sum += out[threadIdx.x][i];
  sums[threadIdx.x] = sum;
  free(out[threadIdx.x]);
}

static bool device_malloc() {
  const int n = 32;
  int **pointers, *sums;
  CHECK(hipMalloc(&pointers, n * sizeof(int *)));
  CHECK(hipMalloc(&sums, n * sizeof(int)));
  use_heap<<<1, n>>>(pointers);
  sum_heap<<<1, n>>>(pointers, sums);
  int host[n];
  CHECK(hipMemcpy(host, sums, sizeof host, hipMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) EXPECT(host[i] == i * 6400 + 2016);
  return true;
}

__global__ void count_all(unsigned *counter, unsigned long long *wide, float *sum, int *maximum) {
  atomicAdd(counter, 1u);
  atomicAdd(wide, 1ull << 33);
  atomicAdd(sum, 0.5f);
  atomicMax(maximum, (int)(blockIdx.x * blockDim.x + threadIdx.x));
}

static bool atomics() {
  struct Results {
    unsigned counter, pad;
    unsigned long long wide;
    float sum;
    int maximum;
  } *device, host;
  CHECK(hipMalloc(&device, sizeof host));
  CHECK(hipMemset(device, 0, sizeof host));
  count_all<<<32, 128>>>(&device->counter, &device->wide, &device->sum, &device->maximum);
  CHECK(hipMemcpy(&host, device, sizeof host, hipMemcpyDeviceToHost));
  EXPECT(host.counter == 4096 && host.wide == 4096ull << 33 && host.sum == 2048.0f && host.maximum == 4095);
  return true;
}

extern __shared__ int tile[];

__global__ void reverse(int *data, int n) {
  tile[threadIdx.x] = data[blockIdx.x * n + threadIdx.x];
  __syncthreads();
  data[blockIdx.x * n + threadIdx.x] = tile[n - 1 - threadIdx.x];
}

static bool dynamic_lds() {
  const int n = 512, blocks = 7;
  int *data;
  CHECK(hipMalloc(&data, n * blocks * sizeof(int)));
  fill<<<blocks, n>>>(data, 0, n * blocks);
  reverse<<<blocks, n, n * sizeof(int)>>>(data, n);
  std::vector<int> host(n * blocks);
  CHECK(hipMemcpy(host.data(), data, host.size() * sizeof(int), hipMemcpyDeviceToHost));
  for (int i = 0; i < n * blocks; i++) EXPECT(host[i] == i / n * n + n - 1 - i % n);
  return true;
}

__global__ void sum_grid(int *data, int *result, int n) {
  namespace cg = cooperative_groups;
  cg::grid_group grid = cg::this_grid();
  int i = grid.thread_rank();
  if (i < n) data[i] = i;
  grid.sync();
  if (i < n) result[i] = data[n - 1 - i] + 1;
}

static bool cooperative() {
  int n = 256, *data, *result;
  CHECK(hipMalloc(&data, n * sizeof(int)));
  CHECK(hipMalloc(&result, n * sizeof(int)));
  void *args[] = {&data, &result, &n};
  CHECK(hipLaunchCooperativeKernel((void *)sum_grid, dim3(4), dim3(64), args, 0, 0));
  CHECK(hipDeviceSynchronize());
  std::vector<int> host(n);
  CHECK(hipMemcpy(host.data(), result, n * sizeof(int), hipMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) EXPECT(host[i] == n - i);
  return true;
}

static bool copies_2d() {
  // hipMallocPitch of HIP 5.2 fails here (docs/exec.md).
  const int width = 100, height = 37, pitch = 256;
  unsigned char *device;
  CHECK(hipMalloc(&device, pitch * height));
  std::vector<unsigned char> host(width * height), back(width * height);
  for (size_t i = 0; i < host.size(); i++) host[i] = i * 7;
  CHECK(hipMemcpy2D(device, pitch, host.data(), width, width, height, hipMemcpyHostToDevice));
  CHECK(hipMemcpy2D(back.data(), width, device, pitch, width, height, hipMemcpyDeviceToHost));
  EXPECT(host == back);
  unsigned char corner = 0;
  CHECK(hipMemcpy(&corner, device + pitch * (height - 1) + width - 1, 1, hipMemcpyDeviceToHost));
  EXPECT(corner == host.back());
  return true;
}

__managed__ int shared_value = 5;

__global__ void change_managed(int *pointer) {
  shared_value += 10;
  pointer[threadIdx.x] *= 2;
}

static bool managed() {
  int *pointer;
  CHECK(hipMallocManaged(&pointer, 64 * sizeof(int)));
  for (int i = 0; i < 64; i++) pointer[i] = i;
  change_managed<<<1, 64>>>(pointer);
  CHECK(hipDeviceSynchronize());
  for (int i = 0; i < 64; i++) EXPECT(pointer[i] == 2 * i);
  EXPECT(shared_value >= 15);
  CHECK(hipFree(pointer));
  return true;
}

static bool registered() {
  std::vector<int> host(10000, 3);
  int *device;
  CHECK(hipHostRegister(host.data(), host.size() * sizeof(int), hipHostRegisterDefault));
  CHECK(hipHostGetDevicePointer((void **)&device, host.data(), 0));
  add_one<<<40, 256>>>(device, host.size());
  CHECK(hipDeviceSynchronize());
  for (int value : host) EXPECT(value == 4);
  host[7] = 11;
  add_one<<<40, 256>>>(device, host.size());
  CHECK(hipDeviceSynchronize());
  EXPECT(host[7] == 12 && host[8] == 5);
  CHECK(hipHostUnregister(host.data()));
  EXPECT(host[7] == 12 && host[8] == 5);
  return true;
}

static bool large_copies() {
  const size_t n = 5 << 20;
  std::vector<int> host(n), back(n);
  for (size_t i = 0; i < n; i++) host[i] = (int)(i * 2654435761u);
  int *first, *second, *pinned;
  CHECK(hipMalloc(&first, n * sizeof(int)));
  CHECK(hipMalloc(&second, n * sizeof(int)));
  CHECK(hipHostMalloc((void **)&pinned, n * sizeof(int), 0));
  CHECK(hipMemcpy(first, host.data(), n * sizeof(int), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(second, first, n * sizeof(int), hipMemcpyDeviceToDevice));
  CHECK(hipMemcpyAsync(pinned, second, n * sizeof(int), hipMemcpyDeviceToHost, 0));
  CHECK(hipStreamSynchronize(0));
  EXPECT(memcmp(pinned, host.data(), n * sizeof(int)) == 0);
  CHECK(hipMemcpy(back.data(), second, n * sizeof(int), hipMemcpyDeviceToHost));
  EXPECT(back == host);
  CHECK(hipHostFree(pinned));
  CHECK(hipFree(first));
  CHECK(hipFree(second));
  return true;
}

static bool threads() {
  std::atomic<int> good{0};
  std::vector<std::thread> all;
  for (int t = 0; t < 8; t++) {
    all.emplace_back([t, &good] {
      int *data, host[64];
      hipStream_t stream;
      if (hipStreamCreate(&stream) != hipSuccess || hipMalloc(&data, sizeof host) != hipSuccess) return;
      bool same = true;
      for (int round = 0; round < 5; round++) {
        fill<<<1, 64, 0, stream>>>(data, t * 1000 + round, 64);
        if (hipMemcpyAsync(host, data, sizeof host, hipMemcpyDeviceToHost, stream) != hipSuccess) return;
        if (hipStreamSynchronize(stream) != hipSuccess) return;
        for (int i = 0; i < 64; i++) same = same && host[i] == t * 1000 + round + i;
      }
      if (same && hipFree(data) == hipSuccess) good++;
    });
  }
  for (auto &thread : all) thread.join();
  EXPECT(good == 8);
  return true;
}

static bool runtime_compiled() {
  const char *source = "extern \"C\" __global__ void triple(int *data) { data[threadIdx.x] *= 3; }\n";
  hiprtcProgram program;
  EXPECT(hiprtcCreateProgram(&program, source, "triple.hip", 0, nullptr, nullptr) == HIPRTC_SUCCESS);
  EXPECT(hiprtcCompileProgram(program, 0, nullptr) == HIPRTC_SUCCESS);
  size_t size;
  EXPECT(hiprtcGetCodeSize(program, &size) == HIPRTC_SUCCESS);
  std::vector<char> code(size);
  EXPECT(hiprtcGetCode(program, code.data()) == HIPRTC_SUCCESS);
  hipModule_t module;
  hipFunction_t function;
  CHECK(hipModuleLoadData(&module, code.data()));
  CHECK(hipModuleGetFunction(&function, module, "triple"));
  int *data, host[64];
  CHECK(hipMalloc(&data, sizeof host));
  fill<<<1, 64>>>(data, 1, 64);
  void *args[] = {&data};
  CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, 0, args, nullptr));
  CHECK(hipMemcpy(host, data, sizeof host, hipMemcpyDeviceToHost));
  for (int i = 0; i < 64; i++) EXPECT(host[i] == 3 * (i + 1));
  return true;
}

__global__ void store_null(int *pointer) { pointer[threadIdx.x] = 1; }

static bool fault() {
  store_null<<<1, 64>>>(nullptr);
  CHECK(hipDeviceSynchronize());
  return true;
}

__attribute__((noinline)) static int *make_memory() {
  int *made = nullptr;
  hipMalloc((void **)&made, 4096);
  return made;
}

__attribute__((noinline)) static void drop_memory(int *memory) {
  hipFree(memory);
  hipGetLastError();
}

static bool use_after_free() {
  int *memory = make_memory();
  drop_memory(memory);
  store_null<<<1, 64>>>(memory);
  CHECK(hipDeviceSynchronize());
  return true;
}

static bool properties() {
  hipDeviceProp_t found;
  CHECK(hipGetDeviceProperties(&found, 0));
  int count;
  CHECK(hipGetDeviceCount(&count));
  EXPECT(count == 1);
  EXPECT(strncmp(found.gcnArchName, "gfx90a", 6) == 0 && found.warpSize == 64 && found.maxThreadsPerBlock == 1024);
  EXPECT(found.sharedMemPerBlock == 65536 && found.totalGlobalMem > (1u << 30));
  return true;
}

static const std::map<std::string, std::function<bool()>> FEATURES = {
    {"atomics", atomics},       {"callbacks", callbacks},         {"cooperative", cooperative}, {"copies-2d", copies_2d},
    {"dynamic-lds", dynamic_lds}, {"events", events},             {"large-copies", large_copies}, {"malloc", device_malloc},
    {"managed", managed},       {"printf", device_printf},        {"properties", properties},   {"registered", registered},
    {"runtime-compiled", runtime_compiled}, {"streams", streams}, {"threads", threads},
};

int main(int argc, char **argv) {
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty())
    for (auto &[name, run] : FEATURES) names.push_back(name);
  int bad = 0;
  for (auto &name : names) {
    bool ok = name == "assert" ? device_assert() : name == "fault" ? fault() : name == "freed" ? use_after_free() : FEATURES.at(name)();
    if (ok) printf("%s ok\n", name.c_str());
    else bad++;
    fflush(stdout);
  }
  return bad;
}
