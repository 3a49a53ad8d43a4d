/**
 * Executed instructions as stacks for flame graphs: kernel, function, source line, instruction, each weighed
 * by how often waves executed it.
 */
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import { type CountedInstruction, countedKernels, type KernelInstructions } from '../counted-kernels.ts';
import type { Profile } from '../profile.ts';
import { ProtobufMessage } from './protobuf.ts';

interface Executed {
  readonly kernel: KernelInstructions;
  readonly instruction: CountedInstruction;
}

/** Throws BAD_INPUT for a profile without counts of instructions. */
function executedInstructions(profile: Profile): Executed[] {
  const found = countedKernels(profile).flatMap((kernel) =>
    kernel.instructions.flatMap((instruction) => (instruction.waves > 0n ? [{ kernel, instruction }] : [])),
  );
  if (found.length > 0) return found;
  throw new WavewrightError('BAD_INPUT', 'the profile has no counts of instructions', {
    file: profile.name,
    hint: 'make it with --device_profiling_mode=instruction-counts',
  });
}

const functionName = ({ function: own }: CountedInstruction): string => own?.name ?? '(no function)';
const instructionName = ({ address, text }: CountedInstruction): string => `${hex(address)} ${text}`.trim();

/** Lines `KERNEL;FUNCTION;FILE:LINE;INSTRUCTION COUNT`, as flamegraph.pl reads them. */
export function* collapsedStacks(profile: Profile): Generator<string> {
  for (const { kernel, instruction } of executedInstructions(profile)) {
    const { source, waves } = instruction;
    const line = source === undefined ? [] : [`${source.file}:${source.line}`];
    const frames = [kernel.key, functionName(instruction), ...line, instructionName(instruction)];
    yield `${frames.map((frame) => frame.replaceAll(/[;\n]/g, ',')).join(';')} ${waves}\n`;
  }
}

/** Fields of the messages of pprof (github.com/google/pprof, proto/profile.proto). */
const PROFILE = { sampleType: 1, sample: 2, location: 4, function: 5, strings: 6, defaultSampleType: 14 } as const;
const VALUE_TYPE = { type: 1, unit: 2 } as const;
const SAMPLE = { locationId: 1, value: 2 } as const;
const LOCATION = { id: 1, address: 3, line: 4 } as const;
const LINE = { functionId: 1, line: 2, column: 3 } as const;
const FUNCTION = { id: 1, name: 2, systemName: 3, filename: 4 } as const;

/** A place of a stack: what is executed there, and where that is written. */
interface Frame {
  readonly name: string;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly address?: bigint | undefined;
}

class PprofWriter {
  readonly message = new ProtobufMessage();
  readonly #strings = new Map<string, number>([['', 0]]);
  readonly #functions = new Map<string, number>();
  readonly #locations = new Map<string, number>();

  string(text: string): number {
    const index = this.#strings.get(text) ?? this.#strings.size;
    this.#strings.set(text, index);
    return index;
  }

  #function({ name, file = '' }: Frame): number {
    const key = `${file}\n${name}`;
    const known = this.#functions.get(key);
    if (known !== undefined) return known;
    const id = this.#functions.size + 1;
    this.#functions.set(key, id);
    const message = new ProtobufMessage().varint(FUNCTION.id, id).varint(FUNCTION.name, this.string(name));
    message.varint(FUNCTION.systemName, this.string(name)).varint(FUNCTION.filename, this.string(file));
    this.message.message(PROFILE.function, message);
    return id;
  }

  location(frame: Frame): number {
    const { name, file = '', line = 0, column = 0, address = 0n } = frame;
    const key = [name, file, line, column, address].join('\n');
    const known = this.#locations.get(key);
    if (known !== undefined) return known;
    const id = this.#locations.size + 1;
    this.#locations.set(key, id);
    const place = new ProtobufMessage().varint(LINE.functionId, this.#function(frame));
    place.varint(LINE.line, line).varint(LINE.column, column);
    const message = new ProtobufMessage().varint(LOCATION.id, id).varint(LOCATION.address, address);
    this.message.message(PROFILE.location, message.message(LOCATION.line, place));
    return id;
  }

  end(): void {
    for (const text of this.#strings.keys()) this.message.text(PROFILE.strings, text);
  }
}

/** What is counted of each stack. */
const VALUES: readonly (readonly [type: string, unit: string, of: (each: CountedInstruction) => bigint])[] = [
  ['instructions', 'count', ({ waves }) => waves],
  ['active_lanes', 'count', ({ lanes }) => lanes],
  ['accessed', 'bytes', ({ memory }) => memory?.bytes ?? 0n],
  ['segments', 'count', ({ memory }) => memory?.segments ?? 0n],
  ['bank_conflicts', 'cycles', ({ memory }) => memory?.conflicts ?? 0n],
];

/** A profile of pprof, not compressed. Throws as `collapsedStacks`. */
export function pprofProfile(profile: Profile): Uint8Array {
  const writer = new PprofWriter();
  for (const [type, unit] of VALUES) {
    const message = new ProtobufMessage().varint(VALUE_TYPE.type, writer.string(type));
    writer.message.message(PROFILE.sampleType, message.varint(VALUE_TYPE.unit, writer.string(unit)));
  }
  for (const { kernel, instruction } of executedInstructions(profile)) {
    const { source, address } = instruction;
    const sample = new ProtobufMessage();
    // The leaf comes first.
    for (const frame of [
      { name: instructionName(instruction), address },
      { name: functionName(instruction), ...source, address },
      { name: kernel.key },
    ]) {
      sample.varint(SAMPLE.locationId, writer.location(frame));
    }
    for (const [, , of] of VALUES) sample.varint(SAMPLE.value, of(instruction));
    writer.message.message(PROFILE.sample, sample);
  }
  writer.message.varint(PROFILE.defaultSampleType, writer.string('instructions'));
  writer.end();
  return writer.message.bytes;
}
