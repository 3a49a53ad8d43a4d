/* The kernels of examples/kernels, from the same source, on the first OpenCL device; opencl/gpu.clh stands in for gpu.clh. */
#define CL_TARGET_OPENCL_VERSION 120
#include "baseline.h"

#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static const struct launch *current;
static cl_context context;
static cl_command_queue queue;
static cl_device_id device;
static cl_program program;
static cl_kernel kernel;
static cl_mem buffers[MAX_ARGUMENTS];

static void check(cl_int status, const char *what) {
  if (status == CL_SUCCESS) return;
  fprintf(stderr, "baseline: %s: OpenCL error %d\n", what, status);
  exit(1);
}

static void open_device(void) {
  cl_platform_id platform;
  cl_int status;
  check(clGetPlatformIDs(1, &platform, NULL), "platform");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  check(status, "context");
  queue = clCreateCommandQueue(context, device, 0, &status);
  check(status, "queue");
}

static char *read_source(const char *name) {
  char path[512];
  snprintf(path, sizeof path, KERNELS_FOLDER "/%s.cl", name);
  FILE *file = fopen(path, "rb");
  if (file == NULL) return NULL;
  static char text[1 << 16];
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  return text;
}

const char *baseline_prepare(const struct launch *launch) {
  if (context == NULL) open_device();
  const char *source = read_source(launch->kernel);
  if (source == NULL) return "no source";
  for (int i = 0; current != NULL && i < MAX_ARGUMENTS; i++) {
    if (buffers[i] != NULL) clReleaseMemObject(buffers[i]);
    buffers[i] = NULL;
  }
  if (kernel != NULL) clReleaseKernel(kernel);
  if (program != NULL) clReleaseProgram(program);
  kernel = NULL;
  cl_int status;
  program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
  check(status, "program");
  if (clBuildProgram(program, 1, &device, "-cl-std=CL2.0 -I " STAND_IN_FOLDER, NULL, NULL) != CL_SUCCESS)
    return "does not compile";
  kernel = clCreateKernel(program, launch->kernel, &status);
  check(status, "kernel");
  for (int i = 0; i < launch->argument_count; i++) {
    const struct argument *argument = &launch->arguments[i];
    if (argument->buffer == NULL) {
      check(clSetKernelArg(kernel, (cl_uint)i, sizeof argument->value, &argument->value), "argument");
      continue;
    }
    buffers[i] = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, argument->size, argument->buffer, &status);
    check(status, "buffer");
    check(clSetKernelArg(kernel, (cl_uint)i, sizeof buffers[i], &buffers[i]), "argument");
  }
  current = launch;
  return NULL;
}

void baseline_run(void) {
  check(clEnqueueNDRangeKernel(queue, kernel, (cl_uint)current->dimensions, NULL, current->grid, current->workgroup, 0, NULL,
                               NULL),
        "launch");
  check(clFinish(queue), "finish");
}

void baseline_read(int argument) {
  check(clEnqueueReadBuffer(queue, buffers[argument], CL_TRUE, 0, current->arguments[argument].size,
                            current->arguments[argument].buffer, 0, NULL, NULL),
        "read");
}
