/** Code with its registers in rows, and its addresses as numbers. */
import { WavewrightError } from '../../base/errors.ts';
import { type CodeInstruction, fits, machineSizeBytes } from '../machine/code.ts';
import type { RowAllocation } from './allocate.ts';
import type { LinearCode } from './linearize.ts';
import type { Lir, LirOperand } from './lir.ts';

export interface PlacedLine {
  readonly line: Lir;
  readonly instruction: CodeInstruction;
  /** From the start of the function. */
  readonly offset: number;
}

export interface PlacedCode {
  readonly lines: readonly PlacedLine[];
  readonly sizeBytes: number;
}

/** A branch holds the distance to its target, unless that is another function. */
export function placeCode({ blocks }: LinearCode, { rows }: RowAllocation, frameBytes: number): PlacedCode {
  const operandOf = (operand: LirOperand): CodeInstruction['operands'][number] => {
    switch (operand.kind) {
      case 'virtual':
        return rows.get(operand.id)!;
      case 'symbol':
        return { kind: 'constant', value: 0n };
      case 'frameEnd':
        return { kind: 'constant', value: BigInt(frameBytes + operand.addend) };
      case 'block':
      case 'label':
      case 'ahead':
        return { kind: 'code', distance: 0 };
      default:
        return operand;
    }
  };
  const starts: number[] = [];
  const resumptions: number[] = [];
  const lines: PlacedLine[] = [];
  const labels = new Map<symbol, number>();
  const asides = new Map<Lir, number>();
  let offset = 0;
  const place = (line: Lir): void => {
    const instruction = instructionOf(line, operandOf);
    lines.push({ line, instruction, offset });
    offset += machineSizeBytes(instruction);
  };
  const placeOwn = (line: Lir): void => {
    if (line.label) labels.set(line.label, offset);
    place(line);
    if (line.labelBehind) labels.set(line.labelBehind, offset);
  };
  for (const { code, joinLength } of blocks) {
    starts.push(offset);
    code.forEach((line, i) => {
      if (i === joinLength) resumptions.push(offset);
      placeOwn(line);
    });
    if (code.length <= joinLength) resumptions.push(offset);
  }
  const own = lines.length;
  for (let index = 0; index < own; index++) {
    const { line } = lines[index]!;
    if (!line.aside) continue;
    const { park, meeting } = line.aside;
    asides.set(line, offset);
    place(park);
    if (!meeting) continue;
    labels.set(meeting.first, offset);
    for (let at = index + 1; ; at++) {
      place(lines[at]!.line);
      if (lines[at]!.line.labelBehind === meeting.last) break;
    }
    place(meeting.part);
  }
  const targetOf = (line: Lir): number | undefined => {
    const { target } = line;
    if (target === undefined) return asides.get(line);
    if (typeof target === 'number') return starts[target]!;
    return target.kind === 'label' ? labels.get(target.label)! + target.addend : resumptions[target.block]!;
  };
  const addressed = lines.map((placed, index): PlacedLine => {
    const { line, instruction, offset: at } = placed;
    if (line.target === undefined && !line.aside && !line.operands.some(isPlaceOfCode)) return placed;
    const operands = instruction.operands.map((operand, i) => {
      const from = line.operands[i];
      if (from?.kind === 'block') return { kind: 'code', distance: resumptions[from.block]! - at } as const;
      if (from?.kind === 'label')
        return { kind: 'code', distance: labels.get(from.label)! + from.addend - at } as const;
      if (from?.kind !== 'ahead') return operand;
      const behind = lines[index + from.instructions + 1]?.offset ?? offset;
      return { kind: 'code', distance: behind - at } as const;
    });
    const target = targetOf(line);
    const distance = target === undefined ? instruction.distance : target - at;
    return { line, instruction: { ...instruction, operands, distance }, offset: at };
  });
  return { lines: addressed, sizeBytes: offset };
}

const isPlaceOfCode = ({ kind }: LirOperand): boolean => kind === 'block' || kind === 'label' || kind === 'ahead';

/** Distances are 0 as yet. Throws LIMIT_EXCEEDED. */
function instructionOf(
  { form, operands, guard }: Lir,
  operandOf: (operand: LirOperand) => CodeInstruction['operands'][number],
): CodeInstruction {
  const sign = guard === undefined ? '' : guard.isNegated ? '@!' : '@';
  const all = guard ? [...operands, guard.register] : operands;
  const distance = form.row.hasTarget ? 0 : undefined;
  const instruction = { opcode: `${sign}${form.opcode}`, operands: all.map(operandOf), distance };
  if (!fits(instruction)) throw new WavewrightError('LIMIT_EXCEEDED', `'${form.opcode}' is too long`);
  return instruction;
}
