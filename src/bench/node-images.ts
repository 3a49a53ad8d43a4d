/** The benchmark kernels as code objects and PTX, which are a part of the package, and runners for them. */
import { WavewrightError } from '../base/errors.ts';
import { packageFile } from '../base/node-package-file.ts';
import { isPtxProcessor } from '../devices/emulated/ptx/processors.ts';
import type { EmulatorOptions } from '../emulator/emulator.ts';
import type { ApplicationBenchmark } from './applications/application.ts';
import { type BenchmarkRunner, type KernelImage, KernelRunner } from './kernel-runner.ts';

const { readFileSync } = process.getBuiltinModule('node:fs');

/** Throws IO. */
export function readKernelImage(name: string, processor: string): KernelImage {
  return readImage(`examples/kernels/${name}.${processor}.${isPtxProcessor(processor) ? 'ptx' : 'co'}`);
}

/** Targets that applications are built for. */
export const APPLICATION_TARGETS: readonly string[] = ['gfx90a', 'gfx1100'];

/** Throws IO. */
export const readApplicationImage = ({ name, source = name }: ApplicationBenchmark, processor: string): KernelImage =>
  readImage(`examples/applications/${source}.${processor}.co`);

function readImage(file: string): KernelImage {
  try {
    return { name: file, bytes: readFileSync(packageFile(file)) };
  } catch (cause) {
    throw new WavewrightError('IO', 'cannot be read', { file, cause });
  }
}

/** For code of that processor, on a new device. What reads and compiles PTX is loaded for PTX alone. */
export async function openRunner(options: EmulatorOptions & { readonly processor: string }): Promise<BenchmarkRunner> {
  if (!isPtxProcessor(options.processor)) return new KernelRunner(options);
  const { PtxKernelRunner } = await import('./ptx-kernel-runner.ts');
  return new PtxKernelRunner(options);
}
