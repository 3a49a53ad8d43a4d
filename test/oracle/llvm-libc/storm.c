/* All work-items allocate, fill, check and free memory of many sizes at once. */
#include <stdint.h>
#include <stdlib.h>

int main(int argc, char **argv, char **envp) {
  (void)argc, (void)argv, (void)envp;
  uint32_t id = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x(), wrong = 0;
  uint32_t *parts[8];
  for (uint32_t i = 0; i < 8; i++) {
    uint32_t words = 4 + (id * 7 + i * 13) % 60;
    parts[i] = malloc(words * sizeof(uint32_t));
    if (!parts[i]) return 1;
    for (uint32_t j = 0; j < words; j++) parts[i][j] = id ^ (i << 24) ^ j;
  }
  for (uint32_t i = 0; i < 8; i++) {
    uint32_t words = 4 + (id * 7 + i * 13) % 60;
    for (uint32_t j = 0; j < words; j++) wrong |= parts[i][j] != (id ^ (i << 24) ^ j);
    free(parts[i]);
  }
  return wrong ? 2 : 0;
}
