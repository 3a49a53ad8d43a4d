/** A wait that is missing, in words and with the places of both instructions. */
import { hex } from '../../base/text.ts';
import type { SourceLine } from '../../codeobject/line-table.ts';
import type { Emulator } from '../../emulator/emulator.ts';
import type { MissedWait } from '../../emulator/reference/wait-check.ts';

export interface MissedWaitReport extends MissedWait {
  /** One line. */
  readonly message: string;
  /** Addresses of `step` and `earlier`. */
  readonly pc: bigint;
  readonly earlierPc: bigint;
}

const FILES = { scalar: 's', vector: 'v', accumulator: 'a' } as const;
/** Scalars that have names of their own, by number. */
const NAMES: Readonly<Record<number, string>> = {
  106: 'vcc_lo',
  107: 'vcc_hi',
  124: 'm0',
  126: 'exec_lo',
  127: 'exec_hi',
};

export function reportMissedWait(
  emulator: Emulator,
  missed: MissedWait,
  sourceOf: (pc: bigint) => SourceLine | undefined,
): MissedWaitReport {
  const { kind, step, earlier, register, waits, wave } = missed;
  const [pc, earlierPc] = [step, earlier].map(({ offset }) => emulator.memory.address(offset)) as [bigint, bigint]; // reason: two of two
  const place = (offset: number, at: bigint): string => {
    const source = sourceOf(at);
    return `${emulator.locate(offset) || `pc ${hex(at)}`}${source ? ` (${source.file}:${source.line})` : ''}`;
  };
  const { file = 'scalar', number = 0 } = register ?? {};
  const name = (file === 'scalar' && NAMES[number]) || `${FILES[file]}${number}`;
  const does = {
    read: `reads ${name}, which`,
    write: `writes ${name}, which`,
    source: `writes ${name}, which`,
    lds: 'accesses LDS, which',
  }[kind];
  const isFor =
    kind === 'source' ? 'is still to read' : kind === 'lds' ? 'of another wave is still to write' : 'is still to write';
  const counts = [...waits].map(([counter, atMost]) => `${counter} of at most ${atMost}`).join(' and ');
  const before = kind === 'lds' ? 'before the waves meet' : 'before';
  const message =
    `missing wait: '${step.text()}' at ${place(step.offset, pc)} ${does} '${earlier.text()}' at ` +
    `${place(earlier.offset, earlierPc)} ${isFor}; it needs ${counts} ${before}; ` +
    `workgroup (${wave.workgroup.join(', ')}), wave ${wave.index}`;
  return { ...missed, message, pc, earlierPc };
}
