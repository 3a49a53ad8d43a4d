/* The part of math.h that the header of csmith's programs needs; the device runtime of the examples has none. */
#ifndef MATH_H
#define MATH_H

static inline float fabsf(float a) { return __builtin_fabsf(a); }
static inline double fabs(double a) { return __builtin_fabs(a); }

#endif
