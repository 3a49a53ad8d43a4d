/** A worker of a queue in this process: its cases run in processes of their own, in the sandbox. */
import { availableParallelism, tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { BlobCache } from '../../fleet/queue/blob-cache.ts';
import type { Campaigns } from '../../fleet/queue/campaign.ts';
import type { QueueConnection } from '../../fleet/queue/connection.ts';
import { FleetWorker } from '../../fleet/queue/fleet-worker.ts';
import { packageVersion } from '../process/package-version.ts';
import { CaseRunner } from './case-runner.ts';
import { isolated } from './process-channel.ts';
import { expectEmulated, expectHarmless } from './queued-case.ts';

export interface LanesOptions {
  readonly jobs: number;
  readonly leaseMs: number;
  readonly blobs: string;
  readonly only?: string | undefined;
  readonly cache?: string | undefined;
  readonly cacheBytes?: number;
  /** Options of `run` that widen the sandbox; those of cases cannot. */
  readonly sandbox?: readonly string[];
  readonly wrapper?: readonly string[] | undefined;
  readonly onNews: (text: string) => void;
}

export const DEFAULT_CACHE_BYTES = 2 ** 32;

/** Throws IO when nothing can be written into the cache. */
export function openFleetWorker(
  { connection, campaigns }: { readonly connection: QueueConnection; readonly campaigns: Campaigns },
  options: LanesOptions,
): FleetWorker {
  const { jobs, leaseMs, blobs, only, onNews, wrapper, sandbox = [] } = options;
  const { cache = path.join(tmpdir(), `wavewright-${userInfo().uid}`), cacheBytes = DEFAULT_CACHE_BYTES } = options;
  const threads = Math.max(1, Math.floor(availableParallelism() / jobs));
  const runOptions = ['--sandbox', ...sandbox, `--workers=${threads}`];
  return new FleetWorker({
    ...{ connection, campaigns, jobs, leaseMs, blobs, onNews, version: packageVersion(), check: expectHarmless },
    ...(only !== undefined && { only }),
    cache: new BlobCache(cache, cacheBytes),
    openLane: () => {
      // Neither the address of the queue nor anything else of this process is seen there.
      const runner = new CaseRunner({ ...isolated({ env: {}, ...(wrapper && { wrapper }) }), runOptions });
      return {
        run: async (one, signal) => {
          expectEmulated(one);
          return await runner.run(one, signal);
        },
        [Symbol.dispose]: () => runner[Symbol.dispose](),
      };
    },
  });
}
