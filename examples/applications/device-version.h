/* What AMD's device libraries ask of the target; the build says it. Other OpenCL devices need none of it. */
constant int __oclc_ISA_version = DEVICE_VERSION;
