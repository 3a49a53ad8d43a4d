/*
 * A libcuda.so.1 without a GPU, for tests of the native device: as strict as the driver about order, contexts, handles, sizes and what
 * would wait for a kernel. Streams are threads; kernels are effects by their names (kernels.c), or the same sources compiled for the
 * host in the library that CUDA_MOCK_KERNELS names (gpu-on-host.c). Memory has garbage in it when it is given out. Environment:
 * CUDA_MOCK_INIT, the result of cuInit; CUDA_MOCK_GPUS, compute capabilities as 80,90 (default 80); CUDA_MOCK_MEMORY, bytes of each
 * GPU; CUDA_MOCK_FAIL=FUNCTION=RESULT[@N], what fails, at the Nth call only; CUDA_MOCK_REPORT, a file for what is left at the end.
 */
#include "cuda-mock.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct { int number, processor, references, is_live; result_t sticky; uint64_t stack; } gpu_t;
typedef struct memory { struct memory *next; uint64_t address, size; int kind; } memory_t;
typedef struct event { uint64_t time; int recorded, done; } event_t;
typedef struct op { struct op *next; launch_t *launch; event_t *event; } op_t;
typedef struct stream { pthread_t thread; pthread_cond_t wake; op_t *first, *last; int pending, kernels, is_closed; struct stream *next; } stream_t;
typedef struct { int option_count; char *error_log; uint64_t error_size; module_t *module; } link_t;

enum { DEVICE = 1, PINNED = 2, ASYNC = 4, GLOBAL = 8 };
enum { WITHOUT_CONTEXT = 1, BEFORE_INIT = 2, WAITS = 4 };
enum { MAX_GPUS = 8, MAX_BLOCK = 1024, SHARED_BYTES = 167936, USUAL_SHARED_BYTES = 49152 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char calls[1 << 16], violations[1 << 12];
static int initialized, events_live, links_live;
static gpu_t gpus[MAX_GPUS];
static memory_t *memories;
static module_t *modules;
static stream_t *streams;
static __thread gpu_t *current;

static void append(char *to, size_t size, const char *text) {
  size_t used = strlen(to);
  snprintf(to + used, size - used, "%s\n", text);
}

static void violate(const char *name, const char *what) {
  char line[256];
  snprintf(line, sizeof line, "%s: %s", name, what);
  append(violations, sizeof violations, line);
}

static const char *take(char *from, char *copy, size_t size) {
  pthread_mutex_lock(&lock);
  memcpy(copy, from, size);
  from[0] = 0;
  pthread_mutex_unlock(&lock);
  return copy;
}

/* What was called since the last time, one name to a line; and what a driver would have hung at. */
const char *cuda_mock_calls(void) { static char copy[sizeof calls]; return take(calls, copy, sizeof calls); }
const char *cuda_mock_violations(void) { static char copy[sizeof violations]; return take(violations, copy, sizeof violations); }

/* What was not given back. */
const char *cuda_mock_live(void) {
  static char text[256];
  int contexts = 0, device = 0, pinned = 0, stream_count = 0, module_count = 0;
  for (int i = 0; i < MAX_GPUS; i++) contexts += gpus[i].references;
  for (memory_t *each = memories; each != NULL; each = each->next) {
    device += (each->kind & (DEVICE | ASYNC)) != 0;
    pinned += each->kind == PINNED;
  }
  for (stream_t *each = streams; each != NULL; each = each->next) stream_count += !each->is_closed;
  for (module_t *each = modules; each != NULL; each = each->next) module_count += each->live;
  snprintf(text, sizeof text, "contexts %d, modules %d, device %d, pinned %d, streams %d, events %d, links %d", contexts, module_count, device,
           pinned, stream_count, events_live, links_live);
  return text;
}

__attribute__((destructor)) static void report(void) {
  const char *path = getenv("CUDA_MOCK_REPORT");
  FILE *file = path == NULL ? NULL : fopen(path, "a");
  if (file == NULL) return;
  fprintf(file, "%s\n%s", cuda_mock_live(), violations);
  fclose(file);
}

/* The result that the environment asks for, at each call or at one. */
static result_t failure(const char *name) {
  static char asked[128];
  static int count;
  const char *text = getenv("CUDA_MOCK_FAIL");
  if (text == NULL) return 0;
  if (strcmp(asked, text) != 0) {
    snprintf(asked, sizeof asked, "%s", text);
    count = 0;
  }
  size_t length = strlen(name);
  if (strncmp(text, name, length) != 0 || text[length] != '=') return 0;
  const char *at = strchr(text, '@');
  return at == NULL || ++count == atoi(at + 1) ? atoi(text + length + 1) : 0;
}

static int is_busy(void) {
  for (stream_t *each = streams; each != NULL; each = each->next) if (each->kernels > 0) return 1;
  return 0;
}

static result_t enter(const char *name, int how) {
  pthread_mutex_lock(&lock);
  append(calls, sizeof calls, name);
  result_t result = failure(name);
  if (result == 0 && !initialized && !(how & BEFORE_INIT)) result = NOT_INITIALIZED;
  if (result == 0 && !(how & (WITHOUT_CONTEXT | BEFORE_INIT))) result = current == NULL || !current->is_live ? INVALID_CONTEXT : current->sticky;
  if (result == 0 && (how & WAITS) && is_busy()) violate(name, "waits for a kernel");
  pthread_mutex_unlock(&lock);
  return result;
}
#define ENTER(how) do { result_t entered = enter(__func__, how); if (entered != 0) return entered; } while (0)
#define LOCKED(...) do { pthread_mutex_lock(&lock); __VA_ARGS__; pthread_mutex_unlock(&lock); } while (0)

result_t cuInit(uint32_t flags) {
  ENTER(BEFORE_INIT);
  const char *asked = getenv("CUDA_MOCK_INIT"), *list = getenv("CUDA_MOCK_GPUS");
  if (flags != 0) return INVALID_VALUE;
  if (asked != NULL) return atoi(asked);
  if (list == NULL) list = "80";
  memset(gpus, 0, sizeof gpus);
  int count = 0;
  for (; *list != 0 && count < MAX_GPUS; count++) {
    gpus[count] = (gpu_t){ .number = count, .processor = atoi(list), .stack = 1024 };
    list += strcspn(list, ",");
    list += *list == ',';
  }
  initialized = count;
  return count == 0 ? NO_DEVICE : 0;
}

result_t cuDriverGetVersion(int32_t *version) { ENTER(BEFORE_INIT); *version = 12080; return 0; }

static const struct { result_t result; const char *name, *sentence; } names[] = {
  { 0, "CUDA_SUCCESS", "no error" }, { 1, "CUDA_ERROR_INVALID_VALUE", "invalid argument" }, { 2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
  { 3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error" }, { 34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library" },
  { 46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable" },
  { 100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" }, { 101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal" },
  { 200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid" }, { 201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
  { 209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device" },
  { 215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "limit is not supported on this architecture" },
  { 218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed" }, { 221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found" },
  { 222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain." },
  { 302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "shared object symbol not found" },
  { 400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle" }, { 500, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
  { 600, "CUDA_ERROR_NOT_READY", "device not ready" }, { 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered" },
  { 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch" },
  { 702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated" }, { 710, "CUDA_ERROR_ASSERT", "device-side assert triggered" },
  { 714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error" }, { 715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered" },
  { 716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address" }, { 717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "operation not supported on global/shared address space" },
  { 718, "CUDA_ERROR_INVALID_PC", "invalid program counter" }, { 719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure" },
  { 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination" },
  { 999, "CUDA_ERROR_UNKNOWN", "unknown error" },
};

static result_t name_of(result_t result, const char **text, int is_sentence) {
  *text = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].result == result) *text = is_sentence ? names[i].sentence : names[i].name;
  return *text == NULL ? INVALID_VALUE : 0;
}
result_t cuGetErrorName(result_t result, const char **text) { return name_of(result, text, 0); }
result_t cuGetErrorString(result_t result, const char **text) { return name_of(result, text, 1); }

result_t cuDeviceGetCount(int32_t *count) { ENTER(WITHOUT_CONTEXT); *count = initialized; return 0; }
result_t cuDeviceGet(int32_t *device, int32_t index) {
  ENTER(WITHOUT_CONTEXT);
  if (index < 0 || index >= initialized) return INVALID_DEVICE;
  *device = index;
  return 0;
}
result_t cuDeviceGetName(char *name, int32_t size, int32_t device) {
  ENTER(WITHOUT_CONTEXT);
  if (device < 0 || device >= initialized) return INVALID_DEVICE;
  snprintf(name, (size_t)size, "Mock GPU %d", device);
  return 0;
}

static uint64_t memory_bytes(void) {
  const char *text = getenv("CUDA_MOCK_MEMORY");
  return text == NULL ? 256u << 20 : strtoull(text, NULL, 0);
}
result_t cuDeviceTotalMem_v2(uint64_t *size, int32_t device) {
  ENTER(WITHOUT_CONTEXT);
  if (device < 0 || device >= initialized) return INVALID_DEVICE;
  *size = memory_bytes();
  return 0;
}

result_t cuDeviceGetAttribute(int32_t *value, int32_t attribute, int32_t device) {
  ENTER(WITHOUT_CONTEXT);
  if (device < 0 || device >= initialized) return INVALID_DEVICE;
  int processor = gpus[device].processor;
  switch (attribute) {
    case 1: case 2: case 3: *value = MAX_BLOCK; break;
    case 4: *value = 64; break;
    case 5: *value = 0x7fffffff; break;
    case 6: case 7: *value = 65535; break;
    case 10: *value = 32; break;
    case 13: *value = 1410000; break;
    case 16: *value = 108; break;
    case 17: *value = 0; break;
    case 33: *value = 0x3b; break;
    case 34: *value = 0; break;
    case 36: *value = 1215000; break;
    case 37: *value = 5120; break;
    case 38: *value = 41943040; break;
    case 39: *value = 2048; break;
    case 41: *value = 1; break;
    case 50: *value = 0; break;
    case 75: *value = processor / 10; break;
    case 76: *value = processor % 10; break;
    case 97: *value = SHARED_BYTES; break;
    default: return INVALID_VALUE;
  }
  return 0;
}

static void forget_all(void) {
  while (memories != NULL) {
    memory_t *gone = memories;
    memories = gone->next;
    free(gone);
  }
  for (module_t *each = modules; each != NULL; each = each->next) each->live = 0;
  for (stream_t *each = streams; each != NULL; each = each->next) {
    each->is_closed = 1;
    pthread_cond_signal(&each->wake);
  }
  events_live = 0;
}

result_t cuDevicePrimaryCtxRetain(gpu_t **context, int32_t device) {
  ENTER(WITHOUT_CONTEXT);
  if (device < 0 || device >= initialized) return INVALID_DEVICE;
  gpus[device].references++;
  gpus[device].is_live = 1;
  *context = &gpus[device];
  return 0;
}
result_t cuDevicePrimaryCtxRelease_v2(int32_t device) {
  ENTER(WITHOUT_CONTEXT | WAITS);
  if (device < 0 || device >= initialized || gpus[device].references == 0) return INVALID_CONTEXT;
  if (--gpus[device].references == 0) {
    gpus[device].is_live = 0;
    /* A context that a kernel spoiled refuses to free anything: that all goes with it. */
    if (gpus[device].sticky != 0) LOCKED(forget_all());
    gpus[device].sticky = 0;
  }
  return 0;
}
result_t cuCtxSetCurrent(gpu_t *context) {
  ENTER(WITHOUT_CONTEXT);
  if (context != NULL && (context < gpus || context >= gpus + MAX_GPUS || !context->is_live)) return INVALID_CONTEXT;
  current = context;
  return 0;
}
result_t cuCtxSetLimit(int32_t limit, uint64_t value) {
  ENTER(WAITS);
  if (limit != 0) return 215;
  if (value > 512 * 1024) return INVALID_VALUE;
  current->stack = value;
  return 0;
}
result_t cuCtxGetLimit(uint64_t *value, int32_t limit) {
  ENTER(0);
  if (limit != 0) return 215;
  *value = current->stack;
  return 0;
}

/* The compiler's buffers: sizes come as values, and what was written goes there. */
static result_t jit_log(uint32_t count, const int32_t *options, uint64_t *values, char **log, uint64_t *size) {
  static char nowhere[256];
  *log = nowhere;
  *size = sizeof nowhere;
  for (uint32_t i = 0; i < count; i++) {
    if (options[i] < 3 || options[i] > 6) return INVALID_VALUE;
    if (options[i] == 5) *log = (char *)values[i];
    if (options[i] == 6) *size = values[i];
    if ((options[i] == 4 || options[i] == 6) && values[i] > 1 << 20) return INVALID_VALUE;
  }
  return 0;
}

static void place_variables(module_t *module) {
  for (int i = 0; i < module->variables_count; i++) {
    variable_t *variable = &module->variables[i];
    void *host = module->kernels == NULL ? NULL : dlsym(module->kernels, variable->name);
    variable->is_own = host == NULL;
    variable->address = (uint64_t)(host != NULL ? host : calloc(1, variable->size + 1));
    void *initial = variable->initial[0] == 0 || module->kernels == NULL ? NULL : dlsym(module->kernels, variable->initial);
    if (initial != NULL) memcpy((void *)variable->address, &initial, 8);
    memory_t *memory = malloc(sizeof *memory);
    *memory = (memory_t){ memories, variable->address, variable->size, GLOBAL };
    memories = memory;
  }
}

static result_t finish_module(module_t *module) {
  const char *kernels = getenv("CUDA_MOCK_KERNELS");
  if (kernels != NULL) {
    module->kernels = dlopen(kernels, RTLD_NOW | RTLD_LOCAL);
    if (module->kernels == NULL) fprintf(stderr, "%s\n", dlerror());
  }
  for (int i = 0; i < module->functions_count; i++) {
    function_t *function = &module->functions[i];
    function->module = module;
    function->effect = find_effect(function->name);
    function->host = module->kernels == NULL ? NULL : dlsym(module->kernels, function->name);
  }
  LOCKED(place_variables(module); module->live = 1; module->next = modules; modules = module);
  return 0;
}

result_t cuModuleLoadDataEx(module_t **out, const void *image, uint32_t count, const int32_t *options, uint64_t *values) {
  ENTER(WAITS);
  char *log;
  uint64_t size;
  result_t result = image == NULL ? INVALID_VALUE : jit_log(count, options, values, &log, &size);
  if (result != 0) return result;
  module_t *linked = modules;
  while (linked != NULL && (const void *)linked != image) linked = linked->next;
  if (linked != NULL) { /* what cuLinkComplete gave */
    *out = calloc(1, sizeof **out);
    memcpy(*out, linked, sizeof **out);
    return finish_module(*out);
  }
  module_t *module = calloc(1, sizeof *module);
  result = read_image(module, image, current->processor, log, size);
  for (uint32_t i = 0; i < count; i++) if (options[i] == 6) values[i] = strlen(log);
  if (result != 0) {
    free(module);
    return result;
  }
  *out = module;
  return finish_module(module);
}

static int is_module(module_t *module) {
  for (module_t *each = modules; each != NULL; each = each->next) if (each == module) return each->live;
  return 0;
}

static void forget(uint64_t address) {
  for (memory_t **each = &memories; *each != NULL; each = &(*each)->next) {
    if ((*each)->address != address) continue;
    memory_t *gone = *each;
    *each = gone->next;
    free(gone);
    return;
  }
}

result_t cuModuleUnload(module_t *module) {
  ENTER(WAITS);
  if (!is_module(module)) return INVALID_HANDLE;
  for (int i = 0; i < module->variables_count; i++) {
    LOCKED(forget(module->variables[i].address));
    if (module->variables[i].is_own) free((void *)module->variables[i].address);
  }
  if (module->kernels != NULL) dlclose(module->kernels);
  module->live = 0;
  return 0;
}
result_t cuModuleGetFunction(function_t **out, module_t *module, const char *name) {
  ENTER(0);
  if (!is_module(module)) return INVALID_HANDLE;
  for (int i = 0; i < module->functions_count; i++) {
    if (strcmp(module->functions[i].name, name) != 0) continue;
    *out = &module->functions[i];
    return 0;
  }
  return NOT_FOUND;
}
result_t cuModuleGetGlobal_v2(uint64_t *address, uint64_t *size, module_t *module, const char *name) {
  ENTER(0);
  if (!is_module(module)) return INVALID_HANDLE;
  for (int i = 0; i < module->variables_count; i++) {
    if (strcmp(module->variables[i].name, name) != 0) continue;
    *address = module->variables[i].address;
    *size = module->variables[i].size;
    return 0;
  }
  return NOT_FOUND;
}

result_t cuLinkCreate_v2(uint32_t count, const int32_t *options, uint64_t *values, link_t **out) {
  ENTER(0);
  link_t *link = calloc(1, sizeof *link);
  result_t result = jit_log(count, options, values, &link->error_log, &link->error_size);
  if (result != 0) return result;
  link->module = calloc(1, sizeof *link->module);
  *out = link;
  links_live++;
  return 0;
}
result_t cuLinkAddData_v2(link_t *link, int32_t type, const void *data, uint64_t size, const char *name, uint32_t count, void *options, void *values) {
  ENTER(0);
  (void)options, (void)values;
  if (count != 0 || (type != 0 && type != 1) || name == NULL) return INVALID_VALUE;
  if (type == 1 && ((const char *)data)[size - 1] != 0) return INVALID_PTX;
  int before = link->module->functions_count;
  result_t result = read_image(link->module, data, current->processor, link->error_log, link->error_size);
  for (int i = before; i < link->module->functions_count; i++)
    for (int k = 0; k < before; k++)
      if (strcmp(link->module->functions[i].name, link->module->functions[k].name) == 0) {
        snprintf(link->error_log, link->error_size, "error   : Multiple definition of '%s' in '%s'", link->module->functions[i].name, name);
        result = INVALID_IMAGE;
      }
  return result;
}
result_t cuLinkComplete(link_t *link, module_t **cubin, uint64_t *size) {
  ENTER(0);
  LOCKED(link->module->next = modules; modules = link->module);
  *cubin = link->module;
  *size = sizeof *link->module;
  return 0;
}
result_t cuLinkDestroy(link_t *link) {
  ENTER(0);
  links_live--;
  (void)link;
  return 0;
}

static int is_function(function_t *function) {
  for (module_t *each = modules; each != NULL; each = each->next)
    if (each->live && function >= each->functions && function < each->functions + each->functions_count) return 1;
  return 0;
}

result_t cuFuncGetAttribute(int32_t *value, int32_t attribute, function_t *function) {
  ENTER(0);
  if (!is_function(function)) return INVALID_HANDLE;
  switch (attribute) {
    case 0: *value = MAX_BLOCK; return 0;
    case 1: *value = strcmp(function->name, "shared") == 0 ? 1024 : 0; return 0;
    case 3: *value = 16; return 0;
    case 4: *value = 24; return 0;
    default: return INVALID_VALUE;
  }
}
/* How much dynamic shared memory launches of the one kernel that asked for more may have. */
static function_t *raised;
static int32_t raised_bytes;
result_t cuFuncSetAttribute(function_t *function, int32_t attribute, int32_t value) {
  ENTER(0);
  if (!is_function(function)) return INVALID_HANDLE;
  if (attribute != 8 || value < 0 || value > SHARED_BYTES) return INVALID_VALUE;
  raised = function;
  raised_bytes = value;
  return 0;
}

static result_t allocate(uint64_t *out, uint64_t size, int kind) {
  if (size == 0) return INVALID_VALUE;
  uint64_t used = 0;
  result_t result = 0;
  pthread_mutex_lock(&lock);
  for (memory_t *each = memories; each != NULL; each = each->next) used += each->kind & (DEVICE | ASYNC) ? each->size : 0;
  if (kind != PINNED && used + size > memory_bytes()) result = OUT_OF_MEMORY;
  void *bytes = result != 0 ? NULL : aligned_alloc(4096, (size + 4095) / 4096 * 4096);
  if (result == 0 && bytes == NULL) result = OUT_OF_MEMORY;
  if (result == 0) {
    memset(bytes, 0xcd, size);
    memory_t *memory = malloc(sizeof *memory);
    *memory = (memory_t){ memories, (uint64_t)bytes, size, kind };
    memories = memory;
    *out = memory->address;
  }
  pthread_mutex_unlock(&lock);
  return result;
}

static result_t release(uint64_t address, int kind) {
  result_t result = INVALID_VALUE;
  pthread_mutex_lock(&lock);
  for (memory_t *each = memories; each != NULL; each = each->next) if (each->address == address && each->kind == kind) result = 0;
  /* A kernel that runs may still use it. */
  if (result == 0) forget(address);
  if (result == 0 && !is_busy()) free((void *)address);
  pthread_mutex_unlock(&lock);
  return result;
}

int is_memory(uint64_t address, uint64_t size) {
  int found = 0;
  pthread_mutex_lock(&lock);
  for (memory_t *each = memories; each != NULL; each = each->next)
    found |= address >= each->address && size <= each->size && address - each->address <= each->size - size;
  pthread_mutex_unlock(&lock);
  return found;
}

result_t cuMemHostAlloc(uint64_t *out, uint64_t size, uint32_t flags) {
  ENTER(WAITS);
  return flags == 3 ? allocate(out, size, PINNED) : INVALID_VALUE;
}
result_t cuMemFreeHost(uint64_t address) { ENTER(WAITS); return release(address, PINNED); }
result_t cuMemHostGetDevicePointer_v2(uint64_t *out, uint64_t address, uint32_t flags) {
  ENTER(0);
  if (flags != 0 || !is_memory(address, 1)) return INVALID_VALUE;
  *out = address;
  return 0;
}
result_t cuMemAlloc_v2(uint64_t *out, uint64_t size) { ENTER(WAITS); return allocate(out, size, DEVICE); }
result_t cuMemFree_v2(uint64_t address) { ENTER(WAITS); return release(address, DEVICE); }

static int is_stream(stream_t *stream) {
  for (stream_t *each = streams; each != NULL; each = each->next) if (each == stream) return !each->is_closed;
  return 0;
}

result_t cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, uint64_t size, stream_t *stream) {
  ENTER(0);
  if (!is_stream(stream)) return INVALID_HANDLE;
  if (!is_memory(to, size)) return INVALID_VALUE;
  memcpy((void *)to, from, size);
  return 0;
}
result_t cuMemcpyDtoHAsync_v2(void *to, uint64_t from, uint64_t size, stream_t *stream) {
  ENTER(0);
  if (!is_stream(stream)) return INVALID_HANDLE;
  if (!is_memory(from, size)) return INVALID_VALUE;
  memcpy(to, (void *)from, size);
  return 0;
}
result_t cuMemsetD8Async(uint64_t to, uint8_t value, uint64_t size, stream_t *stream) {
  ENTER(WAITS);
  if (!is_stream(stream)) return INVALID_HANDLE;
  if (!is_memory(to, size)) return INVALID_VALUE;
  memset((void *)to, value, size);
  return 0;
}

#ifndef BEFORE_CUDA_11_2
result_t cuMemAllocAsync(uint64_t *out, uint64_t size, stream_t *stream) {
  ENTER(0);
  return is_stream(stream) ? allocate(out, size, ASYNC) : INVALID_HANDLE;
}
result_t cuMemFreeAsync(uint64_t address, stream_t *stream) {
  ENTER(0);
  return is_stream(stream) ? release(address, ASYNC) : INVALID_HANDLE;
}
#endif

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

typedef struct { const launch_t *launch; uint32_t ids[12]; pthread_barrier_t *barrier; } thread_t;

/* A thread of a kernel whose source was compiled for this machine: its arguments are integers and pointers. */
static void *run_thread(void *data) {
  const thread_t *thread = data;
  const launch_t *launch = thread->launch;
  const function_t *function = launch->function;
  void (*begin)(const uint32_t *, pthread_barrier_t *) =
      (void (*)(const uint32_t *, pthread_barrier_t *))dlsym(function->module->kernels, "gpu_on_host_begin");
  if (begin != NULL) begin(thread->ids, thread->barrier);
  uint64_t values[6] = { 0 };
  for (uint32_t i = 0; i < function->count && i < 6; i++) memcpy(&values[i], launch->params + function->offset[i], function->size[i]);
  ((void (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t))function->host)(values[0], values[1], values[2], values[3], values[4],
                                                                                        values[5]);
  return NULL;
}

static void run_on_host(const launch_t *launch) {
  const uint32_t *grid = launch->grid, *block = launch->block;
  uint32_t threads = block[0] * block[1] * block[2], blocks = grid[0] * grid[1] * grid[2];
  pthread_t *handles = calloc((size_t)threads * blocks, sizeof *handles);
  thread_t *data = calloc((size_t)threads * blocks, sizeof *data);
  pthread_barrier_t *barriers = calloc(blocks, sizeof *barriers);
  for (uint32_t b = 0; b < blocks; b++) {
    pthread_barrier_init(&barriers[b], NULL, threads);
    for (uint32_t t = 0; t < threads; t++) {
      thread_t *each = &data[b * threads + t];
      *each = (thread_t){ launch,
                          { t % block[0], t / block[0] % block[1], t / block[0] / block[1], b % grid[0], b / grid[0] % grid[1], b / grid[0] / grid[1],
                            block[0], block[1], block[2], grid[0], grid[1], grid[2] },
                          &barriers[b] };
      pthread_create(&handles[b * threads + t], NULL, run_thread, each);
    }
  }
  for (uint32_t i = 0; i < threads * blocks; i++) pthread_join(handles[i], NULL);
  free(handles);
  free(data);
  free(barriers);
}

static result_t run(const launch_t *launch) {
  if (launch->function->effect != NULL) return launch->function->effect(launch);
  if (launch->function->host != NULL) {
    run_on_host(launch);
    return 0;
  }
  LOCKED(violate(launch->function->name, "this kernel has no effect here"));
  return LAUNCH_FAILED;
}

static gpu_t *gpu_of_streams; /* one context at a time has kernels here */

static void *run_stream(void *data) {
  stream_t *stream = data;
  pthread_mutex_lock(&lock);
  while (!stream->is_closed || stream->first != NULL) {
    op_t *op = stream->first;
    if (op == NULL) {
      pthread_cond_wait(&stream->wake, &lock);
      continue;
    }
    if (op->launch != NULL && gpu_of_streams->sticky == 0) {
      pthread_mutex_unlock(&lock);
      result_t result = run(op->launch);
      pthread_mutex_lock(&lock);
      if (result != 0) gpu_of_streams->sticky = result;
    }
    if (op->event != NULL && gpu_of_streams->sticky == 0) {
      op->event->time = now();
      op->event->done = 1;
    }
    stream->first = op->next;
    if (stream->first == NULL) stream->last = NULL;
    stream->pending--;
    stream->kernels -= op->launch != NULL;
    free(op->launch);
    free(op);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void push(stream_t *stream, launch_t *launch, event_t *event) {
  op_t *op = calloc(1, sizeof *op);
  op->launch = launch;
  op->event = event;
  pthread_mutex_lock(&lock);
  if (stream->last != NULL) stream->last->next = op;
  else stream->first = op;
  stream->last = op;
  stream->pending++;
  stream->kernels += launch != NULL;
  pthread_cond_signal(&stream->wake);
  pthread_mutex_unlock(&lock);
}

result_t cuStreamCreate(stream_t **out, uint32_t flags) {
  ENTER(0);
  if (flags != 1) return INVALID_VALUE; /* one that waits for the stream of everybody is not wanted */
  stream_t *stream = calloc(1, sizeof *stream);
  pthread_cond_init(&stream->wake, NULL);
  gpu_of_streams = current;
  LOCKED(stream->next = streams; streams = stream);
  pthread_create(&stream->thread, NULL, run_stream, stream);
  pthread_detach(stream->thread);
  *out = stream;
  return 0;
}
result_t cuStreamDestroy_v2(stream_t *stream) {
  ENTER(0);
  if (!is_stream(stream)) return INVALID_HANDLE;
  LOCKED(stream->is_closed = 1; pthread_cond_signal(&stream->wake));
  return 0;
}
result_t cuStreamQuery(stream_t *stream) {
  ENTER(0);
  if (!is_stream(stream)) return INVALID_HANDLE;
  return stream->pending > 0 ? NOT_READY : 0;
}
result_t cuStreamSynchronize(stream_t *stream) {
  ENTER(0);
  if (!is_stream(stream)) return INVALID_HANDLE;
  if (stream->pending > 0) violate(__func__, "waits for a kernel");
  return 0;
}

result_t cuEventCreate(event_t **out, uint32_t flags) {
  ENTER(0);
  if (flags != 0) return INVALID_VALUE; /* with times */
  *out = calloc(1, sizeof **out);
  LOCKED(events_live++);
  return 0;
}
result_t cuEventDestroy_v2(event_t *event) { ENTER(0); LOCKED(events_live--); (void)event; return 0; }
result_t cuEventRecord(event_t *event, stream_t *stream) {
  ENTER(0);
  if (!is_stream(stream)) return INVALID_HANDLE;
  event->done = 0;
  event->recorded = 1;
  push(stream, NULL, event);
  return 0;
}
result_t cuEventQuery(event_t *event) { ENTER(0); return event->recorded && !event->done ? NOT_READY : 0; }
result_t cuEventElapsedTime(float *milliseconds, event_t *start, event_t *end) {
  ENTER(0);
  if (!start->recorded || !end->recorded) return INVALID_HANDLE;
  if (!start->done || !end->done) return NOT_READY;
  *milliseconds = (float)(end->time - start->time) / 1e6f;
  return 0;
}

result_t cuLaunchKernel(function_t *function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz, uint32_t shared,
                        stream_t *stream, void **params, uint64_t *extra) {
  ENTER(0);
  if (!is_function(function) || !is_stream(stream)) return INVALID_HANDLE;
  if (gx == 0 || gy == 0 || gz == 0 || bx == 0 || by == 0 || bz == 0 || gx > 0x7fffffff || gy > 65535 || gz > 65535 || bz > 64) return INVALID_VALUE;
  if ((uint64_t)bx * by * bz > MAX_BLOCK) return INVALID_VALUE;
  if (shared > (uint32_t)(function == raised ? raised_bytes : USUAL_SHARED_BYTES)) return INVALID_VALUE;
  if (params != NULL || extra == NULL) return INVALID_VALUE;
  if (extra[0] != 1 || extra[2] != 2 || extra[4] != 0) return INVALID_VALUE;
  uint64_t size = *(uint64_t *)extra[3];
  if (size != function->total || size > sizeof(launch_t){ 0 }.params) return INVALID_VALUE;
  launch_t *launch = calloc(1, sizeof *launch);
  *launch = (launch_t){ .function = function, .grid = { gx, gy, gz }, .block = { bx, by, bz }, .shared = shared };
  if (size > 0) memcpy(launch->params, (void *)extra[1], size);
  push(stream, launch, NULL);
  return 0;
}
