/* Code objects: read in this process, loaded and linked by the device process, their symbols looked up here. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime.h"

enum { HANDLE_OF_READER = 0x52, HANDLE_OF_LOADED = 0x4c, SYMBOL_BITS = 32 };

typedef struct reader {
  struct reader *next;
  uint64_t handle;
  const void *bytes;
  size_t size_bytes;
  /* Whether the bytes are the reader's. */
  void *owned;
} reader_t;

typedef struct {
  uint64_t handle, agent, delta, base, size_bytes;
  const void *storage;
  size_t storage_bytes;
} loaded_t;

typedef struct executable {
  struct executable *next;
  uint64_t handle;
  bool is_frozen;
  uint32_t profile, rounding;
  /* What is known of the symbols, numbered from 1 on; asked for when it is needed. */
  records_t symbols;
  size_t symbol_count;
  bool has_symbols;
  loaded_t *loaded;
  size_t loaded_count;
} executable_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static reader_t *readers;
static executable_t *executables;
static uint64_t next_handle = 1;

static void free_reader(reader_t *reader) {
  free(reader->owned);
  free(reader);
}

static void free_executable(executable_t *executable) {
  records_free(&executable->symbols);
  free(executable->loaded);
  free(executable);
}

void code_reset(void) {
  while (readers != NULL) {
    reader_t *next = readers->next;
    free_reader(readers);
    readers = next;
  }
  while (executables != NULL) {
    executable_t *next = executables->next;
    free_executable(executables);
    executables = next;
  }
}

static status_t add_reader(const void *bytes, size_t size_bytes, void *owned, uint64_t *handle) {
  reader_t *reader = malloc(sizeof *reader);
  if (reader == NULL) {
    free(owned);
    return OUT_OF_RESOURCES;
  }
  pthread_mutex_lock(&lock);
  *reader = (reader_t){readers, (uint64_t)HANDLE_OF_READER << 56 | next_handle++, bytes, size_bytes, owned};
  readers = reader;
  *handle = reader->handle;
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

/* The bytes stay the program's, which keeps them until the reader is destroyed. */
EXPORT status_t hsa_code_object_reader_create_from_memory(const void *bytes, size_t size_bytes, uint64_t *reader) {
  EXPECT_INITIALIZED();
  EXPECT(bytes != NULL && size_bytes != 0 && reader != NULL, INVALID_ARGUMENT);
  return add_reader(bytes, size_bytes, NULL, reader);
}

static status_t read_file(int file, size_t offset, size_t size_bytes, uint64_t *reader) {
  char *bytes = malloc(size_bytes);
  EXPECT(bytes != NULL, OUT_OF_RESOURCES);
  for (size_t at = 0; at < size_bytes;) {
    ssize_t got = pread(file, bytes + at, size_bytes - at, (off_t)(offset + at));
    if (got <= 0) {
      free(bytes);
      return INVALID_FILE;
    }
    at += (size_t)got;
  }
  return add_reader(bytes, size_bytes, bytes, reader);
}

HIDDEN status_t reader_from_file_part(int file, size_t offset, size_t size_bytes, uint64_t *reader) {
  EXPECT_INITIALIZED();
  EXPECT(reader != NULL, INVALID_ARGUMENT);
  off_t end = lseek(file, 0, SEEK_END);
  EXPECT(end >= 0, INVALID_FILE);
  size_t whole = (size_t)end;
  EXPECT(size_bytes != 0 && offset <= whole && size_bytes <= whole - offset, INVALID_ARGUMENT);
  return read_file(file, offset, size_bytes, reader);
}

EXPORT status_t hsa_code_object_reader_create_from_file(int file, uint64_t *reader) {
  EXPECT_INITIALIZED();
  EXPECT(reader != NULL, INVALID_ARGUMENT);
  off_t end = lseek(file, 0, SEEK_END);
  EXPECT(end > 0, INVALID_FILE);
  return read_file(file, 0, (size_t)end, reader);
}

EXPORT status_t hsa_code_object_reader_destroy(uint64_t handle) {
  EXPECT_INITIALIZED();
  pthread_mutex_lock(&lock);
  reader_t **at = &readers;
  while (*at != NULL && (*at)->handle != handle) at = &(*at)->next;
  reader_t *found = *at;
  if (found != NULL) *at = found->next;
  pthread_mutex_unlock(&lock);
  EXPECT(found != NULL, INVALID_CODE_OBJECT_READER);
  free_reader(found);
  return SUCCESS;
}

/* Deprecated: a code object is a reader. */
EXPORT status_t hsa_code_object_deserialize(void *bytes, size_t size_bytes, const char *options, uint64_t *code_object) {
  EXPECT_INITIALIZED();
  (void)options;
  EXPECT(bytes != NULL && size_bytes != 0 && code_object != NULL, INVALID_ARGUMENT);
  char *copy = malloc(size_bytes);
  EXPECT(copy != NULL, OUT_OF_RESOURCES);
  memcpy(copy, bytes, size_bytes);
  return add_reader(copy, size_bytes, copy, code_object);
}

EXPORT status_t hsa_code_object_destroy(uint64_t code_object) {
  status_t status = hsa_code_object_reader_destroy(code_object);
  return status == INVALID_CODE_OBJECT_READER ? INVALID_CODE_OBJECT : status;
}

static reader_t *find_reader(uint64_t handle) {
  pthread_mutex_lock(&lock);
  reader_t *at = readers;
  while (at != NULL && at->handle != handle) at = at->next;
  pthread_mutex_unlock(&lock);
  return at;
}

/* Called with the lock. */
static executable_t *executable_with(uint64_t handle) {
  executable_t *at = executables;
  while (at != NULL && at->handle != handle) at = at->next;
  return at;
}

EXPORT status_t hsa_executable_create_alt(uint32_t profile, uint32_t rounding, const char *options, uint64_t *handle) {
  TRACED(hsa_executable_create_alt, profile, rounding);
  EXPECT_INITIALIZED();
  (void)options;
  EXPECT(handle != NULL && profile <= 1 && rounding <= 2, INVALID_ARGUMENT);
  executable_t *executable = calloc(1, sizeof *executable);
  EXPECT(executable != NULL, OUT_OF_RESOURCES);
  create_executable_request_t request = {profile, rounding};
  create_executable_reply_t reply;
  status_t status = call_words(OP_CREATE_EXECUTABLE, &request, sizeof request, &reply, sizeof reply);
  if (status != SUCCESS) {
    free(executable);
    return status;
  }
  executable->handle = reply.executable;
  executable->profile = profile;
  executable->rounding = rounding;
  pthread_mutex_lock(&lock);
  executable->next = executables;
  executables = executable;
  pthread_mutex_unlock(&lock);
  *handle = reply.executable;
  return SUCCESS;
}

/* Deprecated: `state` says whether it is frozen at once, which is of no use without code. */
EXPORT status_t hsa_executable_create(uint32_t profile, uint32_t state, const char *options, uint64_t *handle) {
  EXPECT_INITIALIZED();
  EXPECT(state == 0, INVALID_ARGUMENT);
  return hsa_executable_create_alt(profile, 0, options, handle);
}

EXPORT status_t hsa_executable_destroy(uint64_t handle) {
  TRACED(hsa_executable_destroy, handle, 0);
  EXPECT_INITIALIZED();
  pthread_mutex_lock(&lock);
  executable_t **at = &executables;
  while (*at != NULL && (*at)->handle != handle) at = &(*at)->next;
  executable_t *found = *at;
  if (found != NULL) *at = found->next;
  pthread_mutex_unlock(&lock);
  EXPECT(found != NULL, INVALID_EXECUTABLE);
  free_executable(found);
  destroy_executable_request_t request = {handle};
  return call_words(OP_DESTROY_EXECUTABLE, &request, sizeof request, NULL, 0);
}

/* What was known of symbols is out of date. Called with the lock. */
static void forget_symbols(executable_t *executable) {
  records_free(&executable->symbols);
  executable->has_symbols = false;
}

static status_t remember_loaded(uint64_t handle, const load_code_object_reply_t *reply, uint64_t agent, const reader_t *reader, uint64_t *loaded) {
  status_t status = INVALID_EXECUTABLE;
  pthread_mutex_lock(&lock);
  executable_t *executable = executable_with(handle);
  loaded_t *list = executable == NULL ? NULL : realloc(executable->loaded, (executable->loaded_count + 1) * sizeof *list);
  if (list != NULL) {
    forget_symbols(executable);
    uint64_t number = (uint64_t)HANDLE_OF_LOADED << 56 | next_handle++;
    executable->loaded = list;
    list[executable->loaded_count++] =
        (loaded_t){number, agent, reply->load_delta, reply->load_base, reply->load_size_bytes, reader->bytes, reader->size_bytes};
    if (loaded != NULL) *loaded = number;
    status = SUCCESS;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

static status_t load(uint64_t handle, uint64_t agent, const reader_t *reader, uint64_t *loaded) {
  load_code_object_request_t request = {handle, agent};
  load_code_object_reply_t reply;
  request_t whole = {&request, sizeof request, reader->bytes, reader->size_bytes};
  status_t status = call(OP_LOAD_CODE_OBJECT, whole, &reply, sizeof reply, NULL, NULL);
  return status == SUCCESS ? remember_loaded(handle, &reply, agent, reader, loaded) : status;
}

EXPORT status_t hsa_executable_load_agent_code_object(uint64_t executable, uint64_t agent, uint64_t reader, const char *options, uint64_t *loaded) {
  TRACED(hsa_executable_load_agent_code_object, executable, agent);
  EXPECT_INITIALIZED();
  (void)options;
  EXPECT(is_subject(agent, SUBJECT_AGENT), INVALID_AGENT);
  const reader_t *found = find_reader(reader);
  EXPECT(found != NULL, INVALID_CODE_OBJECT_READER);
  return load(executable, agent, found, loaded);
}

EXPORT status_t hsa_executable_load_code_object(uint64_t executable, uint64_t agent, uint64_t code_object, const char *options) {
  EXPECT_INITIALIZED();
  (void)options;
  EXPECT(is_subject(agent, SUBJECT_AGENT), INVALID_AGENT);
  const reader_t *found = find_reader(code_object);
  EXPECT(found != NULL, INVALID_CODE_OBJECT);
  return load(executable, agent, found, NULL);
}

EXPORT status_t hsa_executable_freeze(uint64_t handle, const char *options) {
  TRACED(hsa_executable_freeze, handle, 0);
  EXPECT_INITIALIZED();
  (void)options;
  freeze_request_t request = {handle};
  status_t status = call_words(OP_FREEZE, &request, sizeof request, NULL, 0);
  if (status != SUCCESS) return status;
  pthread_mutex_lock(&lock);
  executable_t *executable = executable_with(handle);
  if (executable != NULL) {
    executable->is_frozen = true;
    forget_symbols(executable);
  }
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

EXPORT status_t hsa_executable_validate(uint64_t handle, uint32_t *result) {
  EXPECT_INITIALIZED();
  EXPECT(result != NULL, INVALID_ARGUMENT);
  validate_request_t request = {handle};
  validate_reply_t reply;
  status_t status = call_words(OP_VALIDATE, &request, sizeof request, &reply, sizeof reply);
  if (status == SUCCESS) *result = reply.is_valid != 0 ? 0 : 1;
  return status;
}

EXPORT status_t hsa_executable_validate_alt(uint64_t handle, const char *options, uint32_t *result) {
  (void)options;
  return hsa_executable_validate(handle, result);
}

static status_t define(uint64_t handle, uint64_t agent, const char *name, const void *address) {
  EXPECT(name != NULL, INVALID_ARGUMENT);
  define_variable_request_t request = {handle, agent, (uintptr_t)address};
  return call(OP_DEFINE_VARIABLE, (request_t){&request, sizeof request, name, strlen(name)}, NULL, 0, NULL, NULL);
}

EXPORT status_t hsa_executable_agent_global_variable_define(uint64_t executable, uint64_t agent, const char *name, void *address) {
  EXPECT_INITIALIZED();
  EXPECT(is_subject(agent, SUBJECT_AGENT), INVALID_AGENT);
  return define(executable, agent, name, address);
}

EXPORT status_t hsa_executable_global_variable_define(uint64_t executable, const char *name, void *address) {
  EXPECT_INITIALIZED();
  return define(executable, 0, name, address);
}

EXPORT status_t hsa_executable_readonly_variable_define(uint64_t executable, uint64_t agent, const char *name, void *address) {
  EXPECT_INITIALIZED();
  EXPECT(is_subject(agent, SUBJECT_AGENT), INVALID_AGENT);
  return define(executable, agent, name, address);
}

enum { EXECUTABLE_INFO_PROFILE = 1, EXECUTABLE_INFO_STATE = 2, EXECUTABLE_INFO_ROUNDING = 3 };

EXPORT status_t hsa_executable_get_info(uint64_t handle, uint32_t attribute, void *value) {
  EXPECT_INITIALIZED();
  EXPECT(value != NULL && attribute >= EXECUTABLE_INFO_PROFILE && attribute <= EXECUTABLE_INFO_ROUNDING, INVALID_ARGUMENT);
  pthread_mutex_lock(&lock);
  const executable_t *found = executable_with(handle);
  uint32_t answer = 0;
  if (found != NULL) {
    answer = attribute == EXECUTABLE_INFO_PROFILE ? found->profile : attribute == EXECUTABLE_INFO_STATE ? found->is_frozen : found->rounding;
  }
  pthread_mutex_unlock(&lock);
  EXPECT(found != NULL, INVALID_EXECUTABLE);
  memcpy(value, &answer, sizeof answer);
  return SUCCESS;
}

/* Asks for what is known of the symbols. */
static status_t fetch_symbols(uint64_t handle) {
  symbols_request_t request = {handle};
  symbols_reply_t reply;
  void *tail = NULL;
  size_t tail_bytes = 0;
  status_t status = call(OP_SYMBOLS, (request_t){&request, sizeof request, NULL, 0}, &reply, sizeof reply, &tail, &tail_bytes);
  if (status != SUCCESS) return status;
  records_t records;
  bool are_records = records_parse(&records, tail, tail_bytes);
  pthread_mutex_lock(&lock);
  executable_t *executable = executable_with(handle);
  if (are_records && executable != NULL && !executable->has_symbols) {
    executable->symbols = records;
    executable->symbol_count = reply.count;
    executable->has_symbols = true;
    records = (records_t){0};
  }
  pthread_mutex_unlock(&lock);
  records_free(&records);
  return executable == NULL ? INVALID_EXECUTABLE : are_records ? SUCCESS : ERROR;
}

/* Makes sure that the symbols are known. */
static status_t know_symbols(uint64_t handle, size_t *count) {
  for (;;) {
    pthread_mutex_lock(&lock);
    const executable_t *executable = executable_with(handle);
    bool has_symbols = executable != NULL && executable->has_symbols;
    if (has_symbols) *count = executable->symbol_count;
    pthread_mutex_unlock(&lock);
    if (executable == NULL) return INVALID_EXECUTABLE;
    if (has_symbols) return SUCCESS;
    status_t status = fetch_symbols(handle);
    if (status != SUCCESS) return status;
  }
}

static uint64_t symbol_handle(uint64_t executable, size_t number) { return executable << SYMBOL_BITS | number; }

/* Whether the symbol is one of the agent's, 0 for any, and has the name, where there is one. Called with the lock. */
static bool is_symbol(const executable_t *executable, size_t number, uint64_t agent, const char *name) {
  size_t size_bytes;
  const void *found = records_find(&executable->symbols, number, SYMBOL_INFO_AGENT, &size_bytes);
  if (agent != 0 && (found == NULL || memcmp(found, &agent, sizeof agent) != 0)) return false;
  if (name == NULL) return true;
  found = records_find(&executable->symbols, number, SYMBOL_INFO_NAME, &size_bytes);
  if (found == NULL || strlen(name) != size_bytes || memcmp(found, name, size_bytes) != 0) return false;
  uint32_t linkage = 0;
  records_answer(&executable->symbols, number, SYMBOL_INFO_LINKAGE, &linkage);
  return linkage == LINKAGE_PROGRAM;
}

/* The number of the first symbol behind `after`; 0 for none. */
static size_t next_symbol(uint64_t handle, size_t after, uint64_t agent, const char *name) {
  size_t number = 0;
  pthread_mutex_lock(&lock);
  const executable_t *executable = executable_with(handle);
  if (executable != NULL && executable->has_symbols) {
    for (size_t i = after + 1; i <= executable->symbol_count && number == 0; i++) {
      if (is_symbol(executable, i, agent, name)) number = i;
    }
  }
  pthread_mutex_unlock(&lock);
  return number;
}

/* `agent` is NULL for symbols of the whole program; then the first one of any agent is as good. */
EXPORT status_t hsa_executable_get_symbol_by_name(uint64_t executable, const char *name, const uint64_t *agent, uint64_t *symbol) {
  TRACED(hsa_executable_get_symbol_by_name, executable, 0);
  EXPECT_INITIALIZED();
  EXPECT(name != NULL && symbol != NULL, INVALID_ARGUMENT);
  EXPECT(agent == NULL || is_subject(*agent, SUBJECT_AGENT), INVALID_AGENT);
  size_t count;
  status_t status = know_symbols(executable, &count);
  if (status != SUCCESS) return status;
  size_t number = next_symbol(executable, 0, agent == NULL ? 0 : *agent, name);
  EXPECT(number != 0, INVALID_SYMBOL_NAME);
  *symbol = symbol_handle(executable, number);
  return SUCCESS;
}

EXPORT status_t hsa_executable_get_symbol(uint64_t executable, const char *module, const char *name, uint64_t agent, int32_t convention,
                                          uint64_t *symbol) {
  EXPECT_INITIALIZED();
  (void)convention;
  EXPECT(module == NULL || *module == 0, INVALID_SYMBOL_NAME);
  return hsa_executable_get_symbol_by_name(executable, name, agent == 0 ? NULL : &agent, symbol);
}

typedef status_t (*symbol_callback_t)(uint64_t executable, uint64_t symbol, void *data);
typedef status_t (*agent_symbol_callback_t)(uint64_t executable, uint64_t agent, uint64_t symbol, void *data);

EXPORT status_t hsa_executable_iterate_symbols(uint64_t executable, symbol_callback_t callback, void *data) {
  EXPECT_INITIALIZED();
  EXPECT(callback != NULL, INVALID_ARGUMENT);
  size_t count = 0;
  status_t status = know_symbols(executable, &count);
  for (size_t number = 0; status == SUCCESS && (number = next_symbol(executable, number, 0, NULL)) != 0;) {
    status = callback(executable, symbol_handle(executable, number), data);
  }
  return status;
}

EXPORT status_t hsa_executable_iterate_agent_symbols(uint64_t executable, uint64_t agent, agent_symbol_callback_t callback, void *data) {
  EXPECT_INITIALIZED();
  EXPECT(callback != NULL, INVALID_ARGUMENT);
  EXPECT(is_subject(agent, SUBJECT_AGENT), INVALID_AGENT);
  size_t count = 0;
  status_t status = know_symbols(executable, &count);
  for (size_t number = 0; status == SUCCESS && (number = next_symbol(executable, number, agent, NULL)) != 0;) {
    status = callback(executable, agent, symbol_handle(executable, number), data);
  }
  return status;
}

EXPORT status_t hsa_executable_symbol_get_info(uint64_t symbol, uint32_t attribute, void *value) {
  EXPECT_INITIALIZED();
  EXPECT(value != NULL, INVALID_ARGUMENT);
  uint64_t handle = symbol >> SYMBOL_BITS;
  size_t number = symbol & UINT32_MAX, count = 0;
  EXPECT(handle != 0 && know_symbols(handle, &count) == SUCCESS && number != 0 && number <= count, INVALID_EXECUTABLE_SYMBOL);
  pthread_mutex_lock(&lock);
  const executable_t *executable = executable_with(handle);
  status_t status = executable == NULL ? INVALID_EXECUTABLE_SYMBOL : records_answer(&executable->symbols, number, attribute, value);
  pthread_mutex_unlock(&lock);
  return status;
}

enum {
  LOADED_EXECUTABLE = 1, LOADED_KIND, LOADED_AGENT, LOADED_STORAGE_TYPE, LOADED_STORAGE_BASE, LOADED_STORAGE_SIZE,
  LOADED_STORAGE_FILE, LOADED_DELTA, LOADED_BASE, LOADED_SIZE, LOADED_URI_LENGTH, LOADED_URI,
  KIND_AGENT = 2, STORAGE_MEMORY = 2, MAX_URI_BYTES = 128,
};

static status_t put(void *value, const void *answer, size_t size_bytes) {
  memcpy(value, answer, size_bytes);
  return SUCCESS;
}

static status_t put32(void *value, uint32_t answer) { return put(value, &answer, sizeof answer); }

static status_t put64(void *value, uint64_t answer) { return put(value, &answer, sizeof answer); }

static status_t describe_loaded(uint64_t executable, const loaded_t *loaded, uint32_t attribute, void *value) {
  char uri[MAX_URI_BYTES];
  int length = snprintf(uri, sizeof uri, "memory://%d#offset=0x%lx&size=%zu", (int)getpid(), (unsigned long)(uintptr_t)loaded->storage,
                        loaded->storage_bytes);
  switch (attribute) {
    case LOADED_EXECUTABLE: return put64(value, executable);
    case LOADED_KIND: return put32(value, KIND_AGENT);
    case LOADED_AGENT: return put64(value, loaded->agent);
    case LOADED_STORAGE_TYPE: return put32(value, STORAGE_MEMORY);
    case LOADED_STORAGE_BASE: return put64(value, (uintptr_t)loaded->storage);
    case LOADED_STORAGE_SIZE: return put64(value, loaded->storage_bytes);
    case LOADED_DELTA: return put64(value, loaded->delta);
    case LOADED_BASE: return put64(value, loaded->base);
    case LOADED_SIZE: return put64(value, loaded->size_bytes);
    case LOADED_URI_LENGTH: return put32(value, (uint32_t)length);
    case LOADED_URI: return put(value, uri, (size_t)length);
    default: return INVALID_ARGUMENT;
  }
}

HIDDEN status_t loaded_code_object_info(uint64_t handle, uint32_t attribute, void *value) {
  EXPECT_INITIALIZED();
  EXPECT(value != NULL, INVALID_ARGUMENT);
  status_t status = INVALID_CODE_OBJECT;
  pthread_mutex_lock(&lock);
  for (const executable_t *at = executables; at != NULL; at = at->next) {
    for (size_t i = 0; i < at->loaded_count; i++) {
      if (at->loaded[i].handle == handle) status = describe_loaded(at->handle, &at->loaded[i], attribute, value);
    }
  }
  pthread_mutex_unlock(&lock);
  return status;
}

HIDDEN status_t iterate_loaded_code_objects(uint64_t handle, symbol_callback_t callback, void *data) {
  EXPECT_INITIALIZED();
  EXPECT(callback != NULL, INVALID_ARGUMENT);
  for (size_t i = 0;; i++) {
    pthread_mutex_lock(&lock);
    const executable_t *executable = executable_with(handle);
    bool is_there = executable != NULL && i < executable->loaded_count;
    uint64_t loaded = is_there ? executable->loaded[i].handle : 0;
    pthread_mutex_unlock(&lock);
    if (!is_there) return executable == NULL ? INVALID_EXECUTABLE : SUCCESS;
    status_t status = callback(handle, loaded, data);
    if (status != SUCCESS) return status;
  }
}

HIDDEN status_t iterate_executables(handle_callback_t callback, void *data) {
  EXPECT_INITIALIZED();
  EXPECT(callback != NULL, INVALID_ARGUMENT);
  for (size_t i = 0;; i++) {
    pthread_mutex_lock(&lock);
    const executable_t *executable = executables;
    for (size_t j = 0; j < i && executable != NULL; j++) executable = executable->next;
    uint64_t handle = executable == NULL ? 0 : executable->handle;
    pthread_mutex_unlock(&lock);
    if (handle == 0) return SUCCESS;
    status_t status = callback(handle, data);
    if (status != SUCCESS) return status;
  }
}

/* The executable whose code an address belongs to. */
HIDDEN status_t executable_of_address(uint64_t address, uint64_t *handle) {
  EXPECT_INITIALIZED();
  EXPECT(address != 0 && handle != NULL, INVALID_ARGUMENT);
  status_t status = INVALID_ARGUMENT;
  pthread_mutex_lock(&lock);
  for (const executable_t *at = executables; at != NULL; at = at->next) {
    for (size_t i = 0; i < at->loaded_count; i++) {
      if (address - at->loaded[i].base >= at->loaded[i].size_bytes) continue;
      *handle = at->handle;
      status = SUCCESS;
    }
  }
  pthread_mutex_unlock(&lock);
  return status;
}

/* hsa_ven_amd_loader_segment_descriptor_t. */
typedef struct {
  uint64_t agent, executable;
  uint32_t storage_type;
  uint64_t storage_base, storage_bytes, storage_offset, base, size_bytes;
} segment_descriptor_t;

/* All segments of a code object are one, as those of ROCr are. The number is asked for first, with no place for any. */
HIDDEN status_t query_segment_descriptors(void *place, size_t *count) {
  segment_descriptor_t *descriptors = place;
  EXPECT_INITIALIZED();
  EXPECT(count != NULL && (*count == 0) == (descriptors == NULL), INVALID_ARGUMENT);
  size_t known = 0;
  pthread_mutex_lock(&lock);
  for (const executable_t *at = executables; at != NULL; at = at->next) known += at->loaded_count;
  bool fits = descriptors == NULL || *count == known;
  for (const executable_t *at = executables; at != NULL && descriptors != NULL && fits; at = at->next) {
    for (size_t i = 0; i < at->loaded_count; i++) {
      const loaded_t *loaded = &at->loaded[i];
      *descriptors++ = (segment_descriptor_t){loaded->agent, at->handle, STORAGE_MEMORY, (uintptr_t)loaded->storage,
                                              loaded->storage_bytes, 0, loaded->base, loaded->size_bytes};
    }
  }
  pthread_mutex_unlock(&lock);
  EXPECT(fits, INCOMPATIBLE_ARGUMENTS);
  *count = known;
  return SUCCESS;
}
