/* Forces between atoms (Lennard-Jones) over lists of neighbours, up to a distance. */
#pragma OPENCL FP_CONTRACT OFF

kernel void forces(global float4 *force, global const float4 *position, global const int *neighbours, int atoms,
                   int perAtom, float cutoff, float lj1, float lj2) {
  int i = (int)get_global_id(0);
  if (i >= atoms) return;
  float4 own = position[i];
  float4 sum = (float4)(0);
  for (int k = 0; k < perAtom; k++) {
    float4 other = position[neighbours[k * atoms + i]];
    float dx = own.x - other.x, dy = own.y - other.y, dz = own.z - other.z;
    float r2 = dx * dx + dy * dy + dz * dz;
    if (r2 >= cutoff) continue;
    float inverse = 1.0f / r2;
    float r6 = inverse * inverse * inverse;
    float pull = inverse * r6 * (lj1 * r6 - lj2);
    sum.x += dx * pull;
    sum.y += dy * pull;
    sum.z += dz * pull;
  }
  force[i] = sum;
}
