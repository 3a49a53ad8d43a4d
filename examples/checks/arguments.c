/* arguments [ARGUMENT...]: prints its arguments, whether their list ends with NULL, and one environment variable. */
#include <stdio.h>
#include <string.h>

#include "gpu.h"

int main(int argc, char **argv, char **envp) {
  if (global_id() != 0) return 0;
  for (int i = 1; i < argc; i++) printf("%d: [%s] %d bytes\n", i, argv[i], (int)strlen(argv[i]));
  printf("argv[argc] is %s\n", argv[argc] == NULL ? "null" : "not null");
  for (; *envp != NULL; envp++)
    if (strncmp(*envp, "FRANCE=", 7) == 0) printf("FRANCE is [%s]\n", *envp + 7);
  return argc;
}
