#ifndef RUNTIME_H
#define RUNTIME_H

/* Runs the functions of .fini_array, last first, once per program run. */
void run_destructors(void);

#endif
