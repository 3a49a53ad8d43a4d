/** What was found out when code was decoded, kept for the next process, which then decodes nothing of it. */
import { fnv1a } from '../../base/hash.ts';
import { type KeptNotes, keptNotes } from '../../base/kept-code.ts';
import type { HandlerSize } from '../handlers/handler-request.ts';
import type { HandlerTable } from '../handlers/handler-table.ts';
import type { CodeRange, SharedMemory } from '../machine/memory.ts';
import type { StepReader } from './front-end.ts';

/**
 * Bytes of code whose hash tells one place from another. It need not be right: notes say what words mean,
 * wherever they stand.
 */
const HASHED_BYTES = 4096;

interface Noted {
  /** As `StepReader.takeDecoded` gives them. */
  readonly steps: readonly unknown[];
  readonly handlers: readonly HandlerSize[];
}

const NOTHING: Noted = { steps: [], handlers: [] };

export class DecodeNotes {
  readonly #memory: SharedMemory;
  readonly #reader: StepReader;
  readonly #handlers: HandlerTable;
  readonly #keyed: string;

  /** `keyed`: what the meaning of words depends on. */
  constructor(memory: SharedMemory, reader: StepReader, handlers: HandlerTable, keyed: string) {
    this.#memory = memory;
    this.#reader = reader;
    this.#handlers = handlers;
    this.#keyed = keyed;
  }

  /**
   * Before code from an offset on is decoded: takes over what is noted. What it returns is called afterwards,
   * and notes what was new.
   */
  begin(offset: number): (() => void) | undefined {
    const range = this.#memory.code(offset);
    const notes = range && keptNotes(() => `T0 notes ${this.#keyed} ${this.#hash(range, offset)}`);
    if (!notes || !this.#reader.takeDecoded) return undefined;
    const noted = read(notes);
    // From here on they collect what is new.
    this.#reader.takeDecoded();
    this.#handlers.takeSizes();
    this.#reader.recall?.(noted.steps);
    this.#handlers.recall(noted.handlers);
    return () => {
      const steps = this.#reader.takeDecoded?.() ?? [];
      const handlers = this.#handlers.takeSizes();
      if (steps.length + handlers.length === 0) return;
      const all: Noted = { steps: [...noted.steps, ...steps], handlers: [...noted.handlers, ...handlers] };
      notes.write(new TextEncoder().encode(JSON.stringify(all)));
    };
  }

  #hash({ offset: start, sizeBytes }: CodeRange, offset: number): number {
    const end = Math.min(offset + HASHED_BYTES, start + sizeBytes);
    return fnv1a(new Uint8Array(this.#memory.buffer, offset, end - offset));
  }
}

function read(notes: KeptNotes): Noted {
  const bytes = notes.read();
  return bytes ? JSON.parse(new TextDecoder().decode(bytes)) : NOTHING;
}
