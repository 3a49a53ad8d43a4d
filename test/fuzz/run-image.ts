/** Runs a program image inside this process, through the public API. */
import { createEmulatedDevice, type ProgramResult, type RunOptions, runProgram } from '../../src/index.ts';

export interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: number;
}

export interface ImageRun extends Partial<Omit<RunOptions, 'onStdout' | 'onStderr'>> {
  /** Without argv[0]. */
  readonly args?: readonly string[];
}

/** The result of the run; what the program printed before an error is in `printed`. */
export async function runImage(
  bytes: Uint8Array,
  run: ImageRun = {},
  printed = new Output(),
): Promise<Outcome & Pick<ProgramResult['statistics'], 'kernels'>> {
  const { device, args = [], ...options } = run;
  const own = device === undefined ? createEmulatedDevice({ processor: 'gfx90a' }) : undefined;
  try {
    const { status, statistics } = await runProgram(bytes, {
      device: device ?? own!,
      args: ['program', ...args],
      onStdout: (data) => printed.stdout.push(data),
      onStderr: (data) => printed.stderr.push(data),
      ...options,
    });
    return { ...printed.text(), status, kernels: statistics.kernels };
  } finally {
    own?.close();
  }
}

export class Output {
  readonly stdout: Uint8Array[] = [];
  readonly stderr: Uint8Array[] = [];

  text(): { stdout: string; stderr: string } {
    return { stdout: Buffer.concat(this.stdout).toString(), stderr: Buffer.concat(this.stderr).toString() };
  }
}
