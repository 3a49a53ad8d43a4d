/**
 * What instrumentation costs, in executed instructions: tools, the same by compiled hooks that are lifted or
 * called, and baselines, on benchmark kernels and, where clang-19 is there, on kernels of `test/data/opencl`.
 * Outputs, the ways through the code, and counts and addresses of each instruction are checked against native
 * runs. `node bench/instrument.ts` prints tables, with `--json` everything that was measured;
 * `--variants=REGEX` and `--targets=REGEX` measure some alone; other words are names of kernels that are
 * measured alone. The exit status is 1 where a check fails.
 */
import { spawnSync } from 'node:child_process';
import { type Measurement, measure } from './instrument/measure.ts';
import { report } from './instrument/report.ts';
import { VARIANTS } from './instrument/variants.ts';
import { compiledWorkloads, exampleWorkloads, PROCESSORS } from './instrument/workloads.ts';

const words = process.argv.slice(2);
const names = words.filter((word) => !word.startsWith('--'));
const option = (name: string): RegExp =>
  new RegExp(words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? '');
const variants = VARIANTS.filter(({ name }) => option('variants').test(name));
const hasClang = spawnSync('clang-19', ['--version']).status === 0;
/** Names of compiled kernels have the source in front. */
const needsCompiler = names.length === 0 || names.some((name) => name.includes('/'));
const measurements: Measurement[] = [];
for (const processor of PROCESSORS.filter((each) => option('targets').test(each))) {
  const compiled = needsCompiler && hasClang ? await compiledWorkloads(processor) : [];
  for (const workload of [...exampleWorkloads(processor), ...compiled]) {
    if (names.length > 0 && !names.includes(workload.name)) continue;
    process.stderr.write(`${workload.name} ${processor}\n`);
    measurements.push(await measure(workload, variants));
  }
}
const failures = measurements.flatMap((each) => each.failures);
console.log(words.includes('--json') ? JSON.stringify(measurements, undefined, 1) : report(measurements));
for (const failure of failures) process.stderr.write(`${failure}\n`);
process.exitCode = failures.length > 0 ? 1 : 0;
