/** Kernels that instrumentation is measured on, each with a launch. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { KernelImage } from '../../src/bench/kernel-runner.ts';
import type { BenchmarkLaunch } from '../../src/bench/kernels/kernel-benchmark.ts';
import { KERNELS } from '../../src/bench/kernels.ts';
import { Compilers } from '../../test/oracle/opencl/compilers.ts';
import { bytesOf, type Launch } from '../../test/oracle/opencl/launch.ts';
import { SUBJECTS } from '../../test/oracle/opencl/launches.ts';

export const PROCESSORS = ['gfx90a', 'gfx942', 'gfx1100'] as const;

export interface Workload {
  readonly name: string;
  readonly processor: string;
  readonly image: KernelImage;
  /** Its name in the image. */
  readonly kernel: string;
  readonly launch: BenchmarkLaunch;
}

const EXAMPLES = path.resolve(import.meta.dirname, '../../examples/kernels');
/** Of `test/data/opencl`. */
const SOURCES = ['algorithms.cl', 'control.cl', 'groups.cl', 'memory.cl'];
/** Few work-items: ratios are those of many. */
const ITEMS = 150;

/** The kernels of `examples/kernels`, which need no compiler. */
export const exampleWorkloads = (processor: string): Workload[] =>
  KERNELS.flatMap(({ name, kernel = name, launch }) => {
    const file = path.join(EXAMPLES, `${name}.${processor}.co`);
    if (!existsSync(file)) return [];
    return {
      name,
      processor,
      kernel,
      image: { name: `${name}.${processor}.co`, bytes: readFileSync(file) },
      launch: launch('small'),
    };
  });

/** Kernels of `test/data/opencl`, built by clang-19 with -O2, with arguments that a benchmark can have. */
export async function compiledWorkloads(processor: string): Promise<Workload[]> {
  const compilers = new Compilers();
  const target = { processor, waveSize: processor.startsWith('gfx9') ? 64 : 32 } as const;
  const found: Workload[] = [];
  for (const { source, launches, builds } of SUBJECTS.filter((each) => SOURCES.includes(each.source))) {
    const bytes = await compilers.forDevice(source, 'OpenCL C', 'O2', target, builds?.[0]?.flags ?? []);
    const image = { name: `${source}.${processor}`, bytes };
    const seen = new Set<string>();
    for (const each of launches(ITEMS, target)) {
      const launch = seen.has(each.kernel) ? undefined : benchmarkLaunch(each);
      if (!launch) continue;
      seen.add(each.kernel);
      const { kernel } = each;
      found.push({ name: `${path.basename(source, '.cl')}/${kernel}`, processor, kernel, image, launch });
    }
  }
  compilers.close();
  return found;
}

/** Undefined where an argument is none of those that a benchmark may have. */
function benchmarkLaunch({ args, grid, group }: Launch): BenchmarkLaunch | undefined {
  const own = args.flatMap((argument) => {
    if (argument.kind !== 'buffer' && argument.kind !== 'value') return [];
    const bytes = Uint8Array.from(bytesOf(argument.contents));
    if (bytes.length % 4 !== 0 || (argument.kind === 'value' && bytes.length !== 4)) return [];
    const words = new Int32Array(bytes.buffer);
    return argument.kind === 'value' ? words[0]! : words;
  });
  return own.length === args.length ? { grid, workgroup: group, args: own } : undefined;
}
