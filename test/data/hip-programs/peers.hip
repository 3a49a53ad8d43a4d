// What a program does with all GPUs that it finds: each computes on memory of the one before it. Prints how
// many there are and what is wrong; `ipc` shares memory with a second process.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

static int wrong;
#define EXPECT(condition) \
  do { \
    if (!(condition)) { \
      printf("%d: not %s (%s)\n", __LINE__, #condition, hipGetErrorString(hipGetLastError())); \
      wrong++; \
    } \
  } while (0)
#define WORKS(call) EXPECT((call) == hipSuccess)

constexpr int COUNT = 10000;
constexpr size_t BYTES = COUNT * sizeof(int);

__global__ void increase(int *out, const int *in, int by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < COUNT) out[i] = in[i] + by;
}

static bool all_are(const int *device, int value) {
  std::vector<int> host(COUNT);
  WORKS(hipMemcpy(host.data(), device, BYTES, hipMemcpyDeviceToHost));
  for (int i = 0; i < COUNT; i++) if (host[i] != value + i) return false;
  return true;
}

static void pass_on(int device_count) {
  std::vector<int> host(COUNT);
  for (int i = 0; i < COUNT; i++) host[i] = i;
  std::vector<int *> memories(device_count);
  std::vector<hipStream_t> streams(device_count);
  for (int device = 0; device < device_count; device++) {
    size_t free_bytes = 0, total_bytes = 0;
    hipDeviceProp_t properties;
    WORKS(hipSetDevice(device));
    WORKS(hipGetDeviceProperties(&properties, device));
    WORKS(hipMemGetInfo(&free_bytes, &total_bytes));
    EXPECT(strstr(properties.gcnArchName, "gfx90a") == properties.gcnArchName);
    EXPECT(total_bytes == properties.totalGlobalMem && free_bytes > 0 && free_bytes <= total_bytes);
    WORKS(hipMalloc(&memories[device], BYTES));
    WORKS(hipStreamCreate(&streams[device]));
    hipPointerAttribute_t attributes;
    WORKS(hipPointerGetAttributes(&attributes, memories[device]));
    EXPECT(attributes.device == device);
  }
  for (int device = 1; device < device_count; device++) {
    int can = 0;
    WORKS(hipDeviceCanAccessPeer(&can, device, device - 1));
    EXPECT(can == 1);
    WORKS(hipSetDevice(device));
    WORKS(hipDeviceEnablePeerAccess(device - 1, 0));
    EXPECT(hipDeviceEnablePeerAccess(device - 1, 0) == hipErrorPeerAccessAlreadyEnabled);
  }
  WORKS(hipMemcpy(memories[0], host.data(), BYTES, hipMemcpyHostToDevice));
  for (int device = 1; device < device_count; device++) {
    WORKS(hipSetDevice(device));
    increase<<<(COUNT + 255) / 256, 256, 0, streams[device]>>>(memories[device], memories[device - 1], device);
    WORKS(hipStreamSynchronize(streams[device]));
    EXPECT(all_are(memories[device], device * (device + 1) / 2));
  }
  int last = device_count - 1;
  WORKS(hipMemcpyPeer(memories[0], 0, memories[last], last, BYTES));
  EXPECT(all_are(memories[0], last * (last + 1) / 2));
  for (int device = 1; device < device_count; device++) {
    WORKS(hipSetDevice(device));
    WORKS(hipDeviceDisablePeerAccess(device - 1));
  }
}

static void share(char *program) {
  int *memory;
  hipIpcMemHandle_t handle;
  WORKS(hipMalloc(&memory, BYTES));
  std::vector<int> host(COUNT, 0);
  for (int i = 0; i < COUNT; i++) host[i] = i;
  WORKS(hipMemcpy(memory, host.data(), BYTES, hipMemcpyHostToDevice));
  WORKS(hipIpcGetMemHandle(&handle, memory));
  std::string text;
  for (unsigned char byte : handle.reserved) {
    char digits[3];
    snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  pid_t child = fork();
  if (child == 0) {
    execl(program, program, "ipc", text.c_str(), nullptr);
    _exit(9);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT(status == 0);
  EXPECT(all_are(memory, 5));
}

static void attach(const char *text) {
  hipIpcMemHandle_t handle;
  for (unsigned char &byte : *(unsigned char(*)[sizeof handle.reserved])handle.reserved) {
    char digits[3] = {text[0], text[1], 0};
    byte = (unsigned char)strtoul(digits, nullptr, 16);
    text += 2;
  }
  int *memory = nullptr;
  WORKS(hipIpcOpenMemHandle((void **)&memory, handle, hipIpcMemLazyEnablePeerAccess));
  EXPECT(all_are(memory, 0));
  increase<<<(COUNT + 255) / 256, 256>>>(memory, memory, 5);
  WORKS(hipDeviceSynchronize());
  WORKS(hipIpcCloseMemHandle(memory));
}

int main(int argc, char **argv) {
  int device_count = 0;
  if (argc == 3) {
    attach(argv[2]);
    return wrong != 0;
  }
  WORKS(hipGetDeviceCount(&device_count));
  pass_on(device_count);
  share(argv[0]);
  printf("%d GPUs, %d wrong\n", device_count, wrong);
  return wrong != 0;
}
