/* Made of src/exec/protocol.ts by tools/native.ts, which explains what stands here. */
#ifndef WAVEWRIGHT_PROTOCOL_H
#define WAVEWRIGHT_PROTOCOL_H

#include <stdint.h>

#define SOCKET_VARIABLE "WAVEWRIGHT_EXEC_SOCKET"
#define HIDE_IMAGES_VARIABLE "WAVEWRIGHT_EXEC_HIDE_IMAGES"
enum { PROTOCOL_VERSION = 3, HEAD_BYTES = 8, RECORD_HEAD_BYTES = 24 };
#define MAX_REQUEST_BYTES UINT64_C(268435456)
#define REGION_ATTRIBUTES UINT64_C(4294967296)

enum {
  OP_HELLO = 0,
  OP_WAKE = 1,
  OP_ALLOCATE = 2,
  OP_FREE = 3,
  OP_AGENT_INFO = 4,
  OP_CREATE_QUEUE = 5,
  OP_DESTROY_QUEUE = 6,
  OP_INACTIVATE_QUEUE = 7,
  OP_SET_PRIORITY = 8,
  OP_QUEUE_ERROR = 9,
  OP_CREATE_EXECUTABLE = 10,
  OP_DESTROY_EXECUTABLE = 11,
  OP_LOAD_CODE_OBJECT = 12,
  OP_DEFINE_VARIABLE = 13,
  OP_FREEZE = 14,
  OP_VALIDATE = 15,
  OP_SYMBOLS = 16,
  OP_RESERVE = 17,
  OP_UNRESERVE = 18,
  OP_FREE_ADDRESSES = 19,
  OP_CREATE_MEMORY = 20,
  OP_RELEASE_MEMORY = 21,
  OP_MAP_MEMORY = 22,
  OP_UNMAP_MEMORY = 23,
  OP_SET_ACCESS = 24,
  OP_GET_ACCESS = 25,
  OP_EXPORT_MEMORY = 26,
  OP_IMPORT_MEMORY = 27,
  OP_RETAIN_MEMORY = 28,
  OP_MEMORY_INFO = 29,
  OP_SHARE_MEMORY = 30,
  OP_ATTACH_MEMORY = 31,
  OP_DETACH_MEMORY = 32,
};
enum {
  CONTROL_SLEEPING = 0,
  CONTROL_EPOCH = 1,
  CONTROL_WAITERS = 2,
  CONTROL_COPIES = 4,
  CONTROL_COPIED_BYTES = 6,
  CONTROL_TRACE_RING = 8,
  CONTROL_TRACE_WRITTEN = 10,
  CONTROL_TRACE_READ = 12,
  CONTROL_TRACE_LOST = 14,
};
enum { SIGNAL_CONCERNS = 31, TRACE_RECORDS = 65536 };
typedef struct {
  uint64_t sequence;
  uint64_t begin_ns;
  uint64_t end_ns;
  uint64_t call;
  uint64_t thread;
  uint64_t a;
  uint64_t b;
  uint64_t unused;
} trace_record_t;
enum {
  TRACED_hsa_signal_wait_relaxed = 0,
  TRACED_hsa_signal_wait_scacquire = 1,
  TRACED_doorbell = 2,
  TRACED_copy = 3,
  TRACED_hsa_amd_signal_wait_any = 4,
  TRACED_hsa_amd_signal_wait_all = 5,
  TRACED_hsa_signal_create = 6,
  TRACED_hsa_signal_destroy = 7,
  TRACED_hsa_amd_signal_async_handler = 8,
  TRACED_hsa_queue_create = 9,
  TRACED_hsa_queue_destroy = 10,
  TRACED_hsa_amd_memory_pool_allocate = 11,
  TRACED_hsa_memory_allocate = 12,
  TRACED_hsa_amd_memory_pool_free = 13,
  TRACED_hsa_memory_free = 14,
  TRACED_hsa_memory_copy = 15,
  TRACED_hsa_amd_memory_fill = 16,
  TRACED_hsa_amd_memory_async_copy = 17,
  TRACED_hsa_amd_memory_async_copy_on_engine = 18,
  TRACED_hsa_amd_memory_async_copy_rect = 19,
  TRACED_hsa_amd_memory_lock = 20,
  TRACED_hsa_amd_memory_lock_to_pool = 21,
  TRACED_hsa_amd_memory_unlock = 22,
  TRACED_hsa_executable_create_alt = 23,
  TRACED_hsa_executable_destroy = 24,
  TRACED_hsa_executable_load_agent_code_object = 25,
  TRACED_hsa_executable_freeze = 26,
  TRACED_hsa_executable_get_symbol_by_name = 27,
};
enum {
  SUBJECT_SYSTEM = 4096,
  SUBJECT_AGENT = 8192,
  SUBJECT_ISA = 12288,
  SUBJECT_POOL = 16384,
  SUBJECT_CACHE = 20480,
};
#define LIST_AGENTS UINT64_C(4294901760)
#define LIST_ISAS UINT64_C(4294901761)
#define LIST_POOLS UINT64_C(4294901762)
#define LIST_CACHES UINT64_C(4294901763)
#define LIST_REGIONS UINT64_C(4294901764)
#define LIST_WAVEFRONTS UINT64_C(4294901765)

typedef struct {
  uint64_t version;
  uint64_t window;
} hello_request_t;
typedef struct {
  uint64_t ticks;
  uint64_t system_ns;
  uint64_t ticks_per_second;
} hello_reply_t;
typedef struct {
  uint64_t pool;
  uint64_t size_bytes;
  uint64_t flags;
} allocate_request_t;
typedef struct {
  uint64_t address;
} allocate_reply_t;
typedef struct {
  uint64_t address;
} free_request_t;
typedef struct {
  uint64_t agent;
  uint64_t attribute;
} agent_info_request_t;
typedef struct {
  uint64_t agent;
  uint64_t size_packets;
  uint64_t type;
  uint64_t private_segment_bytes;
  uint64_t group_segment_bytes;
} create_queue_request_t;
typedef struct {
  uint64_t address;
} create_queue_reply_t;
typedef struct {
  uint64_t address;
} destroy_queue_request_t;
typedef struct {
  uint64_t address;
} inactivate_queue_request_t;
typedef struct {
  uint64_t address;
  uint64_t priority;
} set_priority_request_t;
typedef struct {
  uint64_t address;
} queue_error_request_t;
typedef struct {
  uint64_t is_memory_fault;
  uint64_t fault_address;
  uint64_t reason;
} queue_error_reply_t;
typedef struct {
  uint64_t profile;
  uint64_t rounding;
} create_executable_request_t;
typedef struct {
  uint64_t executable;
} create_executable_reply_t;
typedef struct {
  uint64_t executable;
} destroy_executable_request_t;
typedef struct {
  uint64_t executable;
  uint64_t agent;
} load_code_object_request_t;
typedef struct {
  uint64_t load_delta;
  uint64_t load_base;
  uint64_t load_size_bytes;
} load_code_object_reply_t;
typedef struct {
  uint64_t executable;
  uint64_t agent;
  uint64_t address;
} define_variable_request_t;
typedef struct {
  uint64_t executable;
} freeze_request_t;
typedef struct {
  uint64_t executable;
} validate_request_t;
typedef struct {
  uint64_t is_valid;
} validate_reply_t;
typedef struct {
  uint64_t executable;
} symbols_request_t;
typedef struct {
  uint64_t count;
} symbols_reply_t;
typedef struct {
  uint64_t size_bytes;
  uint64_t alignment_bytes;
} reserve_request_t;
typedef struct {
  uint64_t address;
} reserve_reply_t;
typedef struct {
  uint64_t address;
  uint64_t size_bytes;
} unreserve_request_t;
typedef struct {
  uint64_t address;
} free_addresses_request_t;
typedef struct {
  uint64_t pool;
  uint64_t size_bytes;
  uint64_t type;
} create_memory_request_t;
typedef struct {
  uint64_t memory;
} create_memory_reply_t;
typedef struct {
  uint64_t memory;
} release_memory_request_t;
typedef struct {
  uint64_t address;
  uint64_t size_bytes;
  uint64_t offset;
  uint64_t memory;
} map_memory_request_t;
typedef struct {
  uint64_t address;
  uint64_t size_bytes;
} unmap_memory_request_t;
typedef struct {
  uint64_t address;
  uint64_t size_bytes;
} set_access_request_t;
typedef struct {
  uint64_t address;
  uint64_t agent;
} get_access_request_t;
typedef struct {
  uint64_t permissions;
} get_access_reply_t;
typedef struct {
  uint64_t memory;
} export_memory_request_t;
typedef struct {
  uint64_t file;
} import_memory_request_t;
typedef struct {
  uint64_t memory;
} import_memory_reply_t;
typedef struct {
  uint64_t address;
} retain_memory_request_t;
typedef struct {
  uint64_t memory;
} retain_memory_reply_t;
typedef struct {
  uint64_t memory;
} memory_info_request_t;
typedef struct {
  uint64_t pool;
  uint64_t type;
} memory_info_reply_t;
typedef struct {
  uint64_t address;
  uint64_t size_bytes;
} share_memory_request_t;
typedef struct {
  uint64_t first;
  uint64_t second;
  uint64_t third;
  uint64_t fourth;
} share_memory_reply_t;
typedef struct {
  uint64_t first;
  uint64_t second;
  uint64_t third;
  uint64_t fourth;
  uint64_t size_bytes;
} attach_memory_request_t;
typedef struct {
  uint64_t address;
  uint64_t mapped_bytes;
  uint64_t offset;
  uint64_t pool;
} attach_memory_reply_t;
typedef struct {
  uint64_t address;
} detach_memory_request_t;

#endif
