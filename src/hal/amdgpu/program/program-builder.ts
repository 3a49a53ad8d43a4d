/**
 * Packs commands into blocks. A block that is full ends in a branch to the next one; where control may come
 * from elsewhere a block begins. Where things lie is known at the end, so commands are written then.
 */
import { alignUp } from '../../../base/align.ts';
import {
  ABI_VERSION,
  ACQUIRE_SHIFT,
  BARRIER,
  BLOCK,
  BLOCK_MAGIC,
  BRANCH,
  COMMAND,
  COMMAND_BYTES,
  COMMAND_FLAG,
  type CommandOpcode,
  FENCE_SCOPE,
  OPCODE,
  RELEASE_SHIFT,
  SOURCE,
} from './abi.ts';

/** Where the pointer of a binding comes from; flags are `SOURCE_FLAG`. */
export interface BindingSource {
  /** An address, or an offset in what is in the slot. */
  readonly pointer: bigint;
  readonly slot: number;
  /** Where it goes in the arguments. */
  readonly qword: number;
  readonly flags: number;
}

/** Offsets in the block, of a command that is being written. */
export interface CommandPlace {
  readonly start: number;
  readonly sourceOffset: number;
  readonly dataOffset: number;
}

export interface CommandDraft {
  readonly opcode: CommandOpcode;
  /** Index of the recorded command. */
  readonly index: number;
  /** Writes what is behind the command's header; offsets count from the start of the block. */
  readonly write: (block: DataView, place: CommandPlace) => void;
  readonly sources?: readonly BindingSource[];
  readonly data?: Uint8Array | undefined;
  /** What it takes at most; 0 packets for a command that makes none. */
  readonly packetCount?: number;
  readonly kernargBytes?: number;
  readonly isDispatch?: boolean;
  readonly isIndirect?: boolean;
}

/** A place in the program that control can go to. */
export interface ProgramLabel {
  /** Known when the program is finished, where the label was placed. */
  ordinal: number | undefined;
}

interface Entry extends CommandDraft {
  flags: number;
}

interface OpenBlock {
  readonly entries: Entry[];
  bytes: number;
  sourceCount: number;
}

const emptyBlock = (): OpenBlock => ({ entries: [], bytes: BLOCK.sizeBytes, sourceCount: 0 });

/** Usable bytes of a block, unless one command alone needs more. */
export const BLOCK_BYTES = 131_072;
export const MIN_BLOCK_BYTES = 256;
const MAX_COUNT = 0xffff;
/** The longest command that ends a block has room always. */
const TERMINATOR_BYTES = COMMAND_BYTES[OPCODE.conditionalBranch] + SOURCE.sizeBytes;

const bytesOf = ({ opcode, sources = [], data }: CommandDraft): number =>
  COMMAND_BYTES[opcode] + SOURCE.sizeBytes * sources.length + alignUp(data?.length ?? 0, 8);

export class ProgramBuilder {
  readonly #blockBytes: number;
  readonly #blocks: OpenBlock[] = [];
  #block = emptyBlock();
  /** The next command that makes packets waits for all before it. */
  #isBarrierPending = false;

  constructor(blockBytes = BLOCK_BYTES) {
    this.#blockBytes = Math.max(blockBytes, MIN_BLOCK_BYTES);
  }

  label(): ProgramLabel {
    return { ordinal: undefined };
  }

  /** Here is where it leads; what comes behind waits for all before. */
  place(label: ProgramLabel): void {
    if (this.#block.entries.length > 0) this.#split();
    label.ordinal = this.#blocks.length;
    this.#isBarrierPending = true;
  }

  add(draft: CommandDraft): void {
    const { entries, bytes } = this.#block;
    const isFull = bytes + bytesOf(draft) + TERMINATOR_BYTES > this.#blockBytes || this.#isCounted(draft);
    if (isFull && entries.length > 0) this.#split();
    let flags = (draft.kernargBytes ?? 0) > 0 ? COMMAND_FLAG.usesKernargs : 0;
    if (this.#isBarrierPending && (draft.packetCount ?? 0) > 0) {
      flags |= COMMAND_FLAG.barrier | (FENCE_SCOPE.system << ACQUIRE_SHIFT);
      this.#isBarrierPending = false;
    }
    this.#push(draft, flags);
  }

  #push(draft: CommandDraft, flags: number): void {
    this.#block.entries.push({ ...draft, flags });
    this.#block.bytes += bytesOf(draft);
    this.#block.sourceCount += draft.sources?.length ?? 0;
  }

  /** Whether a count of 16 bits in the header is used up. */
  #isCounted({ sources = [] }: CommandDraft): boolean {
    const { entries, sourceCount } = this.#block;
    return entries.length + 2 > MAX_COUNT || sourceCount + sources.length + 1 > MAX_COUNT;
  }

  /** What comes behind begins when all before has ended. Barriers without a command between them are one. */
  barrier(index: number): void {
    this.#isBarrierPending = true;
    const last = this.#block.entries.at(-1);
    if (last?.opcode === OPCODE.barrier) return;
    if (last !== undefined && (last.packetCount ?? 0) > 0) last.flags |= FENCE_SCOPE.system << RELEASE_SHIFT;
    this.add({
      opcode: OPCODE.barrier,
      index,
      write: (block, { start }) => {
        block.setUint8(start + BARRIER.acquire, FENCE_SCOPE.system);
        block.setUint8(start + BARRIER.release, FENCE_SCOPE.system);
      },
    });
  }

  /** Ends the block with a command that says where control goes on. */
  terminate(draft: CommandDraft): void {
    this.#push(draft, 0);
    this.#blocks.push(this.#block);
    this.#block = emptyBlock();
    this.#isBarrierPending = true;
  }

  /** Goes on in the next block, without waiting for anything. */
  #split(): void {
    const wasPending = this.#isBarrierPending;
    const next = this.#blocks.length + 1;
    this.terminate(branch(0, () => next));
    this.#isBarrierPending = wasPending;
  }

  /** Ends the last block with a return; labels have their blocks. */
  finish(index: number): Uint8Array[] {
    this.terminate({ opcode: OPCODE.return, index, write: () => {} });
    return this.#blocks.map((block, ordinal) => encodeBlock(block, ordinal));
  }
}

export const branch = (index: number, target: () => number): CommandDraft => ({
  opcode: OPCODE.branch,
  index,
  write: (block, { start }) => block.setUint32(start + BRANCH.target, target(), true),
});

/** Of a block, from its commands. */
function totalsOf(entries: readonly Entry[]) {
  const sum = (of: (entry: Entry) => number): number => entries.reduce((total, entry) => total + of(entry), 0);
  const packets = entries.map(({ packetCount = 0 }) => packetCount);
  const isPacket = (entry: Entry): boolean => (entry.packetCount ?? 0) > 0;
  const waiting = entries.findIndex((entry) => isPacket(entry) && (entry.flags & COMMAND_FLAG.barrier) !== 0);
  const initial = waiting < 0 ? entries.length : waiting + 1;
  return {
    commandBytes: sum(({ opcode }) => COMMAND_BYTES[opcode]),
    dataBytes: sum(({ data }) => alignUp(data?.length ?? 0, 8)),
    sourceCount: sum(({ sources = [] }) => sources.length),
    maxPackets: sum(({ packetCount = 0 }) => packetCount),
    maxKernargBytes: sum(({ kernargBytes = 0 }) => kernargBytes),
    initialPackets: packets.slice(0, initial).reduce((total, count) => total + count, 0),
    dispatchCount: sum(({ isDispatch }) => (isDispatch ? 1 : 0)),
    indirectDispatchCount: sum(({ isIndirect }) => (isIndirect ? 1 : 0)),
  };
}

function encodeBlock({ entries }: OpenBlock, ordinal: number): Uint8Array {
  const totals = totalsOf(entries);
  const dataOffset = BLOCK.sizeBytes + totals.commandBytes;
  const sourceOffset = dataOffset + totals.dataBytes;
  const block = new Uint8Array(sourceOffset + SOURCE.sizeBytes * totals.sourceCount);
  const view = new DataView(block.buffer);
  writeHeader(view, { ...totals, dataOffset, sourceOffset, ordinal, entries });
  const place = { start: BLOCK.sizeBytes as number, sourceOffset, dataOffset };
  for (const entry of entries) {
    const { opcode, flags, index, sources = [], data } = entry;
    const { start } = place;
    view.setUint8(start + COMMAND.opcode, opcode);
    view.setUint8(start + COMMAND.flags, flags);
    view.setUint16(start + COMMAND.qwords, COMMAND_BYTES[opcode] / 8, true);
    view.setUint32(start + COMMAND.index, index, true);
    entry.write(view, place);
    for (const source of sources) {
      writeSource(view, place.sourceOffset, source);
      place.sourceOffset += SOURCE.sizeBytes;
    }
    if (data !== undefined) block.set(data, place.dataOffset);
    place.dataOffset += alignUp(data?.length ?? 0, 8);
    place.start += COMMAND_BYTES[opcode];
  }
  return block;
}

interface BlockFacts extends ReturnType<typeof totalsOf> {
  readonly dataOffset: number;
  readonly sourceOffset: number;
  readonly ordinal: number;
  readonly entries: readonly Entry[];
}

function writeHeader(view: DataView, facts: BlockFacts): void {
  const { entries } = facts;
  const set16 = (at: number, value: number) => view.setUint16(at, value, true);
  const set32 = (at: number, value: number) => view.setUint32(at, value, true);
  set32(BLOCK.magic, BLOCK_MAGIC);
  set16(BLOCK.version, ABI_VERSION);
  set16(BLOCK.headerBytes, BLOCK.sizeBytes);
  set32(BLOCK.ordinal, facts.ordinal);
  set32(BLOCK.branchTarget, facts.ordinal + 1);
  set32(BLOCK.lengthBytes, view.byteLength);
  set32(BLOCK.commandOffset, BLOCK.sizeBytes);
  set32(BLOCK.commandBytes, facts.commandBytes);
  set32(BLOCK.sourceOffset, facts.sourceOffset);
  set16(BLOCK.commandCount, entries.length);
  set16(BLOCK.sourceCount, facts.sourceCount);
  set32(BLOCK.maxPackets, facts.maxPackets);
  set32(BLOCK.maxKernargBytes, facts.maxKernargBytes);
  set32(BLOCK.initialPackets, facts.initialPackets);
  set32(BLOCK.dataOffset, facts.dataOffset);
  set32(BLOCK.dataBytes, facts.dataBytes);
  set16(BLOCK.dispatchCount, facts.dispatchCount);
  set16(BLOCK.indirectDispatchCount, facts.indirectDispatchCount);
  view.setUint8(BLOCK.terminator, entries.at(-1)!.opcode);
}

function writeSource(view: DataView, at: number, { pointer, slot, qword, flags }: BindingSource): void {
  view.setBigUint64(at + SOURCE.pointer, pointer, true);
  view.setUint32(at + SOURCE.slot, slot, true);
  view.setUint16(at + SOURCE.qword, qword, true);
  view.setUint8(at + SOURCE.flags, flags);
}
