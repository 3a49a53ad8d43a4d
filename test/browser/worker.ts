/** Runs the programs that it is told, in a worker. */
import { PROGRAMS } from './programs.ts';

const scope = globalThis as unknown as { onmessage: unknown; postMessage(message: unknown): void }; // reason: a worker's globals are not declared

scope.onmessage = async ({ data }: { data: keyof typeof PROGRAMS }) => {
  try {
    scope.postMessage(await PROGRAMS[data]());
  } catch (error) {
    scope.postMessage(error instanceof Error ? String(error.stack) : String(error));
  }
};
