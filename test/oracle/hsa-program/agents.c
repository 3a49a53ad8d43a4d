/* Prints the UUIDs of the GPUs that it finds, in their order. */
#include <stdio.h>

#include "hsa-abi.h"

status_t hsa_init(void);
status_t hsa_shut_down(void);
status_t hsa_iterate_agents(handle_callback_t, void *);
status_t hsa_agent_get_info(uint64_t, uint32_t, void *);

enum { AGENT_INFO_DEVICE = 17, AGENT_INFO_UUID = 0xa011 };

static status_t print(uint64_t agent, void *data) {
  uint32_t device;
  char uuid[32] = {0};
  if (hsa_agent_get_info(agent, AGENT_INFO_DEVICE, &device) != SUCCESS || device != 1) return SUCCESS;
  status_t status = hsa_agent_get_info(agent, AGENT_INFO_UUID, uuid);
  printf(" %s", uuid);
  (void)data;
  return status;
}

int main(void) {
  printf("GPUs:");
  if (hsa_init() != SUCCESS || hsa_iterate_agents(print, NULL) != SUCCESS) return 1;
  printf("\n");
  return hsa_shut_down() == SUCCESS ? 0 : 1;
}
