/** What is wrong with the blocks of a program, all of it: everything that a processor relies on. */
import {
  ABI_VERSION,
  BINDING_KIND,
  BLOCK,
  BLOCK_MAGIC,
  BRANCH,
  COMMAND,
  COMMAND_BYTES,
  CONDITIONAL_BRANCH,
  COPY,
  type CommandOpcode,
  DISPATCH,
  DISPATCH_INDIRECT,
  FILL,
  HOST_STEP,
  OPCODE,
  PROGRAM_DATA,
  SOURCE,
  SOURCE_FLAG,
  STRATEGY,
  UPDATE,
} from './abi.ts';
import type { CommandBlock, CommandProgram } from './program.ts';

export interface ProgramFinding {
  readonly block: number;
  /** In the block, in bytes. */
  readonly offset: number;
  readonly message: string;
}

type ProgramTables = Pick<CommandProgram, 'blocks' | 'statics' | 'data' | 'nested' | 'events'> & {
  readonly slotCount: number;
  readonly kernargBytes: number;
};

const OPCODES: ReadonlySet<number> = new Set(Object.values(OPCODE));
const TERMINATORS: ReadonlySet<number> = new Set([
  ...[OPCODE.branch, OPCODE.conditionalBranch, OPCODE.return],
  ...[OPCODE.execute, OPCODE.setEvent, OPCODE.resetEvent, OPCODE.waitEvents],
]);
const STRATEGIES: ReadonlySet<number> = new Set([
  ...[STRATEGY.hal, STRATEGY.prepublished, STRATEGY.patchedTemplate, STRATEGY.dynamicBindings, STRATEGY.host],
]);

/** Empty: the program can be executed. */
export function validateProgram(tables: ProgramTables): ProgramFinding[] {
  const findings: ProgramFinding[] = [];
  for (const [ordinal, block] of tables.blocks.entries()) {
    const say = (offset: number, message: string) => void findings.push({ block: ordinal, offset, message });
    if (checkHeader(block, ordinal, say)) new CommandCheck(block, tables, say).run();
  }
  if (tables.blocks.length === 0) findings.push({ block: 0, offset: 0, message: 'there is no block' });
  return findings;
}

type Say = (offset: number, message: string) => void;

/** Returns whether its regions can be looked at. */
function checkHeader(block: CommandBlock, ordinal: number, say: Say): boolean {
  const { length } = block.bytes;
  if (length < BLOCK.sizeBytes) {
    say(0, `a block of ${length} bytes, its header has ${BLOCK.sizeBytes}`);
    return false;
  }
  const dataOffset = block.field32(BLOCK.commandOffset) + block.field32(BLOCK.commandBytes);
  const sourceOffset = dataOffset + block.field32(BLOCK.dataBytes);
  const end = sourceOffset + SOURCE.sizeBytes * block.field16(BLOCK.sourceCount);
  const rows: readonly (readonly [what: string, offset: number, found: number, expected: number])[] = [
    ['magic number', BLOCK.magic, block.field32(BLOCK.magic), BLOCK_MAGIC],
    ['version', BLOCK.version, block.field16(BLOCK.version), ABI_VERSION],
    ['header length', BLOCK.headerBytes, block.field16(BLOCK.headerBytes), BLOCK.sizeBytes],
    ['ordinal', BLOCK.ordinal, block.field32(BLOCK.ordinal), ordinal],
    ['length', BLOCK.lengthBytes, block.field32(BLOCK.lengthBytes), length],
    ['command offset', BLOCK.commandOffset, block.field32(BLOCK.commandOffset), BLOCK.sizeBytes],
    ['data offset', BLOCK.dataOffset, block.field32(BLOCK.dataOffset), dataOffset],
    ['binding source offset', BLOCK.sourceOffset, block.field32(BLOCK.sourceOffset), sourceOffset],
    ['end of the binding sources', BLOCK.sourceCount, end, length],
  ];
  const wrong = rows.filter(([, , found, expected]) => found !== expected);
  for (const [what, offset, found, expected] of wrong) say(offset, `${what} ${found}, expected ${expected}`);
  return wrong.length === 0;
}

/** Looks at the commands of one block. */
class CommandCheck {
  readonly #block: CommandBlock;
  readonly #tables: ProgramTables;
  readonly #say: Say;

  constructor(block: CommandBlock, tables: ProgramTables, say: Say) {
    this.#block = block;
    this.#tables = tables;
    this.#say = say;
  }

  run(): void {
    const block = this.#block;
    const end = block.field32(BLOCK.dataOffset);
    let [count, last] = [0, 0];
    for (let at = block.field32(BLOCK.commandOffset); at < end; ) {
      const opcode = block.bytes[at + COMMAND.opcode]!;
      const problem = this.#shapeProblem(at, opcode, last, end);
      if (problem !== undefined) {
        this.#say(at, problem);
        return;
      }
      this.#command(at, opcode);
      count++;
      last = opcode;
      at += 8 * block.field16(at + COMMAND.qwords);
    }
    if (!TERMINATORS.has(last)) this.#say(end, 'the last command does not end the block');
    if (block.terminator !== last) this.#say(BLOCK.terminator, `terminator ${block.terminator}, expected ${last}`);
    const told = block.field16(BLOCK.commandCount);
    if (told !== count) this.#say(BLOCK.commandCount, `${told} commands, expected ${count}`);
  }

  /** Why what follows cannot be read. */
  #shapeProblem(at: number, opcode: number, last: number, end: number): string | undefined {
    if (TERMINATORS.has(last)) return 'a command behind the one that ends the block';
    if (!OPCODES.has(opcode)) return `opcode ${opcode} is not known`;
    const expected = COMMAND_BYTES[opcode as CommandOpcode]; // reason: it is one of them
    const found = 8 * this.#block.field16(at + COMMAND.qwords);
    if (found === expected && at + found <= end) return undefined;
    return `a command ${opcode} of ${found} bytes, expected ${expected}`;
  }

  #command(at: number, opcode: number): void {
    const { blocks, nested, events } = this.#tables;
    switch (opcode) {
      case OPCODE.dispatch:
        this.#dispatch(at);
        break;
      case OPCODE.fill:
        if (![1, 2, 4, 8].includes(this.#block.bytes[at + FILL.patternBytes]!))
          this.#say(at, 'a pattern of no known size');
        this.#buffer(at, FILL.target, FILL.targetKind);
        break;
      case OPCODE.copy:
        this.#buffer(at, COPY.source, COPY.sourceKind);
        this.#buffer(at, COPY.target, COPY.targetKind);
        break;
      case OPCODE.update:
        this.#update(at);
        break;
      case OPCODE.branch:
        this.#ordinal(at, BRANCH.target, blocks, 'block');
        break;
      case OPCODE.conditionalBranch:
        this.#conditional(at);
        break;
      case OPCODE.execute:
        this.#ordinal(at, HOST_STEP.target, blocks, 'block');
        this.#ordinal(at, HOST_STEP.ordinal, nested, 'program');
        break;
      case OPCODE.setEvent:
      case OPCODE.resetEvent:
      case OPCODE.waitEvents:
        this.#ordinal(at, HOST_STEP.target, blocks, 'block');
        this.#ordinal(at, HOST_STEP.ordinal, events, 'list of events');
    }
  }

  #ordinal(at: number, offset: number, { length }: { readonly length: number }, what: string): void {
    const value = this.#block.view.getUint32(at + offset, true);
    if (value >= length) this.#say(at, `${what} ${value}, there are ${length}`);
  }

  #buffer(at: number, offset: number, kindOffset: number): void {
    const { statics, slotCount } = this.#tables;
    const kind = this.#block.bytes[at + kindOffset];
    if (kind === BINDING_KIND.static) this.#ordinal(at, offset, statics, 'buffer');
    else if (kind === BINDING_KIND.dynamic) this.#ordinal(at, offset, { length: slotCount }, 'slot');
    else this.#say(at, `binding kind ${kind}, expected 1 or 2`);
  }

  #update(at: number): void {
    const { view } = this.#block;
    const contents = this.#tables.data[Number(view.getBigUint64(at + UPDATE.data, true))];
    const length = view.getUint32(at + UPDATE.length, true);
    if (contents?.length !== length)
      this.#say(at, `an update of ${length} bytes, its contents are ${contents?.length}`);
    this.#buffer(at, UPDATE.target, UPDATE.targetKind);
  }

  #conditional(at: number): void {
    const { blocks } = this.#tables;
    this.#ordinal(at, CONDITIONAL_BRANCH.whenTrue, blocks, 'block');
    this.#ordinal(at, CONDITIONAL_BRANCH.whenFalse, blocks, 'block');
    const width = this.#block.bytes[at + CONDITIONAL_BRANCH.widthBytes];
    if (width !== 4) this.#say(at, `a condition of ${width} bytes, expected 4`);
    this.#sources(this.#block.view.getUint32(at + CONDITIONAL_BRANCH.source, true), 1, 1);
  }

  #dispatch(at: number): void {
    const block = this.#block;
    const strategy = block.bytes[at + DISPATCH.strategy]!;
    if (!STRATEGIES.has(strategy)) this.#say(at, `strategy ${strategy} is not known`);
    if (!STRATEGIES.has(strategy) || strategy === STRATEGY.host) return;
    const bindings = block.field16(at + DISPATCH.bindingCount);
    const tail = block.field16(at + DISPATCH.tailQwords);
    const qwords = block.field16(at + DISPATCH.kernargQwords);
    const isScattered = strategy === STRATEGY.dynamicBindings;
    const patches = isScattered ? bindings : strategy === STRATEGY.prepublished ? 0 : tail;
    const counts = (block.bytes[at + DISPATCH.flags]! & DISPATCH_INDIRECT) !== 0 ? 1 : 0;
    this.#sources(block.field32(at + DISPATCH.sourceOffset), patches + counts, qwords);
    if (isScattered && tail + bindings !== qwords) {
      this.#say(at, `${tail} qwords behind ${bindings} bindings, expected ${qwords} together`);
    }
    this.#payload(at, strategy, 8 * (isScattered ? tail : qwords));
  }

  #payload(at: number, strategy: number, neededBytes: number): void {
    const block = this.#block;
    const payload = block.field32(at + DISPATCH.payload);
    const [start, end] =
      strategy === STRATEGY.prepublished
        ? [0, this.#tables.kernargBytes]
        : payload >= PROGRAM_DATA
          ? [payload, payload + Math.ceil((this.#tables.data[payload - PROGRAM_DATA]?.length ?? 0) / 8) * 8]
          : [block.field32(BLOCK.dataOffset), block.field32(BLOCK.sourceOffset)];
    if (payload >= start && payload + neededBytes <= end) return;
    this.#say(at, `arguments of ${neededBytes} bytes at ${payload}, expected them from ${start} to ${end}`);
  }

  #sources(start: number, count: number, qwords: number): void {
    if (count === 0) return;
    const block = this.#block;
    const { slotCount, statics } = this.#tables;
    const first = block.field32(BLOCK.sourceOffset);
    const end = start + SOURCE.sizeBytes * count;
    if (start < first || (start - first) % SOURCE.sizeBytes !== 0 || end > block.bytes.length) {
      this.#say(start, `${count} binding sources at ${start}, they begin at ${first}`);
      return;
    }
    for (let at = start; at < end; at += SOURCE.sizeBytes) {
      const flags = block.bytes[at + SOURCE.flags]!;
      if ((flags & SOURCE_FLAG.dynamic) !== 0) this.#ordinal(at, SOURCE.slot, { length: slotCount }, 'slot');
      else if ((flags & SOURCE_FLAG.static) !== 0) this.#ordinal(at, SOURCE.slot, statics, 'buffer');
      const qword = block.field16(at + SOURCE.qword);
      if (qword >= qwords) this.#say(at, `a pointer at qword ${qword} of ${qwords}`);
    }
  }
}
