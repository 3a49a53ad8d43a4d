/* Work for a GPU by OpenMP: a loop with a sum, on the GPU alone. */
#include <omp.h>
#include <stdio.h>

enum { COUNT = 10000 };

int main(void) {
  static int in[COUNT], out[COUNT];
  for (int i = 0; i < COUNT; i++) in[i] = i;
  long sum = 0;
  int is_host = 1, wrong = 0;
#pragma omp target map(from : is_host)
  is_host = omp_is_initial_device();
#pragma omp target teams distribute parallel for map(to : in) map(from : out) map(tofrom : sum) reduction(+ : sum)
  for (int i = 0; i < COUNT; i++) {
    out[i] = 2 * in[i];
    sum += out[i];
  }
  for (int i = 0; i < COUNT; i++) wrong += out[i] != 2 * i;
  printf("%d GPUs, on the host %d, sum %ld, %d wrong\n", omp_get_num_devices(), is_host, sum, wrong);
  return 0;
}
