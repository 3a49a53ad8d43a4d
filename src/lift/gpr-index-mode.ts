/**
 * Where code of gfx9 runs with MODE.gpr_idx_en set: there M0 completes the numbers of VGPRs (CDNA2 ISA 6.6),
 * so that instructions touch others than those they name.
 */
import type { BasicBlock } from '../flow/blocks.ts';
import { solveDataFlow } from '../flow/data-flow.ts';
import type { FlowGraph } from '../flow/graph.ts';
import type { Evaluated } from '../ir/op.ts';
import { OPS } from '../ir/ops.ts';
import type { Program } from '../ir/types.ts';
import { MODE_GPR_INDEX } from '../isa/amdgpu/semantics/gpr-index.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';

/** Whether indexing may be off, and whether it may be on. */
const OFF = 1;
const ON = 2;

export type GprIndexing = 'on' | 'off' | 'unknown';

/**
 * What is known of indexing at each step of some blocks. It is off where code is entered, and functions come
 * back with it off, as compilers have it.
 */
export class GprIndexStates {
  /** Without an entry, it is off. */
  readonly #before = new Map<AmdgpuStep, number>();

  /** `graph`: that of the blocks, asked for where a step switches indexing. */
  constructor(blocks: readonly BasicBlock<AmdgpuStep>[], graph: () => FlowGraph) {
    if (!blocks.some(switchesIn)) return;
    const { incoming } = solveDataFlow<number>(graph(), {
      direction: 'forward',
      nothing: 0,
      outside: OFF,
      join: (a, b) => a | b,
      equals: (a, b) => a === b,
      transfer: (block, state) => blocks[block]!.instructions.reduce(after, state),
    });
    for (const { index, instructions } of blocks) {
      let state = incoming[index]!;
      for (const step of instructions) {
        this.#before.set(step, state);
        state = after(state, step);
      }
    }
  }

  before(step: AmdgpuStep): GprIndexing {
    return this.isUnused ? 'off' : named(this.#stateBefore(step));
  }

  after(step: AmdgpuStep): GprIndexing {
    return this.isUnused ? 'off' : named(after(this.#stateBefore(step), step));
  }

  /** Whether it stays off everywhere, as nothing switches it. */
  get isUnused(): boolean {
    return this.#before.size === 0;
  }

  /** Where it may be on. */
  get indexed(): readonly AmdgpuStep[] {
    return [...this.#before].flatMap(([step, state]) => ((state & ON) === 0 ? [] : [step]));
  }

  #stateBefore(step: AmdgpuStep): number {
    return this.#before.get(step) ?? OFF;
  }
}

const writesMode = ({ effects: { writesState } }: AmdgpuStep): boolean =>
  writesState.size > 0 && writesState.has('mode');

function switchesIn({ instructions }: BasicBlock<AmdgpuStep>): boolean {
  for (let i = 0; i < instructions.length; i++) if (switchesIndexing(instructions[i]!)) return true;
  return false;
}

/** Nothing is known to lead to a step without a state. */
const named = (state: number): GprIndexing => ((state & ON) === 0 ? 'off' : state === ON ? 'on' : 'unknown');

/** Whether a step may turn indexing on or off. */
export const switchesIndexing = (step: AmdgpuStep): boolean =>
  writesMode(step) && (after(OFF, step) !== OFF || after(ON, step) !== ON);

function after(state: number, step: AmdgpuStep): number {
  const { instruction } = step;
  if (!instruction.families.includes('gfx9') || !writesMode(step)) return state;
  const program = programOf(step);
  if (!program) return OFF | ON;
  let result = 0;
  for (const before of [OFF, ON].filter((each) => (state & each) !== 0)) {
    // Each bit of MODE follows from the bits that a source has at one place.
    for (const sample of [0, -1]) result |= bitAfter(program, step, before === ON ? MODE_GPR_INDEX : 0, sample);
  }
  return result;
}

function programOf(step: AmdgpuStep): Program | undefined {
  return step.instruction.row.semantics ? step.program() : undefined;
}

/** With `sample` in all registers. */
function bitAfter({ values }: Program, { instruction }: AmdgpuStep, mode: number, sample: number): number {
  const results: Evaluated[] = [];
  let result = mode;
  for (const { id, leaf, args, type } of values) {
    const known = args.map((arg) => results[arg.id]!);
    if (leaf.kind === 'const') results[id] = type === 'i64' ? leaf.value : Number(leaf.value);
    else if (leaf.kind === 'state' && leaf.slot === 'mode') results[id] = mode;
    else if (leaf.kind === 'operand') {
      const operand = instruction.operand(leaf.at.operand);
      const isConstant = operand.kind === 'constant';
      results[id] = isConstant ? Number(BigInt.asIntN(32, operand.value >> BigInt(32 * leaf.at.dword))) : sample;
    } else if (leaf.kind === 'pure') {
      const evaluate = OPS[leaf.op].evaluate as (...each: readonly Evaluated[]) => Evaluated;
      results[id] = evaluate(...known);
    } else if (leaf.kind === 'setState' && leaf.slot === 'mode') result = Number(known[0]);
    else results[id] = type === 'i64' ? BigInt.asUintN(64, BigInt(sample)) : sample;
  }
  return (result & MODE_GPR_INDEX) !== 0 ? ON : OFF;
}
