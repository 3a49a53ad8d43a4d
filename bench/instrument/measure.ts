/** One kernel, rewritten in all ways: what each costs, checked against what the kernel does natively. */
import { createHash } from 'node:crypto';
import { WavewrightError } from '../../src/base/errors.ts';
import { parseElf } from '../../src/elf/elf.ts';
import type { Coverage } from '../../src/instrument/index.ts';
import { readPcMap } from '../../src/instrument/instrument.ts';
import type { PcMap } from '../../src/instrument/layout/pc-map.ts';
import { freesVectors } from '../../src/isa/amdgpu/encoding/messages.ts';
import { type Execution, execute, UNITS, type UnitCounts } from './execution.ts';
import { Truth } from './truth.ts';
import { type Rewritten, VARIANTS, type Variant } from './variants.ts';
import type { Workload } from './workloads.ts';

export interface VariantMeasurement {
  readonly variant: string;
  /** Why there are no numbers. */
  readonly missing?: string;
  readonly instructions: number;
  /** Executed instructions divided by those of the native run. */
  readonly ratio: number;
  /** Instructions that are executed more than natively, by unit. */
  readonly added: Readonly<UnitCounts>;
  /** Executed payload instructions for each execution of a point. */
  readonly perPoint: { readonly median: number; readonly p95: number };
  readonly codeRatio: number;
  readonly hostMs: number;
  readonly coverage?: Coverage;
}

export interface Measurement {
  readonly kernel: string;
  readonly processor: string;
  readonly native: { readonly instructions: number; readonly units: Readonly<UnitCounts> };
  readonly variants: readonly VariantMeasurement[];
  /** What is not as it must be: outputs, counts, ways through the code. */
  readonly failures: readonly string[];
}

export async function measure(workload: Workload, variants = VARIANTS): Promise<Measurement> {
  const native = execute(workload, workload.image.bytes);
  const truth = new Truth(workload, native);
  const failures: string[] = [];
  const measured: VariantMeasurement[] = [];
  for (const variant of variants) measured.push(await measureVariant({ workload, native, truth }, variant, failures));
  const { instructions, units } = native;
  return {
    ...{ kernel: workload.name, processor: workload.processor, native: { instructions, units } },
    ...{ variants: measured, failures },
  };
}

/** A kernel as it was compiled. */
interface Native {
  readonly workload: Workload;
  readonly native: Execution;
  readonly truth: Truth;
}

async function measureVariant(own: Native, variant: Variant, failures: string[]): Promise<VariantMeasurement> {
  const { workload, native } = own;
  const { name, mostInstructions = Number.POSITIVE_INFINITY } = variant;
  if (native.counts.size > mostInstructions) return { ...NOTHING, variant: name, missing: 'too large' };
  const cpu = process.threadCpuUsage();
  const rewritten = await variant.rewrite(workload);
  const { user, system } = process.threadCpuUsage(cpu);
  const hostMs = (user + system) / 1000;
  if (!rewritten) return { ...NOTHING, variant: variant.name, missing: 'not to be rewritten so' };
  let run: Execution;
  try {
    run = execute(workload, rewritten.bytes, rewritten);
  } catch (error) {
    if (!(error instanceof WavewrightError)) throw error;
    failures.push(`${workload.name} ${workload.processor}, ${variant.name}: ${error.message}`);
    return { ...NOTHING, variant: variant.name, missing: error.code };
  }
  const map = readPcMap(parseElf(rewritten.bytes))!;
  for (const what of await wrongOf(own, variant, { run, map, rewritten })) {
    failures.push(`${workload.name} ${workload.processor}, ${variant.name}: ${what}`);
  }
  const added = Object.fromEntries(UNITS.map((unit) => [unit, run.units[unit] - native.units[unit]]));
  return {
    ...{ variant: variant.name, instructions: run.instructions, ratio: run.instructions / native.instructions },
    added: added as UnitCounts, // reason: made of all units
    ...{ perPoint: perPoint(native, run, map), codeRatio: codeRatio(map), hostMs },
    ...(rewritten.reports?.[0] && { coverage: rewritten.reports[0].coverage }),
  };
}

interface Rerun {
  readonly run: Execution;
  readonly map: PcMap;
  readonly rewritten: Rewritten;
}

/**
 * Where a wave's private memory lies depends on when others have ended: a trace with other addresses is made
 * again with waves that take the turns that they take natively.
 */
async function wrongOf(own: Native, variant: Variant, { run, map, rewritten }: Rerun): Promise<string[]> {
  const wrong = [...differences(own, run, map, rewritten)];
  const again = wrong.length > 0 && variant.isTrace ? await variant.rewrite(own.workload) : undefined;
  if (!again) return wrong;
  const isFree = (address: number): boolean => map.rowAt(address)?.kind !== 'original';
  return [...differences(own, execute(own.workload, again.bytes, { ...again, isFree }), map, again)];
}

const NOTHING = {
  ...{ instructions: 0, ratio: 0, perPoint: { median: 0, p95: 0 }, codeRatio: 0, hostMs: 0 },
  added: Object.fromEntries(UNITS.map((unit) => [unit, 0])) as UnitCounts, // reason: made of all units
};

/** Executed payload instructions, and branches around them, by the original instruction that they serve. */
function payloadExecutions(run: Execution, map: PcMap): Map<number, number> {
  const found = new Map<number, number>();
  for (const [address, { waves }] of run.counts) {
    const row = map.rowAt(address);
    if (row?.origin === undefined || (row.kind !== 'payload' && row.kind !== 'branch')) continue;
    found.set(row.origin, (found.get(row.origin) ?? 0) + waves);
  }
  return found;
}

/** Each execution of a point counts once. */
function perPoint(native: Execution, run: Execution, map: PcMap): VariantMeasurement['perPoint'] {
  const costs = [...payloadExecutions(run, map)]
    .map(([origin, payload]) => ({ payload, executions: native.counts.get(origin)?.waves ?? 0 }))
    .filter(({ executions }) => executions > 0)
    .map(({ payload, executions }) => ({ cost: payload / executions, executions }))
    .sort((a, b) => a.cost - b.cost);
  const total = costs.reduce((sum, { executions }) => sum + executions, 0);
  const quantile = (share: number): number => {
    let left = total * share;
    for (const { cost, executions } of costs) {
      left -= executions;
      if (left <= 0) return cost;
    }
    return costs.at(-1)?.cost ?? 0;
  };
  return { median: quantile(0.5), p95: quantile(0.95) };
}

/** Of code that has been rewritten. */
function codeRatio({ rows }: PcMap): number {
  const bytes = (kinds: readonly string[]): number =>
    rows.reduce((sum, { kind, sizeBytes }) => sum + (kinds.includes(kind) ? sizeBytes : 0), 0);
  return bytes(['original', 'payload', 'island', 'branch']) / bytes(['original']);
}

function* differences(own: Native, run: Execution, map: PcMap, { reports }: Rewritten): Generator<string> {
  const { native, truth } = own;
  const hash = ({ output }: Execution): string => createHash('sha256').update(output).digest('hex');
  if (hash(native) !== hash(run)) yield 'the output is another one';
  const originals = new Map<number, number>();
  for (const [address, { waves }] of run.counts) {
    const row = map.rowAt(address);
    if (row === undefined) originals.set(address, waves);
    else if (row.kind === 'original' && row.origin !== undefined) originals.set(row.origin, waves);
  }
  for (const [address, { waves }] of native.counts) {
    // Payloads may take the place of hints, and of the message that gives their registers back.
    const { instruction } = native.stepAt(address);
    if (instruction.row.flags.hint !== undefined || freesVectors(instruction)) continue;
    const found = originals.get(address) ?? 0;
    if (found !== waves) yield `the instruction at ${address} is executed ${found} times, natively ${waves}`;
  }
  for (const report of reports ?? []) yield* truth.wrongIn(report, run);
}
