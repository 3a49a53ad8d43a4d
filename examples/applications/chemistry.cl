/*
 * Rates of reactions of a burning gas in each cell: some thousand instructions without a branch. Forward rates by
 * Arrhenius, backward ones by equilibrium, some of them with a third body or a fall-off.
 */
#pragma OPENCL FP_CONTRACT OFF
#define SPECIES 9

#define ARRHENIUS(a, b, e) ((a) * exp((b) * logT - (e) * inverse))
/* Two species become two others. */
#define EXCHANGE(p, q, r, s, a, b, e, k)                                   \
  {                                                                        \
    float forward = ARRHENIUS(a, b, e);                                    \
    float backward = forward / exp((k) * inverse + 0.25f);                 \
    float rate = forward * c[p] * c[q] - backward * c[r] * c[s];           \
    made[p] -= rate;                                                       \
    made[q] -= rate;                                                       \
    made[r] += rate;                                                       \
    made[s] += rate;                                                       \
  }
/* Two species join, with a third one that takes what is left over; at low pressure it limits the rate. */
#define JOIN(p, q, r, a, b, e, low, k)                                     \
  {                                                                        \
    float high = ARRHENIUS(a, b, e);                                       \
    float reduced = (low) * third / high;                                  \
    float logarithm = log(reduced + 1e-20f);                               \
    float shape = exp(-0.5f / (1.0f + logarithm * logarithm));             \
    float forward = high * (reduced / (1.0f + reduced)) * shape;           \
    float backward = forward / exp((k) * inverse - 0.5f);                  \
    float rate = forward * c[p] * c[q] - backward * c[r];                  \
    made[p] -= rate;                                                       \
    made[q] -= rate;                                                       \
    made[r] += rate;                                                       \
  }

kernel void rates(global float *rate, global const float *concentration, global const float *temperature, int cells) {
  int i = (int)get_global_id(0);
  if (i >= cells) return;
  float t = temperature[i];
  float logT = log(t), inverse = 1.0f / t;
  float c[SPECIES], made[SPECIES];
  float third = 0;
  for (int s = 0; s < SPECIES; s++) {
    c[s] = concentration[s * cells + i];
    third += c[s];
    made[s] = 0;
  }
  EXCHANGE(0, 1, 3, 4, 1.5f, 0.0f, 300.0f, 200.0f)
  EXCHANGE(0, 3, 5, 4, 3.25f, 0.625f, 850.0f, 275.0f)
  EXCHANGE(0, 5, 7, 4, 1.75f, 0.375f, 550.0f, 350.0f)
  EXCHANGE(0, 6, 8, 4, 3.5f, 0.125f, 1100.0f, 425.0f)
  EXCHANGE(0, 8, 1, 4, 2.0f, 0.75f, 800.0f, 500.0f)
  EXCHANGE(1, 2, 5, 6, 3.75f, 0.5f, 500.0f, 575.0f)
  EXCHANGE(1, 3, 6, 7, 2.25f, 0.25f, 1050.0f, 650.0f)
  EXCHANGE(1, 4, 7, 8, 4.0f, 0.0f, 750.0f, 250.0f)
  EXCHANGE(1, 5, 8, 0, 2.5f, 0.625f, 450.0f, 325.0f)
  EXCHANGE(1, 8, 2, 3, 4.25f, 0.375f, 1000.0f, 400.0f)
  EXCHANGE(2, 3, 7, 1, 2.75f, 0.125f, 700.0f, 475.0f)
  EXCHANGE(2, 4, 8, 3, 4.5f, 0.75f, 400.0f, 550.0f)
  EXCHANGE(2, 6, 1, 7, 3.0f, 0.5f, 950.0f, 625.0f)
  EXCHANGE(3, 4, 0, 7, 1.5f, 0.25f, 650.0f, 225.0f)
  EXCHANGE(3, 6, 2, 4, 3.25f, 0.0f, 350.0f, 300.0f)
  EXCHANGE(3, 8, 4, 1, 1.75f, 0.625f, 900.0f, 375.0f)
  EXCHANGE(4, 5, 2, 6, 3.5f, 0.375f, 600.0f, 450.0f)
  EXCHANGE(4, 6, 3, 1, 2.0f, 0.125f, 300.0f, 525.0f)
  EXCHANGE(4, 8, 5, 0, 3.75f, 0.75f, 850.0f, 600.0f)
  EXCHANGE(5, 6, 4, 7, 2.25f, 0.5f, 550.0f, 200.0f)
  JOIN(0, 3, 5, 2.0f, 0.0f, 250.0f, 0.75f, 150.0f)
  JOIN(1, 4, 6, 2.5f, 0.0625f, 290.0f, 0.875f, 180.0f)
  JOIN(2, 5, 7, 3.0f, 0.125f, 330.0f, 1.0f, 210.0f)
  JOIN(3, 6, 8, 3.5f, 0.1875f, 370.0f, 1.125f, 240.0f)
  JOIN(4, 7, 0, 4.0f, 0.25f, 410.0f, 1.25f, 270.0f)
  JOIN(5, 8, 1, 4.5f, 0.3125f, 450.0f, 1.375f, 300.0f)
  JOIN(6, 0, 2, 5.0f, 0.375f, 490.0f, 1.5f, 330.0f)
  JOIN(7, 1, 3, 5.5f, 0.4375f, 530.0f, 1.625f, 360.0f)
  for (int s = 0; s < SPECIES; s++) rate[s * cells + i] = made[s];
}
