/*
 * ihash(uint *out, int n): n rounds of a dependent integer hash per work-item, from the work-item's number i; out[i] = the hash.
 * Launch: one dimension, any group size; out has one element per work-item. 10 operations per round.
 */
#include "gpu.clh"

kernel void ihash(global uint *out, int n) {
  int i = global_id_x();
  uint h = (uint)i;
#pragma clang loop unroll(disable)
  for (int round = 0; round < n; round++) {
    h += (uint)round;
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h += h << 5;
    h ^= (uint)i;
    h = h << 7 | h >> 25;
  }
  out[i] = h;
}
