/*
 * Virtual memory and what processes share. `sharing FILE.co` loads the kernel `store` (see program.c), maps memory at addresses that it
 * reserved, and starts itself again as `sharing FILE.co FD SIGNAL MEMORY`, where the two last are handles in hexadecimal digits. Prints
 * what is wrong, and returns whether anything is.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hsa-abi.h"

status_t hsa_init(void);
status_t hsa_shut_down(void);
status_t hsa_system_get_info(uint32_t, void *);
status_t hsa_iterate_agents(handle_callback_t, void *);
status_t hsa_agent_get_info(uint64_t, uint32_t, void *);
status_t hsa_amd_agent_iterate_memory_pools(uint64_t, handle_callback_t, void *);
status_t hsa_amd_memory_pool_get_info(uint64_t, uint32_t, void *);
status_t hsa_amd_memory_pool_allocate(uint64_t, size_t, uint32_t, void **);
status_t hsa_amd_memory_pool_free(void *);
status_t hsa_amd_pointer_info(const void *, pointer_info_t *, void *(*)(size_t), uint32_t *, uint64_t **);
status_t hsa_signal_create(int64_t, uint32_t, const uint64_t *, uint64_t *);
status_t hsa_amd_signal_create(int64_t, uint32_t, const uint64_t *, uint64_t, uint64_t *);
status_t hsa_signal_destroy(uint64_t);
void hsa_signal_store_screlease(uint64_t, int64_t);
int64_t hsa_signal_load_scacquire(uint64_t);
int64_t hsa_signal_wait_scacquire(uint64_t, uint32_t, int64_t, uint64_t, uint32_t);
status_t hsa_amd_signal_async_handler(uint64_t, uint32_t, int64_t, signal_handler_t, void *);
status_t hsa_queue_create(uint64_t, uint32_t, uint32_t, queue_callback_t, void *, uint32_t, uint32_t, amd_queue_t **);
status_t hsa_queue_destroy(amd_queue_t *);
uint64_t hsa_queue_add_write_index_relaxed(amd_queue_t *, uint64_t);
status_t hsa_code_object_reader_create_from_memory(const void *, size_t, uint64_t *);
status_t hsa_executable_create_alt(uint32_t, uint32_t, const char *, uint64_t *);
status_t hsa_executable_load_agent_code_object(uint64_t, uint64_t, uint64_t, const char *, uint64_t *);
status_t hsa_executable_freeze(uint64_t, const char *);
status_t hsa_executable_get_symbol_by_name(uint64_t, const char *, const uint64_t *, uint64_t *);
status_t hsa_executable_symbol_get_info(uint64_t, uint32_t, void *);
status_t hsa_amd_register_system_event_handler(event_callback_t, void *);
status_t hsa_amd_vmem_address_reserve(void **, size_t, uint64_t, uint64_t);
status_t hsa_amd_vmem_address_reserve_align(void **, size_t, uint64_t, uint64_t, uint64_t);
status_t hsa_amd_vmem_address_free(void *, size_t);
status_t hsa_amd_vmem_handle_create(uint64_t, size_t, uint32_t, uint64_t, uint64_t *);
status_t hsa_amd_vmem_handle_release(uint64_t);
status_t hsa_amd_vmem_map(void *, size_t, size_t, uint64_t, uint64_t);
status_t hsa_amd_vmem_unmap(void *, size_t);
status_t hsa_amd_vmem_set_access(void *, size_t, const access_t *, size_t);
status_t hsa_amd_vmem_get_access(void *, uint32_t *, uint64_t);
status_t hsa_amd_vmem_export_shareable_handle(int *, uint64_t, uint64_t);
status_t hsa_amd_vmem_import_shareable_handle(int, uint64_t *);
status_t hsa_amd_vmem_retain_alloc_handle(uint64_t *, void *);
status_t hsa_amd_vmem_get_alloc_properties_from_handle(uint64_t, uint64_t *, uint32_t *);
status_t hsa_amd_ipc_memory_create(void *, size_t, ipc_handle_t *);
status_t hsa_amd_ipc_memory_attach(const ipc_handle_t *, size_t, uint32_t, const uint64_t *, void **);
status_t hsa_amd_ipc_memory_detach(void *);
status_t hsa_amd_ipc_signal_create(uint64_t, ipc_handle_t *);
status_t hsa_amd_ipc_signal_attach(const ipc_handle_t *, uint64_t *);

static int wrong;
#define EXPECT(condition) \
  do { \
    if (!(condition)) { \
      printf("%d: not %s\n", __LINE__, #condition); \
      wrong++; \
    } \
  } while (0)
#define FOREVER UINT64_MAX
enum { PAGE = 4096, PIECE = 65536, SHARED_BYTES = 10000, SIGNAL_IPC = 2 };
enum { NO_ACCESS, READ_ONLY, WRITE_ONLY, READ_WRITE };

static struct {
  uint64_t cpu, gpu, vram, group, fine, kernel;
  amd_queue_t *queue;
} found;

static status_t take_agent(uint64_t agent, void *data) {
  (void)data;
  uint32_t kind = 9;
  EXPECT(hsa_agent_get_info(agent, 17, &kind) == SUCCESS);
  if (kind == 0) found.cpu = agent;
  else found.gpu = agent;
  return SUCCESS;
}

static status_t take_pool(uint64_t pool, void *data) {
  (void)data;
  uint32_t segment = 9;
  EXPECT(hsa_amd_memory_pool_get_info(pool, 0, &segment) == SUCCESS);
  if (segment == 0) found.vram = pool;
  else found.group = pool;
  return SUCCESS;
}

static status_t take_fine(uint64_t pool, void *data) {
  (void)data;
  found.fine = pool;
  return INFO_BREAK;
}

static _Atomic uint64_t fault_address;

static status_t take_event(const event_t *event, void *data) {
  (void)data;
  fault_address = event->virtual_address;
  return SUCCESS;
}

static void ignore_stop(status_t status, amd_queue_t *queue, void *data) {
  (void)status, (void)queue, (void)data;
}

static void begin(const char *path) {
  static char bytes[1 << 20];
  FILE *file = fopen(path, "rb");
  size_t size = file == NULL ? 0 : fread(bytes, 1, sizeof bytes, file);
  if (file != NULL) fclose(file);
  uint64_t reader, executable, symbol;
  EXPECT(hsa_init() == SUCCESS && hsa_iterate_agents(take_agent, NULL) == SUCCESS);
  EXPECT(hsa_amd_agent_iterate_memory_pools(found.gpu, take_pool, NULL) == SUCCESS);
  EXPECT(hsa_amd_agent_iterate_memory_pools(found.cpu, take_fine, NULL) == INFO_BREAK);
  EXPECT(hsa_code_object_reader_create_from_memory(bytes, size, &reader) == SUCCESS);
  EXPECT(hsa_executable_create_alt(1, 0, NULL, &executable) == SUCCESS);
  EXPECT(hsa_executable_load_agent_code_object(executable, found.gpu, reader, NULL, NULL) == SUCCESS);
  EXPECT(hsa_executable_freeze(executable, NULL) == SUCCESS);
  EXPECT(hsa_executable_get_symbol_by_name(executable, "store.kd", &found.gpu, &symbol) == SUCCESS);
  EXPECT(hsa_executable_symbol_get_info(symbol, 22, &found.kernel) == SUCCESS);
  EXPECT(hsa_amd_register_system_event_handler(take_event, NULL) == SUCCESS);
}

static void new_queue(void) {
  EXPECT(hsa_queue_create(found.gpu, 64, 0, ignore_stop, NULL, UINT32_MAX, UINT32_MAX, &found.queue) == SUCCESS);
}

typedef struct {
  uint16_t header, setup, workgroup[3], reserved;
  uint32_t grid[3], private_bytes, group_bytes;
  uint64_t kernel, kernarg, reserved2, completion;
} packet_t;

static void launch(uint32_t *out, uint32_t value, uint32_t work_items, uint64_t completion) {
  char *kernarg = NULL;
  EXPECT(hsa_amd_memory_pool_allocate(found.fine, 64, 0, (void **)&kernarg) == SUCCESS);
  memcpy(kernarg, &out, sizeof out);
  memcpy(kernarg + 8, &value, sizeof value);
  uint64_t index = hsa_queue_add_write_index_relaxed(found.queue, 1);
  packet_t *packet = (packet_t *)(uintptr_t)found.queue->base_address + index % found.queue->size_packets;
  packet_t wanted = {1, 3, {64, 1, 1}, 0, {work_items, 1, 1}, 0, 0, found.kernel, (uintptr_t)kernarg, 0, completion};
  memcpy((char *)packet + 4, (char *)&wanted + 4, sizeof wanted - 4);
  __atomic_store_n((uint32_t *)packet, 0x00031502u, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(found.queue->doorbell_signal, (int64_t)index);
}

/* A kernel that ends well stores `value` and what follows. */
static bool stores(void *out, uint32_t value) {
  uint64_t done;
  EXPECT(hsa_signal_create(1, 0, NULL, &done) == SUCCESS);
  launch(out, value, 64, done);
  EXPECT(hsa_signal_wait_scacquire(done, CONDITION_LT, 1, FOREVER, WAIT_BLOCKED) == 0);
  EXPECT(hsa_signal_destroy(done) == SUCCESS);
  return ((uint32_t *)out)[0] == value && ((uint32_t *)out)[63] == value + 63;
}

/* A kernel faults there; the queue is of no use then. */
static bool faults(void *out) {
  fault_address = 0;
  launch(out, 1, 64, 0);
  for (int i = 0; i < 60000 && fault_address == 0; i++) usleep(1000);
  EXPECT(hsa_queue_destroy(found.queue) == SUCCESS);
  new_queue();
  return fault_address == (uintptr_t)out;
}

static void use_virtual_memory(void) {
  bool is_supported = false;
  char *base = NULL, *aligned = NULL;
  uint64_t handle = 0, other = 0, retained = 0, pool = 0;
  uint32_t type = 9, permissions = 9;
  pointer_info_t info = {.size = sizeof info};
  EXPECT(hsa_system_get_info(0x205, &is_supported) == SUCCESS && is_supported);
  EXPECT(hsa_amd_vmem_address_reserve((void **)&base, 0, 0, 0) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_vmem_address_reserve((void **)&base, (size_t)1 << 40, 0, 0) == OUT_OF_RESOURCES);
  EXPECT(hsa_amd_vmem_address_reserve((void **)&base, 4 * PIECE, 0, 0) == SUCCESS);
  EXPECT(hsa_amd_vmem_address_reserve_align((void **)&aligned, PIECE, 0, 3, 0) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_vmem_address_reserve_align((void **)&aligned, PIECE, 0, 1 << 24, 0) == SUCCESS && (uintptr_t)aligned % (1 << 24) == 0);
  EXPECT(hsa_amd_pointer_info(base + PIECE, &info, NULL, NULL, NULL) == SUCCESS && info.type == POINTER_RESERVED);
  EXPECT(info.agent_base == (uintptr_t)base && info.size_bytes == 4 * PIECE);
  EXPECT(hsa_amd_memory_pool_free(base) == INVALID_ALLOCATION);
  EXPECT(hsa_amd_vmem_handle_create(found.vram, PIECE + 1, 0, 0, &handle) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_vmem_handle_create(found.vram, PIECE, 2, 0, &handle) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_vmem_handle_create(1, PIECE, 0, 0, &handle) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_vmem_handle_create(found.group, PIECE, 0, 0, &handle) == INVALID_ALLOCATION);
  EXPECT(hsa_amd_vmem_handle_create(found.vram, (size_t)1 << 40, 0, 0, &handle) == OUT_OF_RESOURCES);
  EXPECT(hsa_amd_vmem_handle_create(found.vram, 2 * PIECE, 1, 0, &handle) == SUCCESS);
  EXPECT(hsa_amd_vmem_get_alloc_properties_from_handle(handle, &pool, &type) == SUCCESS && pool == found.vram && type == 1);
  EXPECT(hsa_amd_vmem_get_alloc_properties_from_handle(handle + 1, &pool, &type) == INVALID_ALLOCATION);
  EXPECT(faults(base));
  EXPECT(hsa_amd_vmem_map(base + 3 * PIECE, 2 * PIECE, 0, handle, 0) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_vmem_map(base, 3 * PIECE, 0, handle, 0) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_vmem_map(base + 1, PIECE, 0, handle, 0) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_vmem_map(base, 2 * PIECE, 0, handle + 1, 0) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_vmem_map(base, 2 * PIECE, 0, handle, 0) == SUCCESS);
  EXPECT(hsa_amd_vmem_map(base + PIECE, PIECE, 0, handle, 0) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_vmem_get_access(base, &permissions, found.gpu) == SUCCESS && permissions == NO_ACCESS);
  EXPECT(hsa_amd_vmem_get_access(base, &permissions, found.cpu) == INVALID_AGENT);
  EXPECT(hsa_amd_vmem_get_access(base + 3 * PIECE, &permissions, found.gpu) == INVALID_ALLOCATION);
  base[0] = 5;
  EXPECT(faults(base));
  access_t all[] = {{READ_WRITE, found.gpu}, {READ_WRITE, found.cpu}}, reads = {READ_ONLY, found.gpu}, bad = {READ_WRITE, 1};
  EXPECT(hsa_amd_vmem_set_access(base, 2 * PIECE, &bad, 1) == INVALID_AGENT);
  EXPECT(hsa_amd_vmem_set_access(base, 3 * PIECE, all, 2) == INVALID_ALLOCATION);
  EXPECT(hsa_amd_vmem_set_access(base, PIECE, all, 2) == INVALID_ALLOCATION);
  EXPECT(hsa_amd_vmem_set_access(base, 5 * PIECE, all, 2) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_vmem_set_access(base, 2 * PIECE, all, 2) == SUCCESS);
  EXPECT(hsa_amd_vmem_get_access(base + PIECE, &permissions, found.gpu) == SUCCESS && permissions == READ_WRITE);
  EXPECT(stores(base + PIECE, 11));
  /* The same memory once more, from its second half on; and what lies behind is none. */
  EXPECT(hsa_amd_vmem_map(aligned, PIECE, PIECE, handle, 0) == SUCCESS && hsa_amd_vmem_set_access(aligned, PIECE, all, 1) == SUCCESS);
  EXPECT(((uint32_t *)aligned)[63] == 11 + 63 && stores(aligned, 70) && ((uint32_t *)(base + PIECE))[0] == 70);
  EXPECT(faults(base + 2 * PIECE));
  EXPECT(hsa_amd_vmem_set_access(aligned, PIECE, &reads, 1) == SUCCESS && faults(aligned) && stores(base + PIECE, 12));
  /* It lives without its handle while it is mapped, and gets one again. */
  EXPECT(hsa_amd_vmem_retain_alloc_handle(&retained, base + PIECE) == INVALID_ALLOCATION);
  EXPECT(hsa_amd_vmem_retain_alloc_handle(&retained, base) == SUCCESS && retained == handle);
  EXPECT(hsa_amd_vmem_handle_release(handle) == SUCCESS && hsa_amd_vmem_handle_release(handle) == SUCCESS);
  EXPECT(hsa_amd_vmem_handle_release(handle) == INVALID_ALLOCATION);
  EXPECT(hsa_amd_vmem_unmap(base, PIECE) == INVALID_ALLOCATION && hsa_amd_vmem_unmap(base, 2 * PIECE) == SUCCESS);
  EXPECT(faults(base + PIECE) && ((uint32_t *)aligned)[0] == 12);
  EXPECT(hsa_amd_vmem_retain_alloc_handle(&retained, aligned) == SUCCESS);
  /* Two memories side by side: access and unmapping go over both. */
  EXPECT(hsa_amd_vmem_handle_create(found.vram, PIECE, 0, 0, &other) == SUCCESS);
  EXPECT(hsa_amd_vmem_map(base, PIECE, PIECE, retained, 0) == SUCCESS && hsa_amd_vmem_map(base + PIECE, PIECE, 0, other, 0) == SUCCESS);
  EXPECT(hsa_amd_vmem_set_access(base, 2 * PIECE, all, 2) == SUCCESS && ((uint32_t *)base)[0] == 12);
  EXPECT(stores(base + PIECE - 128, 30) && ((uint32_t *)(base + PIECE))[31] == 30 + 63);
  EXPECT(hsa_amd_vmem_address_free(base, 4 * PIECE) == RESOURCE_FREE);
  EXPECT(hsa_amd_vmem_unmap(base, 2 * PIECE) == SUCCESS && hsa_amd_vmem_unmap(aligned, PIECE) == SUCCESS);
  EXPECT(hsa_amd_vmem_handle_release(other) == SUCCESS && hsa_amd_vmem_handle_release(retained) == SUCCESS);
  EXPECT(hsa_amd_vmem_address_free(base, PIECE) == INVALID_ARGUMENT && hsa_amd_vmem_address_free(base + PAGE, PIECE) == INVALID_ALLOCATION);
  EXPECT(hsa_amd_vmem_address_free(base, 4 * PIECE) == SUCCESS && hsa_amd_vmem_address_free(base, 4 * PIECE) == INVALID_ALLOCATION);
  EXPECT(hsa_amd_vmem_address_free(aligned, PIECE) == SUCCESS && faults(base));
  EXPECT(hsa_amd_vmem_import_shareable_handle(0, &other) == INCOMPATIBLE_ARGUMENTS);
  EXPECT(hsa_amd_vmem_import_shareable_handle(-1, &other) == INVALID_ARGUMENT);
}

static void to_text(const ipc_handle_t *handle, char *text) {
  for (int i = 0; i < 4; i++) sprintf(text + 16 * i, "%016llx", (unsigned long long)handle->words[i]);
}

static ipc_handle_t from_text(const char *text) {
  ipc_handle_t handle;
  for (int i = 0; i < 4; i++) {
    char word[17] = {0};
    memcpy(word, text + 16 * i, 16);
    handle.words[i] = strtoull(word, NULL, 16);
  }
  return handle;
}

static _Atomic int handled;

static bool count_handler(int64_t value, void *data) {
  (void)data;
  EXPECT(value == 3);
  handled++;
  return false;
}

static uint64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* What the first process does while the second one runs: see `second`. */
static void first(char *program, char *path) {
  uint32_t *memory = NULL, *own = NULL;
  uint64_t turn = 0, plain = 0, handle = 0;
  int file = -1;
  ipc_handle_t shared, signal, none = {{1, 2, 3, 4}};
  EXPECT(hsa_amd_memory_pool_allocate(found.vram, SHARED_BYTES, 0, (void **)&memory) == SUCCESS);
  EXPECT(hsa_amd_ipc_memory_create(memory, 100, &shared) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_ipc_memory_create(memory + 1, SHARED_BYTES, &shared) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_ipc_memory_create(memory, SHARED_BYTES, &shared) == SUCCESS);
  EXPECT(hsa_amd_ipc_memory_attach(&none, SHARED_BYTES, 0, NULL, (void **)&own) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_ipc_memory_attach(&shared, 100, 0, NULL, (void **)&own) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_ipc_memory_attach(&shared, SHARED_BYTES, 1, &turn, (void **)&own) == INVALID_AGENT);
  EXPECT(hsa_amd_ipc_memory_detach(memory) == INVALID_ARGUMENT);
  EXPECT(hsa_signal_create(1, 0, NULL, &plain) == SUCCESS && hsa_amd_ipc_signal_create(plain, &signal) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_ipc_signal_create(7, &signal) == INVALID_SIGNAL);
  EXPECT(hsa_amd_signal_create(1, 0, NULL, SIGNAL_IPC, &turn) == SUCCESS && hsa_amd_ipc_signal_create(turn, &signal) == SUCCESS);
  EXPECT(hsa_amd_ipc_signal_attach(&shared, &plain) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_ipc_signal_attach(&none, &plain) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_vmem_export_shareable_handle(&file, 99, 0) == INVALID_ALLOCATION && file == -1);
  EXPECT(hsa_amd_vmem_handle_create(found.vram, PIECE, 0, 0, &handle) == SUCCESS);
  EXPECT(hsa_amd_vmem_export_shareable_handle(&file, handle, 0) == SUCCESS && file >= 0 && fcntl(file, F_SETFD, 0) == 0);
  /* Nobody has the memory but the file. */
  EXPECT(hsa_amd_vmem_handle_release(handle) == SUCCESS);
  EXPECT(stores(memory, 100));
  char number[16], signal_text[65] = {0}, memory_text[65] = {0};
  sprintf(number, "%d", file);
  to_text(&signal, signal_text);
  to_text(&shared, memory_text);
  pid_t child = fork();
  if (child == 0) {
    char *arguments[] = {program, path, number, signal_text, memory_text, NULL};
    execv(program, arguments);
    _exit(9);
  }
  /* Its kernel stores 200, and completes the signal. */
  EXPECT(hsa_signal_wait_scacquire(turn, CONDITION_LT, 1, FOREVER, WAIT_BLOCKED) == 0);
  EXPECT(memory[0] == 200 && memory[63] == 263);
  EXPECT(stores(memory, 300));
  /* It lives on in the other process. */
  EXPECT(hsa_amd_memory_pool_free(memory) == SUCCESS && hsa_amd_memory_pool_free(memory) == INVALID_ALLOCATION);
  EXPECT(hsa_amd_signal_async_handler(turn, CONDITION_EQ, 3, count_handler, NULL) == SUCCESS);
  hsa_signal_store_screlease(turn, 2);
  for (int i = 0; i < 60000 && handled == 0; i++) usleep(1000);
  EXPECT(handled == 1);
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT(status == 0);
  EXPECT(hsa_signal_destroy(turn) == SUCCESS);
  /* Nobody shares what the other process shared. */
  EXPECT(hsa_amd_ipc_memory_attach(&shared, SHARED_BYTES, 0, NULL, (void **)&own) == INVALID_ARGUMENT);
  uint64_t imported = 0;
  EXPECT(hsa_amd_vmem_import_shareable_handle(file, &imported) == SUCCESS && imported != 0);
  char *base = NULL;
  EXPECT(hsa_amd_vmem_address_reserve((void **)&base, PIECE, 0, 0) == SUCCESS && hsa_amd_vmem_map(base, PIECE, 0, imported, 0) == SUCCESS);
  EXPECT(strcmp(base, "from the second process") == 0);
  close(file);
}

static void second(int file, const ipc_handle_t *signal, const ipc_handle_t *shared) {
  uint32_t *memory = NULL, *again = NULL;
  uint64_t turn = 0, imported = 0, once_more = 0;
  char *base = NULL;
  pointer_info_t info = {.size = sizeof info};
  EXPECT(hsa_amd_ipc_signal_attach(signal, &turn) == SUCCESS && hsa_signal_load_scacquire(turn) == 1);
  EXPECT(hsa_amd_ipc_memory_attach(shared, SHARED_BYTES, 1, &found.gpu, (void **)&memory) == SUCCESS);
  EXPECT(hsa_amd_ipc_memory_attach(shared, (SHARED_BYTES + PAGE - 1) / PAGE * PAGE, 0, NULL, (void **)&again) == SUCCESS);
  EXPECT(memory[0] == 100 && again[63] == 163);
  EXPECT(hsa_amd_pointer_info(memory, &info, NULL, NULL, NULL) == SUCCESS && info.type == POINTER_IPC && info.owner == found.gpu);
  EXPECT(hsa_amd_memory_pool_free(memory) == INVALID_ALLOCATION);
  EXPECT(hsa_amd_ipc_memory_detach(again) == SUCCESS && hsa_amd_ipc_memory_detach(again) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_vmem_import_shareable_handle(file, &imported) == SUCCESS);
  EXPECT(hsa_amd_vmem_import_shareable_handle(file, &once_more) == SUCCESS && imported == once_more);
  EXPECT(hsa_amd_vmem_address_reserve((void **)&base, PIECE, 0, 0) == SUCCESS && hsa_amd_vmem_map(base, PIECE, 0, imported, 0) == SUCCESS);
  strcpy(base, "from the second process");
  launch(memory, 200, 64, turn);
  uint64_t begin = now_ms();
  EXPECT(hsa_signal_wait_scacquire(turn, CONDITION_EQ, 2, FOREVER, WAIT_BLOCKED) == 2 && now_ms() - begin < 5000);
  EXPECT(memory[0] == 300 && memory[63] == 363 && stores(memory, 400));
  hsa_signal_store_screlease(turn, 3);
  EXPECT(hsa_signal_destroy(turn) == SUCCESS && hsa_amd_ipc_memory_detach(memory) == SUCCESS && faults(memory));
}

int main(int argc, char **argv) {
  if (argc != 2 && argc != 5) return 2;
  begin(argv[1]);
  new_queue();
  if (argc == 2) {
    use_virtual_memory();
    first(argv[0], argv[1]);
    printf("%d wrong\n", wrong);
  } else {
    ipc_handle_t signal = from_text(argv[3]), shared = from_text(argv[4]);
    second(atoi(argv[2]), &signal, &shared);
  }
  EXPECT(hsa_shut_down() == SUCCESS);
  return wrong != 0;
}
