/* Prints the UUIDs of the GPUs that it finds, in their order, with how many images their kernels may have, where they say so. */
#include <stdio.h>

#include "hsa-abi.h"

status_t hsa_init(void);
status_t hsa_shut_down(void);
status_t hsa_iterate_agents(handle_callback_t, void *);
status_t hsa_agent_get_info(uint64_t, uint32_t, void *);

static status_t print(uint64_t agent, void *data) {
  uint32_t device;
  char uuid[32] = {0};
  if (hsa_agent_get_info(agent, AGENT_INFO_DEVICE, &device) != SUCCESS || device != DEVICE_GPU) return SUCCESS;
  status_t status = hsa_agent_get_info(agent, AGENT_INFO_UUID, uuid);
  printf(" %s", uuid);
  uint32_t images[2] = {9, 9};
  if (hsa_agent_get_info(agent, AGENT_INFO_MAX_IMAGES, images) == SUCCESS) printf(" with %u image%s", images[0], images[1] == 9 ? "" : "?");
  (void)data;
  return status;
}

int main(void) {
  printf("GPUs:");
  if (hsa_init() != SUCCESS || hsa_iterate_agents(print, NULL) != SUCCESS) return 1;
  printf("\n");
  return hsa_shut_down() == SUCCESS ? 0 : 1;
}
