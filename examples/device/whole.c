/*
 * The device library in one piece, for GPUs without a linker: `clang -include examples/device/whole.c -S program.c` makes one
 * PTX text of a program and of what it uses of the library.
 */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused-function"
#pragma clang attribute push(__attribute__((internal_linkage)), apply_to = function)
#include "string.c"
#include "stdio.c"
#include "stdlib.c"
#pragma clang attribute pop
#pragma clang diagnostic pop
#include "crt.c"
