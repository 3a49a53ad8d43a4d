/** How clang makes a program for a GPU out of a source and a runtime that is LLVM IR. */
import { isPtxProcessor } from '../../src/devices/emulated/ptx/processors.ts';

export type Level = 'O0' | 'O1' | 'O2' | 'O3' | 'Os';

export interface Parts {
  readonly source: string;
  /** LLVM IR, start-up code first. */
  readonly runtime: readonly string[];
  readonly image: string;
}

export interface BuildTarget {
  /** For each command. */
  readonly flags: readonly string[];
  /** What makes LLVM IR of a source. */
  readonly toIr: readonly string[];
  /** Arguments of commands in their order; what they leave besides the image lies beside it. */
  build(parts: Parts, level: Level): string[][];
}

/** Optimises again when it links. */
const amdgpu = (processor: string): BuildTarget => ({
  flags: ['--target=amdgcn-amd-amdhsa', `-mcpu=${processor}`, '-mcode-object-version=5', '-flto'],
  toIr: ['-c'],
  build: ({ source, runtime, image }, level) => {
    const object = `${image}.o`;
    const link = [`-Wl,--lto-${level === 'Os' ? 'O2' : level}`, '-Wl,-mllvm,-amdgpu-lower-global-ctor-dtor=0'];
    return [
      ['-c', source, '-o', object],
      [object, ...runtime, ...link, '-o', image],
    ];
  },
});

/** PTX has no linker: clang takes the start-up code and what is needed of the rest into the text. */
const nvptx = (processor: string): BuildTarget => ({
  flags: [
    ...['--target=nvptx64-nvidia-cuda', `-march=${processor}`, '--cuda-path=/nonexistent'],
    ...['-Xclang', '-target-feature', '-Xclang', '+ptx63'],
  ],
  toIr: ['-emit-llvm', '-c'],
  build: ({ source, runtime: [start, ...library], image }) => {
    const whole = ['-Xclang', '-mlink-bitcode-file', '-Xclang', start!];
    const needed = library.flatMap((file) => ['-Xclang', '-mlink-builtin-bitcode', '-Xclang', file]);
    return [[...whole, ...needed, '-S', source, '-o', image]];
  },
});

/** For `gfx90a` or `sm_70`. */
export const buildTarget = (processor: string): BuildTarget =>
  isPtxProcessor(processor) ? nvptx(processor) : amdgpu(processor);
