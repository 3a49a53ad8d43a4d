import { availableParallelism } from 'node:os';
import { ON_QUEUE } from '../../fleet/queue/blob-store.ts';
import { Campaigns, expectCampaignName } from '../../fleet/queue/campaign.ts';
import { defineCommand } from '../arguments/command.ts';
import { QUEUE_OPTIONS } from '../arguments/queue-options.ts';
import { openQueue } from '../batch/open-queue.ts';
import { CHILD_WRAPPER_OPTION, wrapperOf } from '../batch/process-channel.ts';
import { DEFAULT_CACHE_BYTES, openFleetWorker } from '../batch/queue-lanes.ts';
import { warn } from '../text/report.ts';

const MS_PER_S = 1000;
const MAX_SECONDS = 1_000_000;
/** What tells a worker to end. */
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

export const worker = defineCommand({
  operands: { usage: '', min: 0, max: 0 },
  options: {
    ...QUEUE_OPTIONS,
    jobs: {
      kind: 'integer',
      placeholder: 'N',
      min: 1,
      max: 256,
      default: availableParallelism(),
      description: 'programs that run at once',
    },
    campaign: {
      kind: 'text',
      placeholder: 'NAME',
      description: 'serve this campaign alone; by default all of this version',
    },
    'idle-exit': {
      kind: 'seconds',
      placeholder: 'SECONDS',
      max: MAX_SECONDS,
      description: 'end when there was nothing to do for so long; by default it waits',
    },
    drain: {
      kind: 'seconds',
      placeholder: 'SECONDS',
      max: MAX_SECONDS,
      default: 20,
      description: 'how long running cases may go on after SIGTERM, before they are given back',
    },
    cache: {
      kind: 'text',
      placeholder: 'DIR',
      description: 'where programs are kept; by default a folder for temporary files',
    },
    'cache-size': {
      kind: 'integer',
      placeholder: 'BYTES',
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
      default: DEFAULT_CACHE_BYTES,
      description: 'above it, what was not used for longest is removed',
    },
    'child-wrapper': CHILD_WRAPPER_OPTION,
    'allow-read': {
      kind: 'list',
      placeholder: 'DIR',
      description: 'let programs read files below DIR; may be repeated',
    },
    'allow-write': {
      kind: 'list',
      placeholder: 'DIR',
      description: 'let programs write files below DIR; may be repeated',
    },
    'allow-system': { kind: 'flag', description: 'let programs run commands: with them they may do anything' },
  },
  notes: [
    'Runs the cases of `wavewright test --queue=URL`, each in a child process that has neither the address of the queue nor an',
    'environment, and in the sandbox, which only this command line widens. Who can write to the queue can run GPU programs here.',
    'The exit status is 0 when it was told to end or had nothing to do, 69 when the queue was away for too long.',
  ],
  async run(context, options) {
    const { campaign, cache, 'child-wrapper': wrapper, 'idle-exit': idle } = options;
    if (campaign !== undefined) expectCampaignName(campaign);
    await using connection = await openQueue(context, options);
    const fleetWorker = openFleetWorker(
      { connection, campaigns: new Campaigns(connection) },
      {
        ...{ jobs: options.jobs, leaseMs: options.lease * MS_PER_S, blobs: options.blobs ?? ON_QUEUE, only: campaign },
        ...{ cache, cacheBytes: options['cache-size'] },
        sandbox: [
          ...(options['allow-read'] ?? []).map((folder) => `--allow-read=${folder}`),
          ...(options['allow-write'] ?? []).map((folder) => `--allow-write=${folder}`),
          ...(options['allow-system'] ? ['--allow-system'] : []),
        ],
        ...(wrapper !== undefined && { wrapper: wrapperOf(wrapper, context.env['PATH']) }),
        onNews: (text) => warn(context, text),
      },
    );
    if (!context.isQuiet) context.stderr(`wavewright: worker at ${connection.shown}, ${options.jobs} at once\n`);
    const stop = new AbortController();
    const onSignal = () => stop.abort();
    for (const signal of SIGNALS) process.on(signal, onSignal);
    try {
      const idleMs = idle === undefined ? Number.POSITIVE_INFINITY : idle * MS_PER_S;
      await fleetWorker.run(stop.signal, { idleMs, drainMs: options.drain * MS_PER_S });
    } finally {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    }
    return 0;
  },
});
