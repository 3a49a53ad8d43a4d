/** Instructions of the text as instructions of the machine. */
import { PLACES, WAITS } from '../machine/places.ts';
import { bitsOf, type PtxType, sizeOf } from '../machine/types.ts';
import { countOf, formOperand, type OperandRule, typeOf } from '../rows/operand-spec.ts';
import type { Expansion, Form } from '../rows/row.ts';
import { formInSpace, formOf } from '../rows/table.ts';
import type { PtxSource } from '../text/source.ts';
import type { ConstantOperand, NameOperand, PtxOperand } from '../text/syntax.ts';
import { callCode } from './calls.ts';
import type { ScopedInstruction } from './flatten.ts';
import type { Frame } from './frame.ts';
import {
  constant,
  type FunctionRegister,
  type Lir,
  type LirOperand,
  lir,
  type RegisterGuard,
  registersOf,
} from './lir.ts';
import { computedRegister, OperandReader } from './operands.ts';
import { VOTES } from './shared-layout.ts';

const WARP_SIZE = 32n;

type Element = NameOperand | ConstantOperand;

/** Types whose operands may be wider registers (PTX ISA 9.4.1). */
const RELAXED = new Set(['memory', 'convert']);

/** What is the same for all instructions of a function. */
export interface SelectionParts {
  readonly source: PtxSource;
  readonly frame: Frame;
  /** Whether threads are counted at barriers. */
  readonly countsAtBarriers: boolean;
}

interface Context extends SelectionParts {
  readonly scoped: ScopedInstruction;
  readonly reader: OperandReader;
  readonly guard: RegisterGuard | undefined;
  /** What has to run before, for operands that the machine does not take as they are. */
  readonly before: Lir[];
}

/** Throws BAD_INPUT for operands that the form does not take, UNSUPPORTED for what the machine lacks. */
export function selectCode(parts: SelectionParts, scoped: ScopedInstruction): readonly Lir[] {
  const { source, frame } = parts;
  const { instruction, form, scope } = scoped;
  if (form.row.flow === 'call') {
    const { before, call, behind } = callCode(source, scoped, frame);
    return [...before, ...call, ...behind];
  }
  const reader = new OperandReader(source, scope, instruction.opcode);
  const guard = guardOf(source, scoped);
  const context: Context = { ...parts, scoped, reader, guard, before: [] };
  const { expansion, meeting } = form.row;
  const operands = expansion === 'move' ? [] : operandsOf(context, form, instruction.operands);
  const own = expansion ? EXPANSIONS[expansion](context, operands) : [machine(context, form, operands)];
  const code = context.before.length === 0 ? own : [...context.before, ...own];
  if (meeting === undefined) return code;
  // What all lanes do together is no matter of a guard.
  const { offset } = instruction;
  const readsNothing = own.every((line) => registersOf(line).reads.length === 0);
  const waits = meeting.isAnywhere && readsNothing ? WAITS.anywhere : WAITS.here;
  if (meeting.members === 'all') {
    if (guard) throw source.error(offset, `a guard of '${form.opcode}'`, 'UNSUPPORTED');
    return whenAll(code, waits);
  }
  const members = operands[placeOfOperand(form, meeting.members)]!;
  return whenTogether(lir('wave_apart', [members, PLACES.live], offset), members, code, waits);
}

/** Code before which lanes wait while not all that have not ended are together. */
const whenAll = (code: readonly Lir[], waits: number): Lir[] =>
  whenTogether(lir('wave_parted', [PLACES.live], code[0]!.offset), constant(0xffffffff), code, waits);

/** `check` branches where members are missing: then the lanes wait for them before the code. */
function whenTogether(check: Lir, members: LirOperand, code: readonly Lir[], waits: number): Lir[] {
  const { meeting, join } = PLACES;
  const parkAt = (label: symbol, waiting: number, whom: LirOperand): Lir =>
    lir('wave_park', [whom, meeting, { kind: 'label', label, addend: waiting }, join], check.offset);
  const [label, labelBehind] = [Symbol('meeting'), Symbol('behind')];
  const park = parkAt(label, waits, members);
  if (waits !== WAITS.here) return [{ ...check, aside: { park } }, { ...code[0]!, label }, ...code.slice(1)];
  const part = parkAt(labelBehind, WAITS.turn, constant(0));
  const last = { ...code.at(-1)!, labelBehind };
  return [
    { ...check, aside: { park, meeting: { first: label, last: labelBehind, part } } },
    ...code.slice(0, -1),
    last,
  ];
}

export function guardOf(
  source: PtxSource,
  { instruction: { guard, offset }, scope }: Pick<ScopedInstruction, 'instruction' | 'scope'>,
): RegisterGuard | undefined {
  if (!guard) return undefined;
  const place = scope.find(guard.register);
  if (place?.kind !== 'register' || place.declared.type !== 'pred') {
    throw source.error(offset, `'${guard.register}' is no predicate`);
  }
  return { register: place.declared.register, isNegated: guard.isNegated };
}

function machine(context: Context, form: Form, operands: readonly LirOperand[]): Lir {
  const { offset } = context.scoped.instruction;
  return { form: formHere(context, form) ?? form, operands, guard: context.guard, target: undefined, offset };
}

/** The form that accesses what the text means here, where that is another one. */
function formHere({ scoped, reader, frame }: Context, { opcode, modifiers, row }: Form): Form | undefined {
  const { space } = modifiers;
  if (row.className !== 'memory' && row.className !== 'atomic') return undefined;
  // Parameters at an address that a register of a function holds are the function's.
  if (space === 'param' && !frame.isKernel) return formOf(opcode.replace('.param.', '.param::func.'));
  // An access without a space of what a name says is one of the space where that is.
  const address = scoped.instruction.operands.find((operand) => operand.kind === 'address');
  const named = space === undefined && address ? reader.spaceOf(address) : undefined;
  return named && formInSpace(opcode, named);
}

/** Where an operand of the row stands among those of the machine. */
function placeOfOperand(form: Form, index: number): number {
  const spec = form.row.operands[index]!;
  return form.specs.indexOf(spec);
}

/** Operands in the order of the row, those of vectors and addresses one after the other. */
function operandsOf(context: Context, form: Form, given: readonly PtxOperand[]): LirOperand[] {
  const { reader, scoped } = context;
  const { offset } = scoped.instruction;
  const found: LirOperand[] = [];
  let next = 0;
  let pair: string | undefined;
  const { operands: rules, needed } = form.row;
  for (let i = 0; i < rules.length; i++) {
    const spec = rules[i]!;
    if (spec.isCarry) {
      found.push(PLACES.carry);
      continue;
    }
    if (spec.isPair) {
      const name: NameOperand | undefined =
        pair === undefined ? undefined : { ...(given[next - 1] as NameOperand), name: pair, pair: undefined }; // reason: only a name has a pair
      if (!name && !spec.isOptional) reader.fail(offset, 'a missing second destination');
      found.push(name ? reader.write(name, typeOf(spec, form.modifiers), true) : constant(0));
      continue;
    }
    if (spec.isOptional && given.length - next <= needed[i]!) {
      found.push(constant(0));
      continue;
    }
    const operand = given[next] ?? reader.fail(offset, `${given.length} operands`);
    next++;
    pair = operand.kind === 'name' ? operand.pair : undefined;
    addOperands(found, context, { form, spec, operand });
  }
  if (next < given.length) reader.fail(given[next]!.offset, `${given.length} operands`);
  if (pair !== undefined) reader.fail(offset, 'a second destination');
  return found;
}

interface Given {
  readonly form: Form;
  readonly spec: OperandRule;
  readonly operand: PtxOperand;
}

/** Adds the operands of the machine that an operand of the text becomes. */
function addOperands(found: LirOperand[], context: Context, { form, spec, operand }: Given): void {
  const reader: OperandReader = context.reader;
  if (spec.kind === 'address') {
    if (operand.kind !== 'address') reader.fail(operand.offset, 'an operand without brackets');
    found.push(...reader.address(operand));
    return;
  }
  const known = form.operands.get(spec);
  const own = known ?? formOperand(spec, form.modifiers);
  if (!known) form.operands.set(spec, own);
  const elements = reader.elementsOf(operand);
  if ((elements !== undefined) !== own.isVector || (elements?.length ?? 1) !== own.count)
    reader.fail(operand.offset, 'an operand');
  const isExact = !RELAXED.has(form.row.className);
  const add = (element: PtxOperand): void => {
    if (element.kind !== 'name' && element.kind !== 'constant') reader.fail(element.offset, 'an operand');
    found.push(elementOf(context, element, { type: own.type, isExact, isWritten: spec.kind === 'write' }));
  };
  if (elements) elements.forEach(add);
  else add(operand);
}

interface ElementRule {
  readonly type: PtxType;
  readonly isExact: boolean;
  readonly isWritten: boolean;
}

function elementOf(context: Context, element: Element, { type, isExact, isWritten }: ElementRule): LirOperand {
  const { reader } = context;
  if (isWritten) return reader.write(element, type, isExact);
  if (element.kind === 'name' && reader.isPlaced(element)) return addressOf(context, element, type);
  const value = reader.read(element, type, isExact);
  return element.kind === 'name' && element.isNegated ? opposite(context, value, type) : value;
}

/** Where a variable of the lane or the kernel is, as a register of its own. */
function addressOf(
  { before, scoped, reader }: Context,
  { name, addend, offset }: NameOperand,
  type: PtxType,
): LirOperand {
  if (bitsOf(type) !== 64) reader.fail(offset, 'an address of less than 64 bits');
  const { register } = scoped.scope.temporary('u64');
  before.push(lir('address.u64', [register, ...reader.placeOf(name, addend, offset)], scoped.instruction.offset));
  return register;
}

/** `!p` as a register of its own. */
function opposite({ before, scoped, reader }: Context, value: LirOperand, type: PtxType): LirOperand {
  const { offset } = scoped.instruction;
  if (type !== 'pred') reader.fail(offset, "an operand with '!'");
  const { register } = scoped.scope.temporary('pred');
  before.push(lir('not.pred', [register, value], offset));
  return register;
}

/**
 * Where no threads are counted, all of the block that have not ended wait for each other, whatever number the
 * barrier has.
 */
function barrier({ source, scoped, countsAtBarriers }: Context, number: LirOperand, count: LirOperand): Lir {
  const { form, instruction } = scoped;
  const { operands, offset } = instruction;
  if (number.kind === 'constant' && number.value > 15n) {
    throw source.error(offset, `barrier ${number.value}, at most 15`);
  }
  const isCounted = operands.length === form.row.operands.length;
  const threads = isCounted && count.kind === 'constant' ? count.value : undefined;
  if (threads !== undefined && (threads === 0n || threads % WARP_SIZE !== 0n)) {
    throw source.error(offset, `a barrier of ${threads} threads, which is no multiple of ${WARP_SIZE}`);
  }
  if (!countsAtBarriers) return lir('wave_bar', [], offset);
  return lir(`wave_numbered${form.modifiers['arrive'] ? '.arrive' : ''}`, [number, count], offset);
}

type Expand = (context: Context, operands: readonly LirOperand[]) => Lir[];

const EXPANSIONS: Readonly<Record<Expansion, Expand>> = {
  barrier: (context, [number, count = constant(0)]) => [barrier(context, number!, count)],
  // Votes are counted again and again in one place: what was there before is no vote of this time.
  votingBarrier: (context, [to, number, count, predicate]) => {
    const { scope, form, instruction } = context.scoped;
    const { offset } = instruction;
    const { op } = form.modifiers;
    const place = scope.find(VOTES);
    const address = scope.temporary('b32').register;
    const votes = [address, constant(place?.kind === 'shared' ? place.offset : 0)];
    const [before, own, sum] = [0, 1, 2].map(() => scope.temporary('b32').register) as FunctionRegister[];
    const [yes, no] = op === 'and' ? [0, 1] : [1, 0];
    return [
      lir('shl.b32', [address, number!, constant(2)], offset),
      lir('ld.volatile.shared.u32', [before!, ...votes], offset),
      ...whenAll([barrier(context, number!, count!)], WAITS.here),
      lir('selp.u32', [own!, constant(yes), constant(no), predicate!], offset),
      lir('red.shared.add.u32', [...votes, own!], offset),
      ...whenAll([barrier(context, number!, count!)], WAITS.here),
      lir('ld.volatile.shared.u32', [sum!, ...votes], offset),
      lir('sub.u32', [op === 'popc' ? to! : sum!, sum!, before!], offset),
      ...(op === 'popc'
        ? []
        : [lir(`setp.${op === 'and' ? 'eq' : 'ne'}.u32`, [to!, constant(0), sum!, constant(0)], offset)]),
    ];
  },
  meet: ({ scoped }) => [lir('wave_meet', [], scoped.instruction.offset)],
  // Where others wait for their turn, they have it first.
  nap: ({ scoped }) => whenAll([lir('wave_nap', [], scoped.instruction.offset)], WAITS.turn),
  vote: ({ scoped, guard }, [to, predicate, members = constant(0xffffffff)]) => {
    const { form, instruction } = scoped;
    const { offset } = instruction;
    const { mode, type } = form.modifiers;
    return [
      lir('wave_vote', [PLACES.vote, predicate!], offset, { guard }),
      lir(`wave_voted.${mode}.${type}`, [to!, PLACES.vote, members], offset, { guard }),
    ];
  },
  // Copies are done when the next instruction begins.
  copy: ({ scoped, guard, source }, operands) => {
    const { offset, operands: given } = scoped.instruction;
    const [toBase, toOffset, fromBase, fromOffset, size, some] = operands;
    const sourceSize = given.length > 3 ? some : constant(-1);
    const sizeBytes = size?.kind === 'constant' ? Number(size.value) : 0;
    if (![4, 8, 16].includes(sizeBytes)) throw source.error(offset, 'a copy of other than 4, 8 or 16 bytes');
    const all = [toBase!, toOffset!, fromBase!, fromOffset!, sourceSize!];
    return [lir(`wave_copy.b${sizeBytes}`, all, offset, { guard })];
  },
  // The destinations may be sources, too.
  product: ({ scoped }, operands) => {
    const { form, scope, instruction } = scoped;
    const { offset } = instruction;
    const { row, modifiers } = form;
    let next = 0;
    const [results, left, right, sums] = row.operands.map((spec) => {
      const count = countOf(spec, modifiers);
      next += count;
      return operands.slice(next - count, next);
    });
    const type = bitsOf(typeOf(row.operands[0]!, modifiers)) === 64 ? 'b64' : 'b32';
    const code: Lir[] = [];
    const copies: Lir[] = [];
    let partial: LirOperand[] = [];
    for (const part of row.parts!(modifiers)) {
      const { register } = scope.temporary(type);
      const own = part.sums.map((i) => (part.isPartial ? partial : sums!)[i]!);
      const factors = [...part.left.map((i) => left![i]!), ...part.right.map((i) => right![i]!)];
      code.push(lir(part.opcode, [register, ...factors, ...own], offset));
      if (part.result === undefined) partial.push(register);
      else {
        copies.push(lir(`mov.${type}`, [results![part.result]!, register], offset));
        partial = [];
      }
    }
    return [...code, ...copies];
  },
  // Each element is an atomic of its own. A result may stand where the address or a later value was.
  pairs: (context, operands) => {
    const { form, scope, instruction } = context.scoped;
    const { offset } = instruction;
    const { vec, type } = form.modifiers as { vec: string; type: PtxType }; // reason: rows of vectors have both
    const count = Number(vec.slice(1));
    const isFetching = form.row.operands[0]!.kind === 'write';
    const results = operands.slice(0, isFetching ? count : 0);
    const [base, place, ...values] = operands.slice(results.length);
    const pair = formOf(form.opcode.replace(`.${vec}`, '.v2').replace('.L2::cache_hint', ''))!;
    const found = results.map(() => scope.temporary('b32').register);
    const at = (first: number): LirOperand =>
      constant((place as { value: bigint }).value + BigInt(first * sizeOf(type))); // reason: an address is a base and a number
    const code: Lir[] = [];
    for (let i = 0; i < count; i += 2) {
      code.push(machine(context, pair, [...found.slice(i, i + 2), base!, at(i), ...values.slice(i, i + 2)]));
    }
    const { guard } = context;
    return [...code, ...found.map((register, i) => lir('mov.b32', [results[i]!, register], offset, { guard }))];
  },
  // A result may stand where the address was.
  tile: ({ scoped }, operands) => {
    const { form, scope, instruction } = scoped;
    const { offset } = instruction;
    const { row, modifiers } = form;
    const { load = 'store', matrix, order, shape, space, type } = modifiers;
    const parts = ['wave_tile', load, matrix, order, shape, space, type].filter((part) => part !== undefined);
    const opcode = (i: number): string => `${parts.join('.')}.i${i}`;
    const stride = operands.at(-1)!;
    if (load === 'store') {
      const [base, place, ...stored] = operands.slice(0, -1);
      return stored.map((register, i) => lir(opcode(i), [base!, place!, register, stride], offset));
    }
    const loaded = operands.slice(0, -3);
    const [base, place] = operands.slice(-3);
    const name = `b${bitsOf(typeOf(row.operands[0]!, modifiers))}` as 'b32' | 'b64'; // reason: no element is narrower
    const registers = loaded.map(() => scope.temporary(name).register);
    return [
      ...registers.map((register, i) => lir(opcode(i), [register, base!, place!, stride], offset)),
      ...registers.map((register, i) => lir(`mov.${name}`, [loaded[i]!, register], offset)),
    ];
  },
  move: (context) => move(context),
  alloca: ({ scoped, source, frame, guard }, [to, size, alignment]) => {
    const { offset } = scoped.instruction;
    if (guard) throw source.error(offset, "a guard of 'alloca'", 'UNSUPPORTED');
    if (alignment && alignment.kind !== 'constant') throw source.error(offset, 'an alignment that is no number');
    const bytes = Number(alignment?.value ?? 0n) || frame.alignmentBytes;
    if ((bytes & (bytes - 1)) !== 0) throw source.error(offset, `an alignment of ${bytes}`);
    const top = frame.top!;
    const aligned = (to: number): Lir[] => [
      lir('add.u32', [top, top, constant(to - 1)], offset),
      lir('and.b32', [top, top, constant(-to)], offset),
    ];
    const { register } = scoped.scope.temporary('b32');
    return [
      ...(bytes > frame.alignmentBytes ? aligned(bytes) : []),
      lir('cvt.u64.u32', [to!, top], offset),
      lir('cvt.u32.u64', [register, size!], offset),
      lir('add.u32', [top, top, register], offset),
      ...aligned(frame.alignmentBytes),
    ];
  },
  stacksave: ({ scoped, frame, guard }, [to]) => [
    lir('cvt.u64.u32', [to!, frame.top!], scoped.instruction.offset, { guard }),
  ],
  stackrestore: ({ scoped, frame, guard }, [from]) => [
    lir('cvt.u32.u64', [frame.top!, from!], scoped.instruction.offset, { guard }),
  ],
};

/** Moves pack and unpack vectors, take addresses and read special registers. */
function move(context: Context): Lir[] {
  const { scoped, reader, guard } = context;
  const { form, instruction } = scoped;
  const { operands, offset } = instruction;
  const [to, from] = operands;
  if (operands.length !== 2 || !to || !from) return reader.fail(offset, `${operands.length} operands`);
  const type = typeOf({ type: 'type' }, form.modifiers);
  const bits = bitsOf(type);
  const [toElements, fromElements] = [reader.elementsOf(to), reader.elementsOf(from)];
  const vector = toElements ?? fromElements;
  if (vector) {
    const part = `b${bits / vector.length}` as PtxType; // reason: rows of other vectors do not exist, which lir says
    const known = `${vector.length}x${bits}`;
    if (!VECTOR_MOVES.has(known) || (toElements && fromElements)) {
      return reader.fail(offset, 'a vector');
    }
    const one = (toElements ? from : to) as Element;
    if (one.kind !== 'name' && one.kind !== 'constant') return reader.fail(offset, 'an operand');
    const suffix = `v${vector.length}.b${bits}`;
    if (toElements) {
      const list = [...vector.map((each) => reader.write(each, part, true)), reader.read(one, type, true)];
      return [lir(`unpack.${suffix}`, list, offset, { guard })];
    }
    const list = [reader.write(one, type, true), ...vector.map((each) => reader.read(each, part, true))];
    return [lir(`pack.${suffix}`, list, offset, { guard })];
  }
  if (from.kind === 'name' && computedRegister(from) !== undefined && to.kind === 'name') {
    return [lir(`special.${computedRegister(from)}`, [reader.write(to, type, true)], offset, { guard })];
  }
  if (from.kind === 'name' && reader.isPlaced(from)) {
    if (to.kind !== 'name' || bits !== 64) return reader.fail(offset, 'an address of less than 64 bits');
    const place = reader.placeOf(from.name, from.addend, from.offset);
    return [lir('address.u64', [reader.write(to, type, true), ...place], offset, { guard })];
  }
  return [machine(context, form, operandsOf(context, form, operands))];
}

/** Elements and bits of vectors that moves take. */
const VECTOR_MOVES = new Set(['2x16', '2x32', '2x64', '4x32', '4x64']);
