/** Recorded commands as a program for one GPU: what can be known now is worked out once. */
import { type CommandBuffer, isSlot, type RecordedCommand, type RecordedRef } from '../../commands/command-buffer.ts';
import type { CheckedDispatch } from '../../commands/queue-dispatch.ts';
import type { HalEvent } from '../../core/hal-event.ts';
import type { HalBuffer } from '../../memory/buffer.ts';
import { type BufferRange, rangeAddress, storageOf } from '../../memory/buffer-ref.ts';
import {
  BINDING_KIND,
  CONDITIONAL_BRANCH,
  COPY,
  DISPATCH,
  DISPATCH_INDIRECT,
  FILL,
  HOST_STEP,
  NO_IMPLICIT,
  OPCODE,
  PROGRAM_DATA,
  SOURCE_FLAG,
  STRATEGY,
  UPDATE,
  WHOLE_LENGTH,
} from './abi.ts';
import { CommandBlock, type CommandProgram, type NestedProgram, type PublishedKernargs } from './program.ts';
import { type BindingSource, branch, type CommandDraft, ProgramBuilder, type ProgramLabel } from './program-builder.ts';

/** What all dispatches of a shape have in common: packet and arguments, without the pointers. */
export interface DispatchLayout {
  readonly kernelObject: bigint;
  /** Work-items; of an indirect dispatch those of one workgroup. */
  readonly grid: readonly number[];
  readonly workgroupSize: readonly number[];
  readonly privateBytes: number;
  readonly groupBytes: number;
  /** The arguments, with constants and hidden ones. */
  readonly template: Uint8Array;
  /** Offsets in the arguments: of each binding, of the queue's address, of the counts of workgroups. */
  readonly bindingOffsets: readonly number[];
  readonly queueOffsets: readonly number[];
  readonly countsOffset: number | undefined;
}

/** What a program is made for. */
export interface ProgramTarget {
  layout(dispatch: CheckedDispatch, groups: readonly [number, number, number]): DispatchLayout;
  /** Memory for arguments that stay. Throws RESOURCE_EXHAUSTED. */
  publish(sizeBytes: number): PublishedKernargs;
  /** Usable bytes of a block. */
  readonly blockBytes?: number | undefined;
}

const KERNARG_ALIGNMENT = 64;
const kernargBytes = (sizeBytes: number): number => Math.ceil(sizeBytes / KERNARG_ALIGNMENT) * KERNARG_ALIGNMENT;
/** Arguments of fills, copies and of the kernel that gives an indirect dispatch its grid. */
export const LIBRARY_KERNARG_BYTES = 64;
const ANY_GROUPS = [1, 1, 1] as const;

/** Whose arguments are not made of qwords, or of more than a command counts. */
const isOdd = ({ template, bindingOffsets }: DispatchLayout): boolean =>
  template.length / 8 > 0xffff || bindingOffsets.some((offset) => offset % 8 !== 0);

type Recorded<Kind extends RecordedCommand['kind']> = Extract<RecordedCommand, { kind: Kind }>;

type ControlCommand = Exclude<RecordedCommand, { kind: 'barrier' | 'fill' | 'copy' | 'update' | 'dispatch' }>;

/** Throws what a launch is refused for, with the limits of the device. */
export function compileProgram(commands: CommandBuffer, target: ProgramTarget): CommandProgram {
  return new ProgramCompiler(commands, target).compile();
}

class ProgramCompiler {
  readonly #commands: CommandBuffer;
  readonly #target: ProgramTarget;
  readonly #builder: ProgramBuilder;
  readonly #labels = new Map<number, ProgramLabel>();
  readonly #statics = new Map<HalBuffer, number>();
  readonly #data: Uint8Array[] = [];
  readonly #nested: NestedProgram[] = [];
  readonly #events: (readonly HalEvent[])[] = [];
  /** Arguments that stay, and how many bytes they have so far. */
  readonly #published: { readonly template: Uint8Array; readonly offset: number }[] = [];
  #publishedBytes = 0;

  constructor(commands: CommandBuffer, target: ProgramTarget) {
    this.#commands = commands;
    this.#target = target;
    this.#builder = new ProgramBuilder(target.blockBytes);
  }

  compile(): CommandProgram {
    const { commands } = this.#commands;
    for (const command of commands)
      if ('target' in command && typeof command.target === 'number') this.#label(command.target);
    for (const [index, command] of commands.entries()) {
      const label = this.#labels.get(index);
      if (label !== undefined) this.#builder.place(label);
      this.#add(command, index);
    }
    const end = this.#labels.get(commands.length);
    if (end !== undefined) this.#builder.place(end);
    const blocks = this.#builder.finish(commands.length).map((bytes) => new CommandBlock(bytes));
    return {
      commands: this.#commands,
      blocks,
      statics: [...this.#statics.keys()].map((buffer) => ({ buffer, offsetBytes: 0, sizeBytes: buffer.sizeBytes })),
      data: this.#data,
      nested: this.#nested,
      events: this.#events,
      kernargs: this.#publish(),
    };
  }

  #publish(): PublishedKernargs | undefined {
    if (this.#publishedBytes === 0) return undefined;
    const kernargs = this.#target.publish(this.#publishedBytes);
    for (const { template, offset } of this.#published) kernargs.bytes.set(template, offset);
    return kernargs;
  }

  #label(index: number): ProgramLabel {
    const label = this.#labels.get(index) ?? this.#builder.label();
    this.#labels.set(index, label);
    return label;
  }

  #add(command: RecordedCommand, index: number): void {
    switch (command.kind) {
      case 'barrier':
        this.#builder.barrier(index);
        break;
      case 'fill':
        this.#builder.add(this.#fill(command, index));
        break;
      case 'copy':
        this.#builder.add(this.#copy(command, index));
        break;
      case 'update':
        this.#builder.add(this.#update(command, index));
        break;
      case 'dispatch':
        this.#dispatch(command, index);
        break;
      default:
        this.#control(command, index);
    }
  }

  /** What ends a block. */
  #control(command: ControlCommand, index: number): void {
    switch (command.kind) {
      case 'jump': {
        const label = this.#label(command.target);
        this.#builder.terminate(branch(index, () => label.ordinal!));
        break;
      }
      case 'jump-if-zero':
        this.#conditional(command, index);
        break;
      case 'execute':
        this.#hostStep(OPCODE.execute, index, this.#nested.push(command) - 1);
        break;
      case 'set-event':
        this.#hostStep(OPCODE.setEvent, index, this.#events.push([command.event]) - 1);
        break;
      case 'reset-event':
        this.#hostStep(OPCODE.resetEvent, index, this.#events.push([command.event]) - 1);
        break;
      case 'wait-events':
        this.#hostStep(OPCODE.waitEvents, index, this.#events.push(command.events) - 1);
    }
  }

  #hostStep(opcode: CommandDraft['opcode'], index: number, ordinal: number): void {
    const next = this.#builder.label();
    this.#builder.terminate({
      opcode,
      index,
      write: (block, { start }) => {
        block.setUint32(start + HOST_STEP.target, next.ordinal!, true);
        block.setUint32(start + HOST_STEP.ordinal, ordinal, true);
      },
    });
    this.#builder.place(next);
  }

  #conditional({ condition, target }: Recorded<'jump-if-zero'>, index: number): void {
    const [whenTrue, whenFalse] = [this.#builder.label(), this.#label(target)];
    this.#builder.terminate({
      opcode: OPCODE.conditionalBranch,
      index,
      sources: [this.#source(condition, 0)],
      write: (block, { start, sourceOffset }) => {
        block.setUint32(start + CONDITIONAL_BRANCH.whenTrue, whenTrue.ordinal!, true);
        block.setUint32(start + CONDITIONAL_BRANCH.whenFalse, whenFalse.ordinal!, true);
        block.setUint32(start + CONDITIONAL_BRANCH.source, sourceOffset, true);
        block.setUint8(start + CONDITIONAL_BRANCH.widthBytes, 4);
      },
    });
    this.#builder.place(whenTrue);
  }

  /** The ordinal of a buffer, or the slot; and the offset in it. */
  #place(ref: RecordedRef): { kind: number; ordinal: number; offset: bigint; length: bigint } {
    const offset = BigInt(ref.offsetBytes);
    const length = ref.sizeBytes === undefined ? WHOLE_LENGTH : BigInt(ref.sizeBytes);
    if (isSlot(ref)) return { kind: BINDING_KIND.dynamic, ordinal: ref.slot, offset, length };
    return { kind: BINDING_KIND.static, ordinal: this.#static(ref.buffer), offset, length };
  }

  #static(buffer: HalBuffer): number {
    const ordinal = this.#statics.get(buffer) ?? this.#statics.size;
    this.#statics.set(buffer, ordinal);
    return ordinal;
  }

  #source(ref: RecordedRef, qword: number): BindingSource {
    const pointer = BigInt(ref.offsetBytes);
    if (isSlot(ref)) return { pointer, slot: ref.slot, qword, flags: SOURCE_FLAG.dynamic };
    return { pointer, slot: this.#static(ref.buffer), qword, flags: SOURCE_FLAG.static };
  }

  #fill({ target, pattern }: Recorded<'fill'>, index: number): CommandDraft {
    const to = this.#place(target);
    const bytes = new Uint8Array(8);
    bytes.set(pattern);
    return {
      opcode: OPCODE.fill,
      index,
      packetCount: 1,
      kernargBytes: LIBRARY_KERNARG_BYTES,
      write: (block, { start }) => {
        block.setBigUint64(start + FILL.targetOffset, to.offset, true);
        block.setBigUint64(start + FILL.length, to.length, true);
        block.setBigUint64(start + FILL.pattern, new DataView(bytes.buffer).getBigUint64(0, true), true);
        block.setUint32(start + FILL.target, to.ordinal, true);
        block.setUint8(start + FILL.targetKind, to.kind);
        block.setUint8(start + FILL.patternBytes, pattern.length);
      },
    };
  }

  #copy({ source, target }: Recorded<'copy'>, index: number): CommandDraft {
    const [from, to] = [this.#place(source), this.#place(target)];
    // Where one size is known, the other one is held against it when it is, too.
    const length = from.length === WHOLE_LENGTH ? to.length : from.length;
    return {
      opcode: OPCODE.copy,
      index,
      packetCount: 1,
      kernargBytes: LIBRARY_KERNARG_BYTES,
      write: (block, { start }) => {
        block.setBigUint64(start + COPY.length, length, true);
        block.setBigUint64(start + COPY.sourceOffset, from.offset, true);
        block.setBigUint64(start + COPY.targetOffset, to.offset, true);
        block.setUint32(start + COPY.source, from.ordinal, true);
        block.setUint32(start + COPY.target, to.ordinal, true);
        block.setUint8(start + COPY.sourceKind, from.kind);
        block.setUint8(start + COPY.targetKind, to.kind);
      },
    };
  }

  #update({ target, contents }: Recorded<'update'>, index: number): CommandDraft {
    const to = this.#place(target);
    const data = this.#data.push(contents) - 1;
    return {
      opcode: OPCODE.update,
      index,
      packetCount: 1,
      kernargBytes: kernargBytes(LIBRARY_KERNARG_BYTES + contents.length),
      write: (block, { start }) => {
        block.setBigUint64(start + UPDATE.data, BigInt(data), true);
        block.setBigUint64(start + UPDATE.targetOffset, to.offset, true);
        block.setUint32(start + UPDATE.length, contents.length, true);
        block.setUint32(start + UPDATE.target, to.ordinal, true);
        block.setUint8(start + UPDATE.targetKind, to.kind);
      },
    };
  }

  #dispatch(command: Recorded<'dispatch'>, index: number): void {
    const { dispatch, groups } = command;
    // A block of arguments has the addresses of what is bound.
    const bindings = dispatch.customArguments === undefined ? command.bindings : [];
    const isIndirect = 'offsetBytes' in groups;
    if (!isIndirect && groups.includes(0)) return;
    const layout = this.#target.layout(dispatch, isIndirect ? ANY_GROUPS : groups);
    const args = isOdd(layout) ? undefined : this.#arguments(layout, bindings, isIndirect);
    const counts = isIndirect ? [{ ...this.#source(groups, 0) }] : [];
    for (const source of counts) Object.assign(source, { flags: source.flags | SOURCE_FLAG.indirect });
    const { strategy, sources, payload, isInBlock } = args ?? HOST_ARGUMENTS;
    const ownBytes = strategy === STRATEGY.prepublished ? 0 : kernargBytes(layout.template.length);
    const patchCount = strategy === STRATEGY.dynamicBindings ? payload.length / 8 : sources.length;
    const outside = this.#payload(strategy, payload, isInBlock);
    this.#builder.add({
      opcode: OPCODE.dispatch,
      index,
      isDispatch: true,
      isIndirect,
      packetCount: isIndirect ? 2 : 1,
      kernargBytes: ownBytes + (isIndirect ? LIBRARY_KERNARG_BYTES : 0),
      sources: [...counts, ...sources],
      data: outside === undefined ? payload : undefined,
      write: (block, { start, sourceOffset, dataOffset }) => {
        writeLayout(block, start, layout);
        block.setUint32(start + DISPATCH.sourceOffset, sourceOffset, true);
        block.setUint32(start + DISPATCH.payload, outside ?? dataOffset, true);
        block.setUint16(start + DISPATCH.bindingCount, bindings.length, true);
        block.setUint16(start + DISPATCH.tailQwords, patchCount, true);
        block.setUint8(start + DISPATCH.strategy, strategy);
        block.setUint8(start + DISPATCH.flags, isIndirect ? DISPATCH_INDIRECT : 0);
        block.setUint32(start + DISPATCH.exportOrdinal, dispatch.entry.ordinal, true);
      },
    });
  }

  /** The payload reference of what does not lie in the block. */
  #payload(strategy: number, payload: Uint8Array, isInBlock: boolean): number | undefined {
    if (strategy === STRATEGY.prepublished) {
      const offset = this.#publishedBytes;
      this.#published.push({ template: payload, offset });
      this.#publishedBytes += kernargBytes(payload.length);
      return offset;
    }
    return isInBlock ? undefined : (PROGRAM_DATA | (this.#data.push(payload) - 1)) >>> 0;
  }

  #arguments(layout: DispatchLayout, bindings: readonly RecordedRef[], isIndirect: boolean): Arguments {
    const template = layout.template.slice();
    const view = new DataView(template.buffer);
    const sources: BindingSource[] = layout.queueOffsets.map((offset) => ({
      pointer: 0n,
      slot: 0,
      qword: offset / 8,
      flags: SOURCE_FLAG.queue,
    }));
    for (const [i, ref] of bindings.entries()) {
      const offset = layout.bindingOffsets[i]!;
      const address = this.#fixedAddress(ref);
      if (address !== undefined) view.setBigUint64(offset, address, true);
      else sources.push(this.#source(ref, offset / 8));
    }
    const isInBlock = template.length <= MAX_BLOCK_DATA;
    if (isIndirect) return { strategy: STRATEGY.hal, sources, payload: template, isInBlock };
    if (sources.length === 0 && !this.#commands.mode.has('one-shot')) {
      return { strategy: STRATEGY.prepublished, sources, payload: template, isInBlock };
    }
    const areFirst = sources.every(({ flags, qword }, i) => flags === SOURCE_FLAG.dynamic && qword === i);
    if (areFirst && sources.length > 0 && sources.length === bindings.length) {
      const payload = template.subarray(8 * sources.length, template.length - (template.length % 8));
      if (template.length % 8 === 0) return { strategy: STRATEGY.dynamicBindings, sources, payload, isInBlock };
    }
    return { strategy: STRATEGY.patchedTemplate, sources, payload: template, isInBlock };
  }

  /** Of memory that stays where it is for as long as the command buffer lives. */
  #fixedAddress(ref: RecordedRef): bigint | undefined {
    if (isSlot(ref) || this.#commands.mode.has('unretained')) return undefined;
    return ref.buffer.placement.flags.has('asynchronous') ? undefined : addressOf(ref);
  }
}

const addressOf = (range: BufferRange): bigint => rangeAddress(storageOf(range));

interface Arguments {
  readonly strategy: number;
  readonly sources: readonly BindingSource[];
  readonly payload: Uint8Array;
  /** Whether the payload may lie in the block. */
  readonly isInBlock: boolean;
}

/** Larger templates lie beside the blocks. */
const MAX_BLOCK_DATA = 4096;
/** For arguments that no other strategy makes. */
const HOST_ARGUMENTS: Arguments = {
  strategy: STRATEGY.host,
  sources: [],
  payload: new Uint8Array(0),
  isInBlock: true,
};

function writeLayout(block: DataView, start: number, layout: DispatchLayout): void {
  const { grid, workgroupSize, countsOffset } = layout;
  block.setBigUint64(start + DISPATCH.kernelObject, layout.kernelObject, true);
  block.setUint16(start + DISPATCH.kernargQwords, Math.min(Math.ceil(layout.template.length / 8), 0xffff), true);
  block.setUint16(start + DISPATCH.setup, 3, true);
  block.setUint16(start + DISPATCH.implicitQwords, countsOffset === undefined ? NO_IMPLICIT : countsOffset / 8, true);
  for (let i = 0; i < 3; i++) {
    block.setUint16(start + DISPATCH.workgroupSize + 2 * i, workgroupSize[i] ?? 1, true);
    block.setUint32(start + DISPATCH.grid + 4 * i, grid[i] ?? 1, true);
  }
  block.setUint32(start + DISPATCH.privateBytes, layout.privateBytes, true);
  block.setUint32(start + DISPATCH.groupBytes, layout.groupBytes, true);
}
