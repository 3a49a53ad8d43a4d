/**
 * Registers over calls. A function that is called uses the same rows, so what lives across a call is put into
 * the frame before, and taken from there behind.
 */
import type { Frame } from './frame.ts';
import type { LinearBlock, LinearCode } from './linearize.ts';
import { eachRead, eachWritten, type FunctionRegister, type Lir, lir } from './lir.ts';
import { visitLive } from './live-registers.ts';

export function keepRegisters(code: LinearCode, frame: Frame): LinearCode {
  if (!code.blocks.some((block) => block.code.some(({ keeping }) => keeping))) return code;
  const kept = keptRegisters(code);
  const places = new Map<number, number>();
  const placeOf = ({ id, dwords }: FunctionRegister): number => {
    const known = places.get(id);
    if (known !== undefined) return known;
    const place = frame.place(dwords * 4, dwords * 4);
    places.set(id, place);
    return place;
  };
  const move = (opcode: 'ld' | 'st', register: FunctionRegister, offset: number): Lir => {
    const at = frame.at(placeOf(register));
    const operands = opcode === 'ld' ? [register, ...at] : [...at, register];
    return lir(`${opcode}.local.b${register.dwords * 32}`, operands, offset);
  };
  const around = (line: Lir): readonly Lir[] => {
    const { keeping, offset } = line;
    if (!keeping) return [line];
    const registers = kept.get(keeping.call)!;
    if (keeping.kind === 'save') return [...registers.map((each) => move('st', each, offset)), line];
    return [line, ...registers.map((each) => move('ld', each, offset))];
  };
  return { blocks: code.blocks.map((block) => ({ ...block, code: block.code.flatMap(around) })) };
}

/** What is needed behind each call, by its number. */
function keptRegisters(code: LinearCode): ReadonlyMap<number, readonly FunctionRegister[]> {
  const kept = new Map<number, readonly FunctionRegister[]>();
  const behind = code.blocks.map((block) =>
    block.code.some(({ keeping }) => keeping) ? new Map<number, FunctionRegister>() : undefined,
  );
  visitLive(code, { behind: (register, block) => behind[block]?.set(register.id, register) });
  code.blocks.forEach((block, i) => {
    for (const [call, registers] of keptIn(block, behind[i])) kept.set(call, registers);
  });
  return kept;
}

/** `live`: what is needed behind the block, if it calls. */
function* keptIn(
  { code }: LinearBlock,
  live: Map<number, FunctionRegister> | undefined,
): Generator<readonly [number, readonly FunctionRegister[]]> {
  if (!live) return;
  const written = ({ id }: FunctionRegister): boolean => live.delete(id);
  const read = (register: FunctionRegister): unknown => live.set(register.id, register);
  for (let at = code.length - 1; at >= 0; at--) {
    const line = code[at]!;
    if (line.keeping?.kind === 'restore') yield [line.keeping.call, [...live.values()]];
    eachWritten(line, written);
    eachRead(line, read);
  }
}
