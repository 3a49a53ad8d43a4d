/*
 * bitonic(uint *data): sorts each run of 512 elements, ascending, by a bitonic network in LDS.
 * Launch: one dimension, groups of 256, half as many work-items as elements.
 */
#include "gpu.clh"

#define GROUP 256

__attribute__((reqd_work_group_size(GROUP, 1, 1))) kernel void bitonic(global uint *data) {
  local uint run[2 * GROUP];
  int self = local_id_x(), first = group_id_x() * 2 * GROUP;
  run[self] = data[first + self];
  run[self + GROUP] = data[first + self + GROUP];
  for (int size = 2; size <= 2 * GROUP; size *= 2)
    for (int distance = size / 2; distance > 0; distance /= 2) {
      workgroup_barrier();
      int low = 2 * self - (self & (distance - 1)), high = low + distance;
      uint a = run[low], b = run[high];
      if ((a > b) == ((low & size) == 0)) {
        run[low] = b;
        run[high] = a;
      }
    }
  workgroup_barrier();
  data[first + self] = run[self];
  data[first + self + GROUP] = run[self + GROUP];
}
