import type { OptionTable } from './options.ts';

const MAX_SECONDS = 1_000_000;
/** What names the queue where no option does. */
export const QUEUE_VARIABLE = 'WAVEWRIGHT_QUEUE';

/** Of commands that work with a queue. */
export const QUEUE_OPTIONS = {
  queue: {
    kind: 'text',
    placeholder: 'URL',
    implied: '',
    description: `the queue, redis://HOST or rediss://HOST; --queue alone takes it from ${QUEUE_VARIABLE}, which nobody else sees`,
  },
  insecure: { kind: 'flag', description: 'let redis://, which is not encrypted, lead to another machine' },
  'queue-timeout': {
    kind: 'seconds',
    placeholder: 'SECONDS',
    max: MAX_SECONDS,
    default: 600,
    description: 'how long the queue may be away before the command ends with status 69',
  },
  blobs: {
    kind: 'text',
    placeholder: 'URL',
    description:
      'where programs and inputs are: file:///DIR, https://HOST/PATH; by default on the queue, 64 MiB in all',
  },
  lease: {
    kind: 'seconds',
    placeholder: 'SECONDS',
    max: 3600,
    default: 30,
    description: 'how long a worker may be silent before its cases go to others',
  },
} as const satisfies OptionTable;

/** Of commands whose cases a queue may deal out. */
export const CAMPAIGN_OPTIONS = {
  ...QUEUE_OPTIONS,
  campaign: {
    kind: 'text',
    placeholder: 'NAME',
    description:
      'with --queue: the name of the run, new by default; the same cases under a known name join it or go on with it',
  },
  batch: {
    kind: 'text',
    placeholder: 'N',
    description:
      'with --queue: cases that a worker takes at once, 1 to 256; auto, the default, takes 2 s of work by --timings',
  },
  timings: {
    kind: 'text',
    placeholder: 'REPORT',
    description: 'with --queue: an earlier report that tells what cases take',
  },
  'max-failures': {
    kind: 'integer',
    placeholder: 'N',
    min: 1,
    max: 10_000_000,
    description: 'with --queue: cancel the run after N programs that did not pass',
  },
  logs: {
    kind: 'text',
    placeholder: 'DIR',
    description: 'with --queue: write all output of what did not pass below DIR',
  },
  keep: {
    kind: 'seconds',
    placeholder: 'SECONDS',
    max: 100_000_000,
    default: 604_800,
    description: 'with --queue: how long verdicts stay there when the run is over',
  },
} as const satisfies OptionTable;
