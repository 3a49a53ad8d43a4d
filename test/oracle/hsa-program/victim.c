/* What a program does with the runtime, until something is refused: for device processes that are not what they should be. */
#include <stdio.h>
#include <stdlib.h>

#include "hsa-abi.h"

status_t hsa_init(void);
status_t hsa_shut_down(void);
status_t hsa_iterate_agents(handle_callback_t, void *);
status_t hsa_agent_get_info(uint64_t, uint32_t, void *);
status_t hsa_amd_agent_iterate_memory_pools(uint64_t, handle_callback_t, void *);
status_t hsa_amd_memory_pool_get_info(uint64_t, uint32_t, void *);
status_t hsa_amd_memory_pool_allocate(uint64_t, size_t, uint32_t, void **);
status_t hsa_amd_memory_pool_free(void *);
status_t hsa_signal_create(int64_t, uint32_t, const uint64_t *, uint64_t *);
status_t hsa_queue_create(uint64_t, uint32_t, uint32_t, queue_callback_t, void *, uint32_t, uint32_t, amd_queue_t **);
status_t hsa_queue_destroy(amd_queue_t *);
status_t hsa_code_object_reader_create_from_memory(const void *, size_t, uint64_t *);
status_t hsa_executable_create_alt(uint32_t, uint32_t, const char *, uint64_t *);
status_t hsa_executable_load_agent_code_object(uint64_t, uint64_t, uint64_t, const char *, uint64_t *);
status_t hsa_executable_freeze(uint64_t, const char *);
status_t hsa_executable_get_symbol_by_name(uint64_t, const char *, const uint64_t *, uint64_t *);
status_t hsa_executable_symbol_get_info(uint64_t, uint32_t, void *);
status_t hsa_executable_destroy(uint64_t);

#define EXPECT_SUCCESS(call) \
  do { \
    status_t status = (call); \
    if (status != SUCCESS) { \
      fprintf(stderr, "victim: status 0x%x of line %d\n", status, __LINE__); \
      exit(3); \
    } \
  } while (0)

static uint64_t gpu, pool;

static status_t take_agent(uint64_t agent, void *data) {
  (void)data;
  char text[64];
  uint32_t kind = 0;
  EXPECT_SUCCESS(hsa_agent_get_info(agent, 0, text));
  EXPECT_SUCCESS(hsa_agent_get_info(agent, 17, &kind));
  if (kind == 1) gpu = agent;
  return SUCCESS;
}

static status_t take_pool(uint64_t each, void *data) {
  (void)data;
  uint32_t segment;
  EXPECT_SUCCESS(hsa_amd_memory_pool_get_info(each, 0, &segment));
  if (segment == 0) pool = each;
  return SUCCESS;
}

int main(int count, char **arguments) {
  static char bytes[1 << 16];
  FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;
  if (file == NULL) return 2;
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  EXPECT_SUCCESS(hsa_init());
  EXPECT_SUCCESS(hsa_iterate_agents(take_agent, NULL));
  EXPECT_SUCCESS(hsa_amd_agent_iterate_memory_pools(gpu, take_pool, NULL));
  void *memory;
  EXPECT_SUCCESS(hsa_amd_memory_pool_allocate(pool, 4096, 0, &memory));
  uint64_t signal, reader, executable, symbol, kernel;
  EXPECT_SUCCESS(hsa_signal_create(1, 0, NULL, &signal));
  amd_queue_t *queue;
  EXPECT_SUCCESS(hsa_queue_create(gpu, 64, 0, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue));
  EXPECT_SUCCESS(hsa_code_object_reader_create_from_memory(bytes, size, &reader));
  EXPECT_SUCCESS(hsa_executable_create_alt(1, 0, NULL, &executable));
  EXPECT_SUCCESS(hsa_executable_load_agent_code_object(executable, gpu, reader, NULL, NULL));
  EXPECT_SUCCESS(hsa_executable_freeze(executable, NULL));
  EXPECT_SUCCESS(hsa_executable_get_symbol_by_name(executable, "store.kd", &gpu, &symbol));
  EXPECT_SUCCESS(hsa_executable_symbol_get_info(symbol, 22, &kernel));
  EXPECT_SUCCESS(hsa_executable_destroy(executable));
  EXPECT_SUCCESS(hsa_queue_destroy(queue));
  EXPECT_SUCCESS(hsa_amd_memory_pool_free(memory));
  EXPECT_SUCCESS(hsa_shut_down());
  return 0;
}
