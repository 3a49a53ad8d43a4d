/** Processes that are started with all that they start, and end with it. */

/** What Node tells of a child process. */
interface ChildState {
  readonly pid?: number | undefined;
  readonly exitCode: number | null;
  readonly signalCode: string | null;
}

/**
 * Kills a process that was started with `detached`, and with it all that is in its group. Does nothing if it
 * did not start or has ended. Windows has no groups: there it is the process alone.
 */
export function killGroup({ pid, exitCode, signalCode }: ChildState): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch (error) {
    // It ended meanwhile.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
