/**
 * PTX, the assembly language of NVIDIA's GPUs: reading and printing it, and running its kernels on a virtual
 * device.
 */
export { createPtxDevice, type PtxDeviceOptions } from './devices/emulated/ptx-device.ts';
export { compilePtx, type PtxImage } from './ptx/compile/module.ts';
export { parsePtx } from './ptx/text/parser.ts';
export { printPtx } from './ptx/text/printer.ts';
export type { PtxModule } from './ptx/text/syntax.ts';
export { PtxExecutable, type PtxKernel, type PtxText } from './ptx-host/ptx-executable.ts';
export { type PtxRunOutcome, type PtxRunRequest, runPtxKernel } from './ptx-host/run-kernel.ts';
