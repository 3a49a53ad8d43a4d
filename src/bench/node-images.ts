/** The code objects of the benchmark kernels, which are a part of the package. */
import { fileURLToPath } from 'node:url';
import { WavewrightError } from '../base/errors.ts';
import type { KernelImage } from './kernel-runner.ts';

const { readFileSync } = process.getBuiltinModule('node:fs');

/** From here the package's folder is two up, in a checkout and in what is published. */
export const packageFile = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** Throws IO. */
export function readKernelImage(name: string, processor: string): KernelImage {
  const file = `examples/kernels/${name}.${processor}.co`;
  try {
    return { name: file, bytes: readFileSync(packageFile(file)) };
  } catch (cause) {
    throw new WavewrightError('IO', 'cannot be read', { file, cause });
  }
}
