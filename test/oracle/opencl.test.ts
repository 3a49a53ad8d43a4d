/**
 * The kernels of `test/data/opencl`, built by clang as OpenCL C and as C for gfx90a and as C for this machine: every buffer must hold
 * the same afterwards, at every optimisation level.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inParallel } from '../fuzz/differential.ts';
import { Compilers, type Language, LEVELS, type Level } from './opencl/compilers.ts';
import { KernelDevice } from './opencl/device.ts';
import { differences } from './opencl/differences.ts';
import type { Launch } from './opencl/launch.ts';
import { SUBJECTS } from './opencl/launches.ts';

for (const { source, launches } of SUBJECTS) test(source, () => {});
