/* The kernels of examples, from the same source, on the first OpenCL device; opencl/gpu.clh stands in for gpu.clh. */
#define CL_TARGET_OPENCL_VERSION 120
#include "baseline.h"

#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static const struct plan *current;
static cl_context context;
static cl_command_queue queue;
static cl_device_id device;
static cl_program program;
static cl_kernel *kernels;
static int kernel_count;
static cl_mem buffers[MAX_BUFFERS];

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
  snprintf(path, sizeof path, ROOT_FOLDER "/%s", name);
  FILE *file = fopen(path, "rb");
  if (file == NULL) return NULL;
  static char text[1 << 16];
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  return text;
}

static void close_plan(void) {
  for (int i = 0; i < MAX_BUFFERS; i++) {
    if (buffers[i] != NULL) clReleaseMemObject(buffers[i]);
    buffers[i] = NULL;
  }
  for (int i = 0; i < kernel_count; i++) clReleaseKernel(kernels[i]);
  free(kernels);
  kernels = NULL;
  kernel_count = 0;
  if (program != NULL) clReleaseProgram(program);
  program = NULL;
}

/* Each launch has a kernel object of its own, which keeps its arguments. */
static void prepare_launch(const struct launch *launch, cl_kernel *kernel) {
  cl_int status;
  *kernel = clCreateKernel(program, launch->kernel, &status);
  check(status, "kernel");
  for (int i = 0; i < launch->argument_count; i++) {
    const struct argument *argument = &launch->arguments[i];
    if (argument->buffer == NULL)
      check(clSetKernelArg(*kernel, (cl_uint)i, argument->size, argument->bytes), "argument");
    else
      check(clSetKernelArg(*kernel, (cl_uint)i, sizeof(cl_mem), &buffers[argument->index]), "argument");
  }
}

const char *baseline_prepare(const struct plan *plan) {
  if (context == NULL) open_device();
  const char *source = read_source(plan->source);
  if (source == NULL) return "no source";
  close_plan();
  cl_int status;
  program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
  check(status, "program");
  if (clBuildProgram(program, 1, &device, "-cl-std=CL2.0 -I " STAND_IN_FOLDER, NULL, NULL) != CL_SUCCESS)
    return "does not compile";
  for (int i = 0; i < plan->buffer_count; i++) {
    const struct buffer *buffer = &plan->buffers[i];
    buffers[i] = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, buffer->size, buffer->data, &status);
    check(status, "buffer");
  }
  kernels = calloc((size_t)plan->launch_count, sizeof *kernels);
  kernel_count = plan->launch_count;
  for (int i = 0; i < kernel_count; i++) prepare_launch(&plan->launches[i], &kernels[i]);
  current = plan;
  return NULL;
}

void baseline_restore(int buffer) {
  const struct buffer *own = &current->buffers[buffer];
  check(clEnqueueWriteBuffer(queue, buffers[buffer], CL_TRUE, 0, own->size, own->contents, 0, NULL, NULL), "write");
}

void baseline_run(void) {
  for (int i = 0; i < kernel_count; i++) {
    const struct launch *launch = &current->launches[i];
    check(clEnqueueNDRangeKernel(queue, kernels[i], (cl_uint)launch->dimensions, NULL, launch->grid, launch->workgroup, 0,
                                 NULL, NULL),
          "launch");
  }
  check(clFinish(queue), "finish");
}

void baseline_read(int buffer) {
  const struct buffer *own = &current->buffers[buffer];
  check(clEnqueueReadBuffer(queue, buffers[buffer], CL_TRUE, 0, own->size, own->data, 0, NULL, NULL), "read");
}
