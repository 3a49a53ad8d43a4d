/*
 * The table of functions that ROCm's tools know (HsaApiTable of hsa_api_trace.h): each export jumps through its entry, and libraries
 * that HSA_TOOLS_LIB names may read and change entries.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

OF_FIRST_GLIBC(dlopen)
OF_FIRST_GLIBC(dlsym)
OF_FIRST_GLIBC(dlclose)
OF_FIRST_GLIBC(dlerror)
/* Programs without libdl have none in an older glibc. */
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlclose
#pragma weak dlerror

typedef void (*function_t)(void);
typedef struct {
  uint32_t major, size_bytes, step, reserved;
} table_version_t;

/* Nothing of the emulator takes scratch memory away. */
#define EVENT(name) \
  status_t name(void); \
  status_t name(void) { return SUCCESS; }
EVENT(hsa_amd_tool_scratch_event_alloc_start)
EVENT(hsa_amd_tool_scratch_event_alloc_end)
EVENT(hsa_amd_tool_scratch_event_free_start)
EVENT(hsa_amd_tool_scratch_event_free_end)
EVENT(hsa_amd_tool_scratch_event_async_reclaim_start)
EVENT(hsa_amd_tool_scratch_event_async_reclaim_end)

#define DECLARE(name, index) HIDDEN extern __typeof__(status_t(void)) name;
#define ENTRY_OF(name, index) (function_t)name,
#define TABLE(NAME, name) \
  NAME##_TABLE(DECLARE) \
  typedef struct { \
    table_version_t version; \
    function_t functions[NAME##_COUNT]; \
  } name##_t; \
  static const name##_t name##_original = {{NAME##_MAJOR, sizeof(name##_t), NAME##_STEP, 0}, {NAME##_TABLE(ENTRY_OF)}}; \
  HIDDEN name##_t name = {{NAME##_MAJOR, sizeof(name##_t), NAME##_STEP, 0}, {NAME##_TABLE(ENTRY_OF)}};

TABLE(CORE, core_table)
TABLE(AMD_EXT, amd_ext_table)
TABLE(FINALIZER, finalizer_table)
TABLE(IMAGE, image_table)
TABLE(TOOLS, tools_table)
TABLE(PC_SAMPLING, pc_sampling_table)
_Static_assert(offsetof(core_table_t, functions) == 16, "the exports know where entries are");

#if defined(__aarch64__)
/* x16 is the register that jumps between libraries may change. */
#define GO_TO(entry) "adrp x16, " entry "\nldr x16, [x16, #:lo12:" entry "]\nbr x16\n"
#else
#define GO_TO(entry) "jmp *" entry "(%rip)\n"
#endif
/* The export of a name, whatever its arguments are. */
#define JUMP(name, table, index) \
  __asm__(".text\n.globl " name "\n.type " name ", @function\n" name ":\n.cfi_startproc\n" \
          GO_TO(table "+16+8*" #index) ".cfi_endproc\n.size " name ", . - " name "\n");
#define JUMP_CORE(name, index) JUMP(#name, "core_table", index)
#define JUMP_AMD_EXT(name, index) JUMP(#name, "amd_ext_table", index)
#define JUMP_FINALIZER(name, index) JUMP(#name, "finalizer_table", index)
#define JUMP_IMAGE(name, index) JUMP(#name, "image_table", index)
#define JUMP_PC_SAMPLING(name, index) JUMP(#name, "pc_sampling_table", index)
CORE_EXPORTS(JUMP_CORE)
AMD_EXT_EXPORTS(JUMP_AMD_EXT)
FINALIZER_EXPORTS(JUMP_FINALIZER)
IMAGE_EXPORTS(JUMP_IMAGE)
PC_SAMPLING_EXPORTS(JUMP_PC_SAMPLING)

static struct {
  table_version_t version;
  core_table_t *core;
  amd_ext_table_t *amd_ext;
  finalizer_table_t *finalizer;
  image_table_t *image;
  tools_table_t *tools;
  pc_sampling_table_t *pc_sampling;
} api_table;

/* AMD's extensions at the places that ROCr 5.2 had them at, and where these are in `amd_ext_table`. */
static struct {
  table_version_t version;
  function_t functions[AMD_EXT_1_COUNT];
} amd_ext_1_table;
#define PLACE(index) index,
static const uint8_t AMD_EXT_1_INDICES[AMD_EXT_1_COUNT] = {AMD_EXT_1_PLACES(PLACE)};

enum { API_TABLE_MAJOR = 3, API_TABLE_STEP = 1, MAX_TOOLS = 64 };
typedef bool (*on_load_t)(void *table, uint64_t version, uint64_t failed_count, const char *const *failed);
typedef void (*on_unload_t)(void);

static void *tools[MAX_TOOLS];
static size_t tool_count;

static void reset_tables(void) {
  core_table = core_table_original;
  amd_ext_table = amd_ext_table_original;
  finalizer_table = finalizer_table_original;
  image_table = image_table_original;
  tools_table = tools_table_original;
  pc_sampling_table = pc_sampling_table_original;
  table_version_t version = {API_TABLE_MAJOR, sizeof api_table, API_TABLE_STEP, 0};
  memcpy(&api_table.version, &version, sizeof version);
  api_table.core = &core_table;
  api_table.amd_ext = &amd_ext_table;
  api_table.finalizer = &finalizer_table;
  api_table.image = &image_table;
  api_table.tools = &tools_table;
  api_table.pc_sampling = &pc_sampling_table;
}

static bool wants_version_1(void) {
  const char *version = getenv("WAVEWRIGHT_HSA_TABLES");
  return version != NULL && strcmp(version, "1") == 0;
}

/* Makes the tables those of ROCr 5.2, which had no tools and no sampling. */
static void begin_version_1(void) {
  enum { HEAD_BYTES = sizeof(table_version_t), ENTRY_BYTES = sizeof(function_t) };
  api_table.version = (table_version_t){1, offsetof(__typeof__(api_table), tools), 0, 0};
  core_table.version = (table_version_t){1, HEAD_BYTES + CORE_1_COUNT * ENTRY_BYTES, 0, 0};
  finalizer_table.version = (table_version_t){1, sizeof finalizer_table, 0, 0};
  image_table.version = (table_version_t){1, HEAD_BYTES + IMAGE_1_COUNT * ENTRY_BYTES, 0, 0};
  amd_ext_1_table.version = (table_version_t){1, sizeof amd_ext_1_table, 0, 0};
  api_table.amd_ext = (amd_ext_table_t *)&amd_ext_1_table;
  for (int i = 0; i < AMD_EXT_1_COUNT; i++) amd_ext_1_table.functions[i] = amd_ext_table.functions[AMD_EXT_1_INDICES[i]];
}

/* The entries that exports go through are the newer ones. */
static void take_version_1(void) {
  for (int i = 0; i < AMD_EXT_1_COUNT; i++) amd_ext_table.functions[AMD_EXT_1_INDICES[i]] = amd_ext_1_table.functions[i];
}

/* Returns why a tool is not there, NULL if it is. */
static const char *load(const char *name, const char *const *failed, size_t failed_count) {
  void *library = dlopen(name, RTLD_LAZY);
  if (library == NULL) return dlerror();
  on_load_t on_load;
  *(void **)&on_load = dlsym(library, "OnLoad");
  bool is_loaded = on_load != NULL && on_load(&api_table, api_table.version.major, failed_count, failed);
  if (is_loaded && wants_version_1()) take_version_1();
  if (!is_loaded) {
    dlclose(library);
    return on_load == NULL ? "it has no OnLoad" : "its OnLoad refused";
  }
  tools[tool_count++] = library;
  return NULL;
}

/* Names are separated by spaces, and stand in quotes where they have some; a tool is told which of those before it are not there. */
static void load_all(char *names) {
  const char *failed[MAX_TOOLS];
  size_t failed_count = 0;
  for (char *at = names; *at != 0 && tool_count + failed_count < MAX_TOOLS;) {
    char end = *at == '"' ? '"' : ' ';
    char *name = *at == '"' ? at + 1 : at;
    size_t length = strcspn(name, end == '"' ? "\"" : " ");
    at = name + length + (name[length] != 0);
    name[length] = 0;
    if (length == 0) continue;
    const char *why = load(name, failed, failed_count);
    if (why == NULL) continue;
    fprintf(stderr, "wavewright: the tool %s of HSA_TOOLS_LIB is not loaded: %s\n", name, why);
    failed[failed_count++] = name;
  }
}

void tools_load(void) {
  reset_tables();
  const char *names = getenv("HSA_TOOLS_LIB");
  if (names == NULL || *names == 0) return;
  if (dlopen == NULL) {
    fprintf(stderr, "wavewright: HSA_TOOLS_LIB: this program cannot load libraries (libdl)\n");
    return;
  }
  if (wants_version_1()) begin_version_1();
  char *copy = strdup(names);
  if (copy != NULL) load_all(copy);
  free(copy);
}

/* What they added to the table goes; their code stays, as some of it may run. */
void tools_unload(void) {
  while (tool_count > 0) {
    on_unload_t on_unload;
    *(void **)&on_unload = dlsym(tools[--tool_count], "OnUnload");
    if (on_unload != NULL) on_unload();
  }
  reset_tables();
}
