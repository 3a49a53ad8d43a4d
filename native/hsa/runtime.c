/* The life of the runtime: hsa_init, hsa_shut_down, forks; and texts of statuses. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime.h"

/* Tools may call these functions when they are loaded. */
static pthread_mutex_t life_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static _Atomic int references;
/* This process is the child of one that used the runtime: locks may be held by threads that it does not have. */
static bool is_orphan;

bool runtime_is_live(void) { return references > 0; }

_Noreturn void runtime_lost(const char *why) {
  fprintf(stderr, "wavewright: %s\n", why);
  abort();
}

status_t refuse(const char *name) {
  static const char *_Atomic last;
  if (last != name && getenv("WAVEWRIGHT_TRACE") != NULL) {
    last = name;
    fprintf(stderr, "wavewright: %s is not implemented\n", name);
  }
  return runtime_is_live() ? NOT_SUPPORTED : NOT_INITIALIZED;
}

/* What threads of the parent held is nobody's in the child, which has only the thread that forked. */
static void before_fork(void) { pthread_mutex_lock(&life_lock); }

static void in_parent(void) { pthread_mutex_unlock(&life_lock); }

static void in_child(void) {
  /* The child's thread is another one than that which locked it. */
  life_lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  if (references == 0) return;
  memory_unshare_locked();
  references = 0;
  is_orphan = true;
  watchers_forget();
  connection_forget();
}

static status_t start(void) {
  static bool handles_forks;
  if (is_orphan) {
    fprintf(stderr, "wavewright: a fork of a program that uses the GPU cannot use it before it executes another program\n");
    return OUT_OF_RESOURCES;
  }
  status_t status = connection_open();
  if (status != SUCCESS) connection_close();
  if (status == SUCCESS && !handles_forks) {
    handles_forks = pthread_atfork(before_fork, in_parent, in_child) == 0;
  }
  return status;
}

EXPORT status_t hsa_init(void) {
  pthread_mutex_lock(&life_lock);
  status_t status = SUCCESS;
  if (references == INT_MAX) status = REFCOUNT_OVERFLOW;
  else if (references == 0) status = start();
  if (status == SUCCESS && ++references == 1) tools_load();
  pthread_mutex_unlock(&life_lock);
  return status;
}

EXPORT status_t hsa_shut_down(void) {
  pthread_mutex_lock(&life_lock);
  status_t status = references == 0 ? NOT_INITIALIZED : SUCCESS;
  if (references == 1) tools_unload();
  if (status == SUCCESS && --references == 0) {
    watchers_stop();
    code_reset();
    queues_reset();
    signals_reset();
    memory_reset();
    connection_close();
  }
  pthread_mutex_unlock(&life_lock);
  return status;
}

static const struct {
  status_t status;
  const char *text;
} TEXTS[] = {
    {SUCCESS, "HSA_STATUS_SUCCESS: The function did what it was asked to."},
    {INFO_BREAK, "HSA_STATUS_INFO_BREAK: A callback ended the traversal."},
    {ERROR, "HSA_STATUS_ERROR: An error without a status of its own."},
    {INVALID_ARGUMENT, "HSA_STATUS_ERROR_INVALID_ARGUMENT: An argument is not valid."},
    {INVALID_QUEUE_CREATION, "HSA_STATUS_ERROR_INVALID_QUEUE_CREATION: There cannot be such a queue."},
    {INVALID_ALLOCATION, "HSA_STATUS_ERROR_INVALID_ALLOCATION: There cannot be such an allocation."},
    {INVALID_AGENT, "HSA_STATUS_ERROR_INVALID_AGENT: The agent is not valid."},
    {INVALID_REGION, "HSA_STATUS_ERROR_INVALID_REGION: The memory region is not valid."},
    {INVALID_SIGNAL, "HSA_STATUS_ERROR_INVALID_SIGNAL: The signal is not valid."},
    {INVALID_QUEUE, "HSA_STATUS_ERROR_INVALID_QUEUE: The queue is not valid."},
    {OUT_OF_RESOURCES, "HSA_STATUS_ERROR_OUT_OF_RESOURCES: There is not enough of what was asked for."},
    {INVALID_PACKET_FORMAT, "HSA_STATUS_ERROR_INVALID_PACKET_FORMAT: The AQL packet is malformed."},
    {RESOURCE_FREE, "HSA_STATUS_ERROR_RESOURCE_FREE: A resource could not be released."},
    {NOT_INITIALIZED, "HSA_STATUS_ERROR_NOT_INITIALIZED: The runtime is not initialized."},
    {REFCOUNT_OVERFLOW, "HSA_STATUS_ERROR_REFCOUNT_OVERFLOW: A reference count has its maximum."},
    {INCOMPATIBLE_ARGUMENTS, "HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS: Arguments do not fit together."},
    {INVALID_INDEX, "HSA_STATUS_ERROR_INVALID_INDEX: The index is not valid."},
    {INVALID_ISA, "HSA_STATUS_ERROR_INVALID_ISA: The instruction set is not valid."},
    {INVALID_CODE_OBJECT, "HSA_STATUS_ERROR_INVALID_CODE_OBJECT: The code object is not valid."},
    {INVALID_EXECUTABLE, "HSA_STATUS_ERROR_INVALID_EXECUTABLE: The executable is not valid."},
    {FROZEN_EXECUTABLE, "HSA_STATUS_ERROR_FROZEN_EXECUTABLE: The executable is frozen."},
    {INVALID_SYMBOL_NAME, "HSA_STATUS_ERROR_INVALID_SYMBOL_NAME: There is no symbol with this name."},
    {VARIABLE_ALREADY_DEFINED, "HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED: The variable is already defined."},
    {VARIABLE_UNDEFINED, "HSA_STATUS_ERROR_VARIABLE_UNDEFINED: The variable is not defined."},
    {EXCEPTION, "HSA_STATUS_ERROR_EXCEPTION: An operation raised an exception."},
    {INVALID_ISA_NAME, "HSA_STATUS_ERROR_INVALID_ISA_NAME: No instruction set has this name."},
    {INVALID_CODE_SYMBOL, "HSA_STATUS_ERROR_INVALID_CODE_SYMBOL: The code object symbol is not valid."},
    {INVALID_EXECUTABLE_SYMBOL, "HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL: The executable symbol is not valid."},
    {INVALID_FILE, "HSA_STATUS_ERROR_INVALID_FILE: The file descriptor is not valid."},
    {INVALID_CODE_OBJECT_READER, "HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER: The code object reader is not valid."},
    {INVALID_CACHE, "HSA_STATUS_ERROR_INVALID_CACHE: The cache is not valid."},
    {INVALID_WAVEFRONT, "HSA_STATUS_ERROR_INVALID_WAVEFRONT: The wavefront is not valid."},
    {INVALID_SIGNAL_GROUP, "HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP: The signal group is not valid."},
    {INVALID_RUNTIME_STATE, "HSA_STATUS_ERROR_INVALID_RUNTIME_STATE: The runtime is in a state that does not allow this."},
    {FATAL, "HSA_STATUS_ERROR_FATAL: The queue cannot go on."},
    {INVALID_MEMORY_POOL, "HSA_STATUS_ERROR_INVALID_MEMORY_POOL: The memory pool is not valid."},
    {MEMORY_APERTURE_VIOLATION, "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: A kernel left a memory aperture."},
    {ILLEGAL_INSTRUCTION, "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION: A kernel executed an illegal instruction."},
    {MEMORY_FAULT, "HSA_STATUS_ERROR_MEMORY_FAULT: A kernel accessed memory that it may not access."},
    {CU_MASK_REDUCED, "HSA_STATUS_CU_MASK_REDUCED: The mask names compute units that are not there."},
    {OUT_OF_REGISTERS, "HSA_STATUS_ERROR_OUT_OF_REGISTERS: A kernel needs more registers than there are."},
    {RESOURCE_BUSY, "HSA_STATUS_ERROR_RESOURCE_BUSY: The resource is in use."},
    {NOT_SUPPORTED, "HSA_STATUS_ERROR_NOT_SUPPORTED: This is not supported."},
};

EXPORT status_t hsa_status_string(status_t status, const char **text) {
  EXPECT(text != NULL, INVALID_ARGUMENT);
  for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
    if (TEXTS[i].status != status) continue;
    *text = TEXTS[i].text;
    return SUCCESS;
  }
  return INVALID_ARGUMENT;
}
