/** Workers as threads of a browser. */
import type { WorkerSetup } from '../../emulator/workers/worker.ts';
import type { ThreadHost } from '../../emulator/workers/worker-pool.ts';

/** What this file uses of a browser; the whole DOM is not declared, so that nothing else uses it. */
interface WebScope {
  readonly crossOriginIsolated?: boolean;
  readonly document?: object;
  readonly navigator: { readonly hardwareConcurrency: number };
  readonly Worker: new (url: URL, options: { type: 'module' }) => WebWorker;
}

interface WebWorker {
  onerror: ((event: { readonly message?: string }) => void) | null;
  postMessage(message: unknown): void;
  terminate(): void;
}

const scope = globalThis as unknown as WebScope; // reason: the types of Node's globals are the only ones that are declared

/**
 * Why this thread can have no workers: memory is shared between isolated threads only, and a page must not
 * wait for others.
 */
function obstacle(): string | undefined {
  if (scope.document !== undefined) return 'a page must not wait for other threads: use the emulator in a worker';
  if (!scope.crossOriginIsolated) {
    return 'memory is shared with other threads only where the page and its workers are cross-origin isolated: serve them with Cross-Origin-Opener-Policy and Cross-Origin-Embedder-Policy';
  }
  return undefined;
}

/**
 * Module workers, as many as the machine runs at once; none, and one thread, where this thread can have no
 * others: on a page itself, and without cross-origin isolation.
 */
export const webThreads: ThreadHost = {
  get parallelism() {
    return obstacle() === undefined ? scope.navigator.hardwareConcurrency : 1;
  },
  get obstacle() {
    return obstacle();
  },
  start(setup: WorkerSetup, onEnd) {
    // Bundlers find the worker by exactly these words.
    const worker = new scope.Worker(new URL('./web-worker.js', import.meta.url), { type: 'module' });
    worker.onerror = ({ message }) => onEnd(message ?? 'its script cannot be loaded');
    worker.postMessage(setup);
    return {
      post: (job) => worker.postMessage(job),
      stop: () => worker.terminate(),
    };
  },
};
