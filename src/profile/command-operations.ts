/** The commands of a command buffer as records of a profile. */
import type { CommandBuffer, HalExecutable } from '../hal/index.ts';
import { COMMAND_OPERATIONS, numberOf } from './format/names.ts';
import type { RecordOf } from './format/record-layout.ts';
import { type COMMAND_BUFFER_OPERATIONS, COMMAND_OPERATION_FLAG } from './format/records.ts';

type Operation = Partial<RecordOf<typeof COMMAND_BUFFER_OPERATIONS>>;
type Command = CommandBuffer['commands'][number];

/** What the records call the kinds of commands; the others are parts of control flow. */
const NAMES: Readonly<Partial<Record<Command['kind'], string>>> = {
  fill: 'fill',
  copy: 'copy',
  update: 'update',
  dispatch: 'dispatch',
  barrier: 'barrier',
  jump: 'branch',
  'jump-if-zero': 'cond_branch',
};

/** One record for each command that has a name there, with its index. */
export function commandOperations(commands: CommandBuffer, idOf: (executable: HalExecutable) => bigint): Operation[] {
  return commands.commands.flatMap((command, commandIndex) => {
    const name = NAMES[command.kind];
    if (name === undefined) return [];
    return [{ type: numberOf(COMMAND_OPERATIONS, name), commandIndex, ...detailsOf(command, idOf) }];
  });
}

function detailsOf(command: Command, idOf: (executable: HalExecutable) => bigint): Operation {
  switch (command.kind) {
    case 'dispatch': {
      const { entry, workgroupSize } = command.dispatch;
      const isIndirect = 'offsetBytes' in command.groups;
      const hasSlots = command.bindings.some((ref) => 'slot' in ref);
      return {
        flags:
          (isIndirect ? COMMAND_OPERATION_FLAG.indirectParameters : 0) |
          (hasSlots ? COMMAND_OPERATION_FLAG.dynamicBindings : COMMAND_OPERATION_FLAG.staticBindings),
        executableId: idOf(entry.executable),
        exportOrdinal: entry.ordinal,
        bindingCount: command.bindings.length,
        workgroupCount: 'offsetBytes' in command.groups ? [0, 0, 0] : command.groups,
        workgroupSize,
      };
    }
    case 'fill':
    case 'update':
      return rangeOf(command.target);
    case 'copy':
      return {
        ...rangeOf(command.target),
        sourceOffset: BigInt(command.source.offsetBytes),
        ...('slot' in command.source && { sourceOrdinal: command.source.slot }),
      };
    case 'barrier':
      return { flags: COMMAND_OPERATION_FLAG.executionBarrier };
    default:
      return { flags: COMMAND_OPERATION_FLAG.controlFlow };
  }
}

type Ref = Extract<Command, { kind: 'fill' }>['target'];

/** Where a command writes: a slot has its number, a buffer that was recorded has none. */
const rangeOf = (ref: Ref): Operation => ({
  targetOffset: BigInt(ref.offsetBytes),
  length: BigInt(ref.sizeBytes ?? 0),
  ...('slot' in ref && { targetOrdinal: ref.slot }),
});
