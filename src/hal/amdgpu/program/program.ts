/** A command buffer as one GPU executes it: blocks, and what their numbers stand for. */
import type { CommandBuffer, RecordedRef } from '../../commands/command-buffer.ts';
import type { HalEvent } from '../../core/hal-event.ts';
import type { BufferRange } from '../../memory/buffer-ref.ts';
import { BLOCK, type CommandOpcode } from './abi.ts';

/** A block with the views that reading it takes. */
export class CommandBlock {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly words: Uint32Array;

  /** `bytes`: from an offset that 8 divides. */
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  }

  field32(offset: number): number {
    return this.words[offset / 4]!;
  }

  field16(offset: number): number {
    return this.view.getUint16(offset, true);
  }

  get terminator(): CommandOpcode {
    return this.bytes[BLOCK.terminator] as CommandOpcode;
  }

  /** Where the command lies that ends the block. `sizeBytes`: its own. */
  terminatorOffset(sizeBytes: number): number {
    return this.field32(BLOCK.commandOffset) + this.field32(BLOCK.commandBytes) - sizeBytes;
  }
}

/** A command buffer that is executed by another one. */
export interface NestedProgram {
  readonly commands: CommandBuffer;
  readonly bindings: readonly RecordedRef[];
}

/** Arguments that lie in memory of the GPU for as long as the command buffer lives. */
export interface PublishedKernargs {
  readonly address: bigint;
  readonly bytes: Uint8Array;
  free(): void;
}

export interface CommandProgram {
  readonly commands: CommandBuffer;
  readonly blocks: readonly CommandBlock[];
  /** Buffers that are known, and whose memory is looked up for each execution. */
  readonly statics: readonly BufferRange[];
  /** Contents of updates, and arguments that are too large for a block. */
  readonly data: readonly Uint8Array[];
  readonly nested: readonly NestedProgram[];
  readonly events: readonly (readonly HalEvent[])[];
  readonly kernargs: PublishedKernargs | undefined;
}
