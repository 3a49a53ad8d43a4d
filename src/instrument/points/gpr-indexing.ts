/**
 * Where MODE.gpr_idx_en is set, so that M0 completes the numbers of VGPRs (CDNA2 ISA 6.6): what is inserted
 * there would get other registers than it names.
 */
import { solveDataFlow } from '../../flow/data-flow.ts';
import type { Program, Value } from '../../ir/types.ts';
import { meaningOf } from '../../isa/amdgpu/effects/meaning.ts';
import { MODE_GPR_INDEX } from '../../isa/amdgpu/semantics/gpr-index.ts';
import type { AmdgpuStep } from '../../isa/amdgpu/step.ts';
import type { LiftedFunction } from '../../lift/lifted-function.ts';

/** Of one bit: as it was before, 0, 1, or not known. */
type Bit = 'same' | 'off' | 'on' | 'unknown';
/** Undefined: no way is known that leads there. */
type State = Bit | undefined;

const join = (a: State, b: State): State => (a === undefined || a === b ? b : b === undefined ? a : 'unknown');
const then = (change: Bit, state: State): State => (change === 'same' ? state : change);

/** What is known of the bit before each step of a function; it is off where the function is entered. */
export class GprIndexing {
  readonly #changes = new Map<AmdgpuStep, Bit>();
  readonly #before = new Map<AmdgpuStep, State>();

  constructor({ blocks, graph }: LiftedFunction) {
    for (const { instructions } of blocks) for (const step of instructions) this.#note(step);
    if (this.#changes.size === 0) return;
    const { incoming } = solveDataFlow<State>(graph, {
      direction: 'forward',
      nothing: undefined,
      outside: 'off',
      join,
      equals: (a, b) => a === b,
      transfer: (block, state) =>
        blocks[block]!.instructions.reduce((bit, step) => then(this.#changes.get(step) ?? 'same', bit), state),
    });
    for (const { index, instructions } of blocks) {
      let state = incoming[index];
      for (const step of instructions) {
        this.#before.set(step, state);
        state = then(this.#changes.get(step) ?? 'same', state);
      }
    }
  }

  before(step: AmdgpuStep): 'on' | 'off' | 'unknown' {
    const state = this.#before.get(step);
    return state === 'on' || state === 'unknown' ? state : 'off';
  }

  after(step: AmdgpuStep): 'on' | 'off' | 'unknown' {
    const state = then(this.#changes.get(step) ?? 'same', this.#before.get(step));
    return state === 'on' || state === 'unknown' ? state : 'off';
  }

  #note(step: AmdgpuStep): void {
    if (!step.instruction.families.includes('gfx9') || !step.effects.writesState.has('mode')) return;
    const program = meaningOf(step.instruction);
    const change = program ? changeOf(program) : 'unknown';
    if (change !== 'same') this.#changes.set(step, change);
  }
}

function changeOf({ values }: Program): Bit {
  let change: Bit = 'same';
  for (const { leaf, args } of values) {
    if (leaf.kind === 'setState' && leaf.slot === 'mode') change = bitOf(args[0]!);
  }
  return change;
}

function bitOf({ leaf, args }: Value): Bit {
  if (leaf.kind === 'state' && leaf.slot === 'mode') return 'same';
  if (leaf.kind === 'const') return (Number(BigInt.asUintN(32, leaf.value)) & MODE_GPR_INDEX) === 0 ? 'off' : 'on';
  if (leaf.kind !== 'pure' || (leaf.op !== 'i32.and' && leaf.op !== 'i32.or')) return 'unknown';
  const [a, b] = args.map(bitOf);
  const [stays, wins] = leaf.op === 'i32.and' ? (['on', 'off'] as const) : (['off', 'on'] as const);
  if (a === wins || b === wins) return wins;
  if (a === stays) return b!;
  return b === stays || a === b ? a! : 'unknown';
}
