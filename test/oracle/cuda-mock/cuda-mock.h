/* What the files of the stand-in for libcuda.so.1 have in common. */
#ifndef CUDA_MOCK_H
#define CUDA_MOCK_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t result_t;

enum {
  INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201, NO_BINARY_FOR_GPU = 209, INVALID_PTX = 218, UNSUPPORTED_PTX_VERSION = 222, INVALID_SOURCE = 300,
  SYMBOL_NOT_FOUND = 302, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700, OUT_OF_RESOURCES = 701,
  LAUNCH_FAILED = 719,
};

struct launch;

enum { MAX_PARAMETERS = 16, MAX_ITEMS = 64, NAME_BYTES = 128 };

typedef struct {
  char name[NAME_BYTES];
  uint32_t count, total, offset[MAX_PARAMETERS], size[MAX_PARAMETERS];
  /* What runs: an effect of this library, or code that was compiled for the host. */
  result_t (*effect)(const struct launch *);
  void *host;
  struct module *module;
} function_t;

typedef struct {
  char name[NAME_BYTES], initial[NAME_BYTES];
  uint64_t address, size;
  int is_own; /* allocated here, not a variable of the host's code */
} variable_t;

typedef struct module {
  struct module *next;
  int live, functions_count, variables_count;
  void *kernels;
  function_t functions[MAX_ITEMS];
  variable_t variables[MAX_ITEMS];
} module_t;

typedef struct launch {
  function_t *function;
  uint32_t grid[3], block[3], shared;
  uint8_t params[4096];
} launch_t;

/* image.c: what is in PTX and cubins. `log` gets what the compiler says. */
result_t read_image(module_t *module, const void *image, int processor, char *log, size_t log_size);

/* kernels.c: effects by the names of kernels; an effect returns a CUresult. */
typedef result_t effect_t(const struct launch *launch);
effect_t *find_effect(const char *name);

/* cuda-mock.c: whether kernels may use all of that memory. */
int is_memory(uint64_t address, uint64_t size);

#endif
