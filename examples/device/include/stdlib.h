#ifndef STDLIB_H
#define STDLIB_H

#include <stddef.h>

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1

/* One conversation per call; the memory comes from the loader and is visible to the whole device. */
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void free(void *memory);

/* End the whole program, not only the calling work-item. */
_Noreturn void exit(int status);
_Noreturn void abort(void);

int atoi(const char *string);
int abs(int value);

#endif
