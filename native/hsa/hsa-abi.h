/*
 * The part of the HSA runtime's binary interface that this library implements: types, numbers and layouts (HSA runtime 1.2,
 * and AMD's extensions). Handles are numbers of 64 bits; a signal's is its address, a queue is its address.
 */
#ifndef WAVEWRIGHT_HSA_ABI_H
#define WAVEWRIGHT_HSA_ABI_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t status_t;

enum {
  SUCCESS = 0,
  INFO_BREAK = 1,
  ERROR = 0x1000,
  INVALID_ARGUMENT = 0x1001,
  INVALID_QUEUE_CREATION = 0x1002,
  INVALID_ALLOCATION = 0x1003,
  INVALID_AGENT = 0x1004,
  INVALID_REGION = 0x1005,
  INVALID_SIGNAL = 0x1006,
  INVALID_QUEUE = 0x1007,
  OUT_OF_RESOURCES = 0x1008,
  INVALID_PACKET_FORMAT = 0x1009,
  RESOURCE_FREE = 0x100a,
  NOT_INITIALIZED = 0x100b,
  REFCOUNT_OVERFLOW = 0x100c,
  INCOMPATIBLE_ARGUMENTS = 0x100d,
  INVALID_INDEX = 0x100e,
  INVALID_ISA = 0x100f,
  INVALID_CODE_OBJECT = 0x1010,
  INVALID_EXECUTABLE = 0x1011,
  FROZEN_EXECUTABLE = 0x1012,
  INVALID_SYMBOL_NAME = 0x1013,
  VARIABLE_ALREADY_DEFINED = 0x1014,
  VARIABLE_UNDEFINED = 0x1015,
  EXCEPTION = 0x1016,
  INVALID_ISA_NAME = 0x1017,
  INVALID_CODE_SYMBOL = 0x1018,
  INVALID_EXECUTABLE_SYMBOL = 0x1019,
  INVALID_FILE = 0x1020,
  INVALID_CODE_OBJECT_READER = 0x1021,
  INVALID_CACHE = 0x1022,
  INVALID_WAVEFRONT = 0x1023,
  INVALID_SIGNAL_GROUP = 0x1024,
  INVALID_RUNTIME_STATE = 0x1025,
  FATAL = 0x1026,
  INVALID_MEMORY_POOL = 40,
  MEMORY_APERTURE_VIOLATION = 41,
  ILLEGAL_INSTRUCTION = 42,
  MEMORY_FAULT = 43,
  CU_MASK_REDUCED = 44,
  OUT_OF_REGISTERS = 45,
  RESOURCE_BUSY = 46,
  NOT_SUPPORTED = 47,
};

/* amd_signal_t. */
typedef struct {
  int64_t kind;
  /* Of a doorbell the address of the word that is rung, else the value. */
  _Atomic int64_t value;
  uint64_t event_mailbox;
  /* `is_shared` is reserved in ROCm's: here it is 1 for signals of several processes. */
  uint32_t event_id, is_shared;
  uint64_t start_ticks, end_ticks;
  uint64_t queue, reserved2;
} amd_signal_t;
_Static_assert(sizeof(amd_signal_t) == 64, "amd_signal_t");

enum { SIGNAL_USER = 1, SIGNAL_DOORBELL = -1 };
enum { CONDITION_EQ, CONDITION_NE, CONDITION_LT, CONDITION_GTE };
enum { WAIT_BLOCKED, WAIT_ACTIVE };

/* The front of amd_queue_t. */
typedef struct {
  uint32_t type, features;
  uint64_t base_address;
  uint64_t doorbell_signal;
  uint32_t size_packets, reserved;
  uint64_t id;
  uint8_t reserved2[16];
  _Atomic uint64_t write_index;
  uint8_t reserved3[64];
  _Atomic uint64_t read_index;
  uint8_t reserved4[44];
  _Atomic uint32_t properties;
  uint64_t reserved5;
  uint64_t inactive_signal;
} amd_queue_t;
_Static_assert(offsetof(amd_queue_t, write_index) == 56, "write_dispatch_id");
_Static_assert(offsetof(amd_queue_t, read_index) == 128, "read_dispatch_id");
_Static_assert(offsetof(amd_queue_t, properties) == 180, "queue_properties");
_Static_assert(offsetof(amd_queue_t, inactive_signal) == 192, "queue_inactive_signal");

enum { QUEUE_PROFILING = 1 << 3 };

/* hsa_amd_pointer_info_t. */
typedef struct {
  uint32_t size, type;
  uint64_t agent_base, host_base;
  uint64_t size_bytes;
  void *user_data;
  uint64_t owner;
  uint32_t global_flags, reserved;
} pointer_info_t;
_Static_assert(sizeof(pointer_info_t) == 56, "hsa_amd_pointer_info_t");

enum { POINTER_UNKNOWN, POINTER_HSA, POINTER_LOCKED, POINTER_IPC = 4, POINTER_RESERVED };

typedef struct {
  void *base;
  size_t pitch, slice;
} pitched_pointer_t;

typedef struct {
  uint32_t x, y, z;
} dim3_t;

typedef struct {
  uint64_t start, end;
} profiling_time_t;

/* hsa_amd_ipc_memory_t, which hsa_amd_ipc_signal_t is, too. */
typedef struct {
  uint64_t words[4];
} ipc_handle_t;

/* hsa_amd_memory_access_desc_t. */
typedef struct {
  uint32_t permissions;
  uint64_t agent;
} access_t;
_Static_assert(sizeof(access_t) == 16, "hsa_amd_memory_access_desc_t");

enum { VMEM_ADDRESS_NO_REGISTER = 1 };

/* hsa_amd_event_t of a memory fault. */
typedef struct {
  uint32_t type, reserved;
  uint64_t agent;
  uint64_t virtual_address;
  uint32_t reason, reserved2;
} event_t;
_Static_assert(sizeof(event_t) == 32, "hsa_amd_event_t");

enum { DEVICE_CPU, DEVICE_GPU };

/* Attributes that this library answers itself, or looks at. */
enum {
  SYSTEM_INFO_TIMESTAMP = 2,
  ISA_INFO_NAME = 1,
  AGENT_INFO_DEVICE = 17,
  AGENT_INFO_EXTENSIONS = 20,
  AGENT_INFO_IMAGES = 0x3000,
  AGENT_INFO_MAX_IMAGES = 0x300a,
  AGENT_INFO_MAX_SAMPLERS = 0x300b,
  AGENT_INFO_COMPUTE_UNIT_COUNT = 0xa002,
  AGENT_INFO_UUID = 0xa011,
  AGENT_INFO_MEMORY_AVAILABLE = 0xa015,
  AGENT_INFO_CLOCK_COUNTERS = 0xa118,
  POOL_INFO_GLOBAL_FLAGS = 1,
  SYMBOL_INFO_NAME_LENGTH = 1,
  SYMBOL_INFO_NAME = 2,
  SYMBOL_INFO_LINKAGE = 5,
  SYMBOL_INFO_AGENT = 20,
  LINKAGE_PROGRAM = 1,
};

typedef status_t (*handle_callback_t)(uint64_t handle, void *data);
typedef bool (*signal_handler_t)(int64_t value, void *arg);
typedef void (*queue_callback_t)(status_t status, amd_queue_t *queue, void *data);
typedef status_t (*event_callback_t)(const event_t *event, void *data);
typedef void (*deallocation_callback_t)(void *pointer, void *user_data);

#define EXPORT __attribute__((visibility("default")))

#endif
