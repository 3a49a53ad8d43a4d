/** Machine code of PTX as steps. */
import type { Effects, RegisterRange } from '../ir/effects.ts';
import type { Control, Step, StepOperand } from '../ir/step.ts';
import type { Program, StateSlot } from '../ir/types.ts';
import { type CodeInstruction, readMachine } from './machine/code.ts';
import { PtxBuilder } from './rows/builder.ts';
import { type Form, PTX_CLASSES } from './rows/row.ts';
import { formOf } from './rows/table.ts';

type GuardKind = 'none' | 'true' | 'false';

/** Reads the steps of code. */
export class PtxStepReader {
  step(code: DataView, offset: number): Step | string {
    const found = readMachine(code, offset);
    if (typeof found === 'string') return found;
    const { opcode, operands, distance } = found.instruction;
    const guard: GuardKind = opcode.startsWith('@!') ? 'false' : opcode.startsWith('@') ? 'true' : 'none';
    const form = formOf(opcode.replace(/^@!?/, ''));
    if (!form) return `'${opcode}' is no instruction`;
    const isComplete = operands.length === form.specs.length + (guard === 'none' ? 0 : 1);
    const isBranch = form.row.operands.some(({ kind }) => kind === 'target');
    if (!isComplete || isBranch !== (distance !== undefined)) return `'${opcode}' with other operands`;
    return new PtxStep(form, guard, found.instruction, { offset, sizeBytes: found.sizeBytes });
  }
}

class PtxStep implements Step {
  readonly offset: number;
  readonly sizeBytes: number;
  readonly illegal: string | undefined = undefined;
  readonly operands: readonly StepOperand[];
  readonly key: string;
  readonly control: Control;
  readonly target: number | undefined;
  readonly classIndex: number;
  readonly #form: Form;
  readonly #guard: GuardKind;
  readonly #instruction: CodeInstruction<StepOperand>;

  constructor(
    form: Form,
    guard: GuardKind,
    instruction: CodeInstruction<StepOperand>,
    { offset, sizeBytes }: { readonly offset: number; readonly sizeBytes: number },
  ) {
    const { opcode, operands, distance } = instruction;
    this.#form = form;
    this.#guard = guard;
    this.#instruction = instruction;
    this.offset = offset;
    this.sizeBytes = sizeBytes;
    this.operands = operands;
    this.key = `${opcode} ${operands.map(tagOf).join(' ')}`;
    this.control = form.row.control;
    this.target = distance === undefined ? undefined : offset + distance;
    this.classIndex = PTX_CLASSES.indexOf(form.row.className);
  }

  get effects(): Effects {
    return effectsOf(this.program(), this.operands);
  }

  program(): Program {
    const { opcode, modifiers, row } = this.#form;
    const builder = new PtxBuilder({ opcode, modifiers, specs: row.operands }, this.operands, this.#guard);
    row.build(builder);
    return builder.finish();
  }

  /** As in PTX, with registers of the machine. */
  text(): string {
    const { opcode, operands, distance } = this.#instruction;
    const guard = opcode.startsWith('@') ? operands.length - 1 : operands.length;
    const texts = operands.map(operandText);
    const list = [...texts.slice(0, guard), ...(distance === undefined ? [] : [`to ${distance}`])].join(', ');
    const [, sign = '', name = ''] = /^(@!?)?(.*)$/.exec(opcode) ?? [];
    return `${sign}${texts[guard] ?? ''}${sign && ' '}${name}${list && ' '}${list}`;
  }
}

const tagOf = (operand: StepOperand): string =>
  operand.kind === 'register' ? `${operand.file[0]}${operand.dwords}` : 'c';

const FILES = { scalar: 's', vector: 'v', accumulator: 'a' } as const;

function operandText(operand: StepOperand): string {
  if (operand.kind === 'constant') return String(BigInt.asIntN(64, operand.value));
  if (operand.kind === 'laneTable') return '';
  const { file, first, dwords } = operand;
  return dwords === 1 ? `${FILES[file]}${first}` : `${FILES[file]}[${first}:${first + dwords - 1}]`;
}

/** What a program touches. */
function effectsOf({ values }: Program, operands: readonly StepOperand[]): Effects {
  const reads: (RegisterRange & { isCrossLane: boolean })[] = [];
  const writes: Effects['writes'][number][] = [];
  const memory: Effects['memory'][number][] = [];
  const [readsState, writesState] = [new Set<StateSlot>(), new Set<StateSlot>()];
  for (const { leaf, lane, args } of values) {
    if (lane || leaf.kind === 'ballot') readsState.add('exec');
    if (leaf.kind === 'state') readsState.add(leaf.slot);
    if (leaf.kind === 'setState') writesState.add(leaf.slot);
    if (leaf.kind === 'load' || leaf.kind === 'store' || leaf.kind === 'atomic') {
      memory.push({ space: leaf.space, access: leaf.kind });
    }
    const operand = 'at' in leaf ? operands[leaf.at.operand] : undefined;
    if (!('at' in leaf) || operand?.kind !== 'register') continue;
    const range = { file: operand.file, first: operand.first + leaf.at.dword, dwords: 1 };
    if (leaf.kind === 'setOperand') {
      const lanes = operand.file === 'scalar' ? 'all' : 'active';
      writes.push({ ...range, lanes, isPartial: args.length > 1 });
    } else reads.push({ ...range, isCrossLane: leaf.kind === 'gather' || leaf.kind === 'readLane' });
  }
  if (readsState.has('exec')) reads.push({ file: 'scalar', first: 126, dwords: 1, isCrossLane: false });
  if (writesState.has('exec')) writes.push({ file: 'scalar', first: 126, dwords: 1, lanes: 'all', isPartial: false });
  return {
    ...{ reads, writes, readsState, writesState, maskChange: writesState.has('exec') ? 'any' : 'none', memory },
    ...{ readsAnyOf: new Set(), writesAnyOf: new Set(), counters: new Set(), waits: new Map(), hazards: [] },
  };
}
