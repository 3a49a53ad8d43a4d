/** Commands as drivers get them: everything is looked up, every range is memory that is there. */
import type { ExecutableCode, ExecutableExport } from '../executables/executable.ts';
import { repeatPattern } from '../memory/buffer.ts';
import { bytesOfRange, type StorageRange } from '../memory/buffer-ref.ts';

export interface FillCommand {
  readonly kind: 'fill';
  readonly target: StorageRange;
  /** 1, 2, 4 or 8 bytes; the range is a multiple of them. */
  readonly pattern: Uint8Array;
}

/** The ranges have one size, and no bytes in common. */
export interface CopyCommand {
  readonly kind: 'copy';
  readonly source: StorageRange;
  readonly target: StorageRange;
}

export interface UpdateCommand {
  readonly kind: 'update';
  /** As many bytes as the range has; nobody changes them. */
  readonly contents: Uint8Array;
  readonly target: StorageRange;
}

export interface DispatchCommand<Code extends ExecutableCode = ExecutableCode> {
  readonly kind: 'dispatch';
  readonly entry: ExecutableExport<Code>;
  /** Workgroups; one of them may be 0: then nothing runs. */
  readonly groups: readonly [number, number, number];
  readonly workgroupSize: readonly [number, number, number];
  readonly constants: Uint32Array;
  readonly bindings: readonly StorageRange[];
  /** The block of arguments as it is, in place of constants and of the bindings' addresses. */
  readonly customArguments?: Uint8Array | undefined;
  /** Group memory beyond that of the code. */
  readonly dynamicGroupSizeBytes: number;
}

export type TransferCommand = FillCommand | CopyCommand | UpdateCommand;
export type BackendCommand<Code extends ExecutableCode = ExecutableCode> = TransferCommand | DispatchCommand<Code>;

/** A transfer by the host, for memory that it sees. */
export function transferOnHost(command: TransferCommand): void {
  const target = bytesOfRange(command.target);
  switch (command.kind) {
    case 'fill':
      repeatPattern(target, command.pattern);
      break;
    case 'copy':
      target.set(bytesOfRange(command.source));
      break;
    case 'update':
      target.set(command.contents);
  }
}
