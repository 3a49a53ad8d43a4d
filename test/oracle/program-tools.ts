/**
 * What is asked of every program with tools in it: it prints what it printed, executes the same instructions
 * of its own, and tools say what the emulator counts.
 */
import assert from 'node:assert/strict';
import { parseCodeObject } from '../../src/codeobject/code-object.ts';
import type { PcCount } from '../../src/device/statistics.ts';
import { readTraceFile } from '../../src/instrument/index.ts';
import { instrumentCodeObject } from '../../src/instrument/instrument.ts';
import type { PcMap } from '../../src/instrument/layout/pc-map.ts';
import { PRIVATE_APERTURE_HI } from '../../src/isa/amdgpu/encoding/registers.ts';
import { type AmdgpuStep, AmdgpuStepReader } from '../../src/isa/amdgpu/step.ts';
import { type LiftedCode, liftCodeObject } from '../../src/lift/lifted-code.ts';
import { chooseTool } from '../../src/tools/chosen-tool.ts';
import { type ToolReport, ToolSession } from '../../src/tools/tool-session.ts';
import { assertSameLines } from '../line-differences.test-support.ts';
import { type LaneAccess, LoadedImage } from '../loaded-image.test-support.ts';
import { isVector, LEFT_OUT, nameIn } from '../tool-runs.test-support.ts';
import { type HostPaced, hostPaced } from './host-paced.ts';
import { type CountedRun, type Looks, type ProgramImage, runCounted, runObserved, wavesOf } from './program-runs.ts';

const TRACED = /^(global|flat|ds)_(load|store|read|write|atomic|add)/;
const [MIN_RECORDS, MAX_RECORDS] = [2 ** 16, 2 ** 24];
/** Where kernels set their stack pointer. */
const SETS_STACK = /^s_mov_b32 s32, ([0-9]\w*)$/;
/** What goes to private memory by an address that is not the same in all frames. */
const IN_STACK = /^scratch_(?!.* off, off\b)(?!.* off, [av]\S+, off\b)/;
/** What goes to the frames of functions: through the resource of private memory. */
const IN_FRAMES = /^buffer_.* s\[0:3\], (0|s3[23])/;

/** A run of a program as it was compiled, which all others are held against. */
export interface Native extends CountedRun {
  readonly image: ProgramImage;
  readonly code: LiftedCode;
  /** What runs as often as the host's pace has it. */
  readonly paced: HostPaced;
}

/** Of what an instrumented program executed, that of the original, by its addresses. */
function originals({ counts }: CountedRun, map: PcMap): Map<number, PcCount> {
  const found = new Map<number, PcCount>();
  for (const { address, kind } of map.rows) {
    if (kind === 'original') found.set(map.originOf(address), counts.get(address) ?? { waves: 0, lanes: 0, taken: 0 });
  }
  return found;
}

/** Gives what the program executed of its own instructions. */
function assertSame(name: string, found: CountedRun, map: PcMap, native: Native): ReadonlyMap<number, PcCount> {
  assert.deepEqual(found.outcome, native.outcome, name);
  const own = originals(found, map);
  // Where a wave ends, EXEC is dead. What fills gaps in new code is taken for code when that is lifted.
  const text = (pc: number, step: AmdgpuStep | undefined, { waves, lanes }: PcCount): string =>
    `${waves} times${step?.control === 'end' || native.paced.lanes.has(pc) ? '' : `, ${lanes} lanes`}`;
  const different = [...new Set([...own.keys(), ...native.counts.keys()])].flatMap((pc) => {
    const before = native.counts.get(pc) ?? { waves: 0, lanes: 0, taken: 0 };
    const now = own.get(pc);
    const step = native.code.stepAt(pc);
    if (native.paced.waves.has(pc) || (now && text(pc, step, now) === text(pc, step, before))) return [];
    if (now === undefined && step && LEFT_OUT.test(step.text())) return [];
    return [`${pc} ${step?.text()}: ${now && text(pc, step, now)}, natively ${text(pc, step, before)}`];
  });
  assert.deepEqual(different.slice(0, 20), [], `${name}: ${different.length} instructions`);
  return own;
}

interface NewCode {
  readonly bytes: Uint8Array;
  readonly map: PcMap;
}

interface ToolRun {
  readonly counts: ReadonlyMap<number, PcCount>;
  readonly reports: readonly ToolReport[];
  readonly image: LoadedImage;
  /** What the stack pointer is more than natively: tools may have memory below the stack. */
  readonly movedBy: number;
}

/** The same for all kernels. */
function stackMove({ code, image: { processor, name } }: Native, { bytes, map }: NewCode): number {
  const { elf } = parseCodeObject(bytes, name);
  const steps = new AmdgpuStepReader(processor, code.functions[0]!.waveSize, 0);
  const constantOf = (step: AmdgpuStep): number => Number(SETS_STACK.exec(step.text())![1]);
  const moves = map.rows.flatMap(({ kind, address }) => {
    const step = kind === 'original' ? code.stepAt(map.originOf(address)) : undefined;
    if (!step || !SETS_STACK.test(step.text())) return [];
    const words = elf.read(BigInt(address), 8, 'an instruction');
    const now = steps.step(new DataView(words.buffer, words.byteOffset, words.byteLength), 0);
    return [constantOf(now as AmdgpuStep) - constantOf(step)]; // reason: it is the same instruction
  });
  const [move = 0, ...others] = new Set(moves);
  assert.deepEqual(others, []);
  return move;
}

async function runTools(native: Native, ...tools: readonly string[]): Promise<ToolRun> {
  const session = new ToolSession(await Promise.all(tools.map(chooseTool)));
  const { bytes, map } = session.rewrite(native.image);
  const image = new LoadedImage(session);
  const run = await runCounted({ ...native.image, bytes }, session, image);
  const counts = assertSame(tools.join(), run, map, native);
  for (const { coverage } of session.reports) {
    assert.deepEqual(coverage.refused, {}, tools.join());
  }
  return { reports: session.reports, image, counts, movedBy: stackMove(native, { bytes, map }) };
}

const tableOf = ({ result }: ToolReport, name: string) => result.tables.find((each) => each.name === name)?.rows ?? [];

/** Tables say what the emulator counted in the same run. */
async function testCounts(native: Native): Promise<void> {
  const both = await runTools(native, 'instruction-count', 'opcode-histogram');
  const byName = new Map<string, bigint>();
  const assertCounted = ({ reports, counts }: ToolRun): void => {
    const rows = tableOf(reports[0]!, 'instructions');
    for (const [address, , , text, count] of rows) {
      const pc = Number(address);
      if (native.paced.waves.has(pc)) continue;
      const { waves, lanes } = counts.get(pc) ?? native.counts.get(pc) ?? { waves: 0, lanes: 0, taken: 0 };
      assert.equal(count, BigInt(isVector(text!) ? lanes : waves), `${address} ${text}`);
    }
    assert.ok(rows.length > 1000);
  };
  assertCounted(both);
  for (const [, , , text, count] of tableOf(both.reports[0]!, 'instructions')) {
    const name = nameIn(`${text}`);
    byName.set(name, (byName.get(name) ?? 0n) + BigInt(count!));
  }
  const found = new Map(tableOf(both.reports[1]!, 'opcodes').map(([name, count]) => [`${name}`, count]));
  const different = [...byName].filter(([name, count]) => count !== (found.get(name) ?? 0n));
  // The host stops waves of the last kernel where they are: maybe between a point's two tools.
  const paced = new Set([...native.paced.waves].map((pc) => nameIn(native.code.stepAt(pc)!.text())));
  assert.deepEqual(
    different.filter(([name]) => !paced.has(name)),
    [],
  );
  assert.ok(different.length <= wavesOf(native.image), `${different.join(' ')}, found ${[...found].join(' ')}`);
  assert.deepEqual(
    [...found.keys()].filter((name) => !byName.has(name)),
    [],
  );
  assertCounted(await runTools(native, 'block-count'));
}

interface Traced {
  readonly isAsked: (pc: number) => boolean;
  /** As sorted text. */
  readonly accesses: readonly string[];
}

/** Enough for a trace: accesses have two at most, and waves that wait may do so longer than natively. */
function recordsFor({ code, counts }: Native): number {
  const accesses = [...counts].filter(([pc]) => /^(global|flat|ds|buffer|scratch)_/.test(code.stepAt(pc)!.text()));
  const lanes = accesses.reduce((sum, [, count]) => sum + count.lanes, 0);
  return Math.min(Math.max(8 * lanes, MIN_RECORDS), MAX_RECORDS);
}

/** What is accessed where the stack is that the stack pointer leads to natively. */
function withoutMove({ code }: Native, { pc, address }: LaneAccess, movedBy: number): bigint {
  const step = code.stepAt(pc)!;
  if (address >> 32n === BigInt(PRIVATE_APERTURE_HI) || IN_STACK.test(step.text())) {
    const unitsPerByte = step.instruction.target.flatScratch === 'architected' ? 1 : step.instruction.waveSize;
    return address - BigInt(movedBy / unitsPerByte);
  }
  return IN_FRAMES.test(step.text()) ? address - BigInt(movedBy) : address;
}

/** What the program accesses by a trace of it. */
async function tracedAccesses(native: Native): Promise<Traced> {
  const { reports, image, movedBy } = await runTools(native, `memory-trace:file=x,records=${recordsFor(native)}`);
  const { result } = reports[0]!;
  assert.equal(result.summary.lost, 0n);
  const { points, records } = readTraceFile(result.files![0]!.bytes, 'x');
  const traced = new Set(points.map(({ address }) => address));
  const isAsked = (pc: number): boolean => !native.paced.waves.has(pc) && traced.has(pc);
  for (const { instructions } of native.code.functions.flatMap(({ blocks }) => blocks)) {
    for (const step of instructions) {
      // What goes through descriptors has no address that a tool is told.
      if (TRACED.test(step.text())) assert.ok(traced.has(step.offset), `${step.offset} ${step.text()}`);
    }
  }
  const accesses = records
    .map(({ point, lane, value }) => ({ pc: points[point]!.address, lane, address: value }))
    .filter(({ pc }) => isAsked(pc))
    .map((each) => ({ ...each, address: withoutMove(native, each, movedBy) }));
  return { isAsked, accesses: image.accessText(accesses) };
}

/** Waves come to the instructions of a program in the same order where it was laid out anew. */
async function testOrder(native: Native, { bytes, map }: NewCode, { isAsked, accesses }: Traced): Promise<void> {
  const { image, code, paced, outcome } = native;
  const isOrdered = (pc: number): boolean => !paced.waves.has(pc);
  const isKept = (pc: number): boolean => {
    const step = code.stepAt(pc);
    return step !== undefined && (map.newAddressOf(pc) !== undefined || !LEFT_OUT.test(step.text()));
  };
  const before: Looks = { isOrdered, isAsked, originOf: (pc) => (isKept(pc) ? pc : undefined) };
  const originOf = (pc: number): number | undefined => {
    const row = map.rowAt(pc);
    return row?.kind === 'original' ? map.originOf(row.address) : undefined;
  };
  const moved = { ...image, bytes };
  const one = await runObserved(image, before);
  const other = await runObserved(moved, { isOrdered, originOf });
  for (const observed of [one, other]) assert.deepEqual(observed.outcome, outcome);
  // Which of several waves gets which port to the host is a matter of turns, in which executors differ.
  if (wavesOf(image) === 1) assertSameLines(accesses, one.accesses);
  assert.ok(accesses.length > 0);
  const wanted = other.order.differenceTo(one.order);
  if (!wanted) return;
  const [a, b] = [
    (await runObserved(image, { ...before, wanted })).order.addresses,
    (await runObserved(moved, { isOrdered, originOf, wanted })).order.addresses,
  ];
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const textOf = (pc: number | undefined): string =>
    pc === undefined ? 'nothing' : `${pc} ${code.stepAt(pc)?.text()}`;
  assert.fail(`${wanted.wave}, stretch ${wanted.index}: ${textOf(b[at])}, natively ${textOf(a[at])}`);
}

export async function runNative(image: ProgramImage): Promise<Native> {
  const run = await runCounted(image);
  const code = liftCodeObject(parseCodeObject(image.bytes, image.name));
  return { ...run, image, code, paced: hostPaced(code, run.lastKernel) };
}

/** How many instructions the waves executed. */
export const instructionsOf = ({ counts }: CountedRun): number =>
  counts.values().reduce((sum, { waves }) => sum + waves, 0);

export async function testWithTools(native: Native): Promise<void> {
  const { image } = native;
  const { bytes, name } = image;
  const once = instrumentCodeObject(bytes, { name });
  assert.deepEqual(once.kept, []);
  assertSame('identity', await runCounted({ ...image, bytes: once.bytes }), once.map, native);
  const twice = instrumentCodeObject(once.bytes, { name });
  assertSame('identity of the identity', await runCounted({ ...image, bytes: twice.bytes }), twice.map, native);
  await testCounts(native);
  await testOrder(native, once, await tracedAccesses(native));
}
