/**
 * The comparator: each instruction is counted by code that keeps everything a called function may change
 * (LLVM AMDGPU usage, "Calling Convention": s0 to s31 and v0 to v39 of those that the kernel has, VCC, SCC),
 * whatever is live there, as tools do that call functions and do not look at what is dead. It keeps them in
 * registers that the kernel is given for it, which is cheaper than memory would be.
 */
import type { CodeObject } from '../../src/codeobject/code-object.ts';
import { REGISTER_PLACES } from '../../src/flow/steps.ts';
import { CodeRewriter, type InstrumentedCode } from '../../src/instrument/instrument.ts';
import { Allocator } from '../../src/instrument/machine/allocate.ts';
import type { Payload } from '../../src/instrument/machine/machine-code.ts';
import { high, low, PayloadBuilder } from '../../src/instrument/machine/payload-builder.ts';
import { hasCounter } from '../../src/instrument/machine/payload-waits.ts';
import {
  type FileLimits,
  NOTHING_IN_FLIGHT,
  type PointState,
  type RegisterPlan,
} from '../../src/instrument/machine/register-plan.ts';
import { RegisterPlans } from '../../src/instrument/points/register-plans.ts';
import type { WaitCounter } from '../../src/ir/effects.ts';
import type { CodeContext } from '../../src/isa/amdgpu/encoding/instruction.ts';

const CALLEE = { scalars: 32, vectors: 40 };
const SYMBOL = 'full_save_counts';
const COUNTER_BYTES = 8;
const COUNTERS: readonly WaitCounter[] = ['vmcnt', 'lgkmcnt', 'expcnt', 'vscnt'];

export interface FullSave extends InstrumentedCode {
  /** Of one point. */
  readonly instructionsPerPoint: number;
}

/** Undefined where the kernel has too many registers of its own, or is not alone with its code. */
export function fullSave(codeObject: CodeObject, kernelName: string): FullSave | undefined {
  const rewriter = new CodeRewriter(codeObject.elf.bytes, { name: codeObject.name });
  const { lifted } = rewriter;
  const own = lifted.functions.find(({ kernels }) => kernels.some(({ name }) => name === kernelName));
  if (!own || own.callees.size > 0 || !own.blocks[0]) return undefined;
  const used = new RegisterPlans(lifted).planOf(own);
  const { target, waveSize } = own.blocks[0].instructions[0]!.instruction;
  const code = { target, waveSize };
  const limits = (file: 'scalar' | 'vector', most: number): FileLimits => {
    const count = used[file].used;
    return { used: count, granted: used[file].granted, growable: most, most };
  };
  const plan: RegisterPlan = { ...used, scalar: limits('scalar', 102), vector: limits('vector', 256) };
  const allocator = new Allocator([savingPayload(code, used.scalar.used, used.vector.used)], plan);
  const addresses = own.blocks.flatMap(({ instructions }) => instructions.map(({ offset }) => offset));
  const indices = new Map(addresses.map((address, index) => [address, index]));
  const state = everythingIsLive(code);
  const first = allocator.allocate(state);
  // What it would keep elsewhere is what it keeps itself.
  if (first.kind === 'refusal' || first.sources.borrowed > 0) return undefined;
  const instrumented = rewriter.rewrite({
    edit: ({ offset }) => {
      const index = indices.get(offset);
      if (index === undefined) return undefined;
      const hook = { literals: [index * COUNTER_BYTES] };
      return { before: [{ kind: 'payload', code: first.code, hook, point: offset }] };
    },
    variables: [{ symbol: SYMBOL, sizeBytes: addresses.length * COUNTER_BYTES, alignmentBytes: COUNTER_BYTES }],
    kernelChanges: (name) =>
      name === kernelName ? { sgprCount: first.needs.scalar, vgprCount: first.needs.vector } : undefined,
  });
  const { body, save, wait } = first.counts;
  return { ...instrumented, instructionsPerPoint: body + save + wait };
}

function everythingIsLive({ target }: CodeContext): PointState {
  return {
    live: { active: REGISTER_PLACES.everything, inactive: REGISTER_PLACES.rows },
    ...{ isSccLive: true, inFlight: NOTHING_IN_FLIGHT, gprIndexing: false },
    unknownInFlight: new Set(COUNTERS.filter((counter) => hasCounter(target, counter))),
  };
}

/** Counts waves; `scalars` and `vectors` are what the kernel has. */
function savingPayload(code: CodeContext, scalars: number, vectors: number): Payload {
  const b = new PayloadBuilder(code);
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
  const ownScalars = numbers(Math.min(scalars, CALLEE.scalars));
  const ownVectors = numbers(Math.min(vectors, CALLEE.vectors));
  if (ownScalars.length > 0) b.changes({ file: 'scalar', first: 0, dwords: ownScalars.length });
  if (ownVectors.length > 0) b.changes({ file: 'vector', first: 0, dwords: ownVectors.length });
  b.purpose = 'save';
  b.otherLanes = 'any';
  const [mask, scc, vcc, lanes] = [b.mask(), b.scalar(), b.mask(), b.vector()];
  const kept = ownVectors.map(() => b.vector());
  b.emit`s_cselect_b32 ${scc}, 1, 0`;
  b.emit`s_mov_${b.maskBits} ${mask}, ${b.exec}`;
  b.emit`s_mov_${b.maskBits} ${vcc}, ${b.vcc}`;
  b.emit`s_mov_${b.maskBits} ${b.exec}, -1`;
  for (const i of ownVectors) b.emit`v_mov_b32 ${kept[i]!}, v${i}`;
  for (const i of ownScalars) b.emit`v_writelane_b32 ${lanes}, s${i}, ${i}`;
  count(b);
  b.purpose = 'save';
  for (const i of ownScalars) b.emit`v_readlane_b32 s${i}, ${lanes}, ${i}`;
  for (const i of ownVectors) b.emit`v_mov_b32 v${i}, ${kept[i]!}`;
  b.emit`s_mov_${b.maskBits} ${b.exec}, ${mask}`;
  b.emit`s_mov_${b.maskBits} ${b.vcc}, ${vcc}`;
  b.emit`s_cmp_lg_u32 ${scc}, 0`;
  return b.payload();
}

function count(b: PayloadBuilder): void {
  b.purpose = 'body';
  const [address, data, zero] = [b.scalar(2), b.vector(2), b.vector()];
  const place = { symbol: SYMBOL, addend: { pointLiteral: 0 } };
  b.emit`s_mov_b32 ${low(address)}, ${{ half: 'low', ...place }}`;
  b.emit`s_mov_b32 ${high(address)}, ${{ half: 'high', ...place }}`;
  b.emit`s_mov_${b.maskBits} ${b.exec}, 1`;
  b.emit`v_mov_b32 ${low(data)}, 1`;
  b.emit`v_mov_b32 ${high(data)}, 0`;
  b.emit`v_mov_b32 ${zero}, 0`;
  b.emit`global_atomic_add_x2 ${zero}, ${data}, ${address}`;
  b.emit`s_mov_${b.maskBits} ${b.exec}, -1`;
}
