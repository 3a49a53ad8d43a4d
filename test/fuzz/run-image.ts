/** Runs a program image inside this process, through the public API. */
import {
  createEmulatedDevice,
  MemoryFileSystem,
  type ProgramResult,
  type RunOptions,
  runProgram,
} from '../../src/index.ts';

export interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: number;
}

export interface ImageRun extends Partial<Omit<RunOptions, 'streams'>> {
  /** Without argv[0]. */
  readonly args?: readonly string[];
  readonly stdin?: string;
}

/** The result of the run; what the program printed before an error is in `printed`. */
export async function runImage(
  bytes: Uint8Array,
  run: ImageRun = {},
  printed = new Output(),
): Promise<Outcome & Pick<ProgramResult, 'kernels'>> {
  const { device, args = [], stdin = '', fileSystem = new MemoryFileSystem(), ...options } = run;
  const input = new MemoryFileSystem();
  input.set('stdin', Buffer.from(stdin));
  const own = device === undefined ? createEmulatedDevice({ processor: 'gfx90a' }) : undefined;
  try {
    const { status, kernels } = await runProgram(bytes, {
      device: device ?? own!,
      args: ['program', ...args],
      fileSystem,
      streams: {
        stdin: input.open('stdin', READ)!,
        stdout: (data) => printed.stdout.push(data.slice()),
        stderr: (data) => printed.stderr.push(data.slice()),
      },
      ...options,
    });
    return { ...printed.text(), status, kernels };
  } finally {
    own?.close();
  }
}

const READ = { read: true, write: false, append: false, create: false, truncate: false, exclusive: false };

export class Output {
  readonly stdout: Uint8Array[] = [];
  readonly stderr: Uint8Array[] = [];

  text(): { stdout: string; stderr: string } {
    return { stdout: Buffer.concat(this.stdout).toString(), stderr: Buffer.concat(this.stderr).toString() };
  }
}
