/** The address of a queue: what connects to it, and what may be shown of it. */
import { WavewrightError } from '../../base/errors.ts';

export interface QueueAddress {
  readonly host: string;
  readonly port: number;
  readonly username?: string;
  readonly password?: string;
  readonly database: number;
  /** Whether the connection is encrypted, and the file with the certificate of who signs for the server. */
  readonly tls?: { readonly caFile?: string };
  /** Without password. */
  readonly shown: string;
}

const DEFAULT_PORT = 6379;
const PARAMETERS = ['ca', 'password-file'];
const HINT =
  'expected redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE] or rediss:// for TLS, with ?ca=FILE, ?password-file=FILE';

/**
 * Reads `redis://` and `rediss://`. Throws USAGE for what is no address, UNSUPPORTED for other servers, IO
 * for a file with a password that cannot be read. Plain connections to other machines need `isInsecure`.
 */
export function parseQueueUrl(text: string, isInsecure: boolean): QueueAddress {
  const url = URL.parse(text);
  if (url?.protocol === 'postgres:' || url?.protocol === 'postgresql:') {
    throw new WavewrightError('UNSUPPORTED', 'queues on PostgreSQL', {
      hint: 'leases run on the clocks of the workers there: use a Valkey or Redis server',
    });
  }
  if (!url || !['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '') {
    throw new WavewrightError('USAGE', '--queue names no queue', { hint: HINT });
  }
  const unknown = [...url.searchParams.keys()].find((name) => !PARAMETERS.includes(name));
  const database = /^\/?$/.test(url.pathname) ? '0' : url.pathname.slice(1);
  if (unknown !== undefined || !/^\d{1,5}$/.test(database)) {
    throw new WavewrightError('USAGE', `--queue has '${unknown ?? url.pathname}', which is not known`, { hint: HINT });
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port);
  const isTls = url.protocol === 'rediss:';
  const shown = `${url.protocol}//${url.username === '' ? '' : `${url.username}@`}${url.hostname}:${port}`;
  if (!isTls && !isInsecure && !isLoopback(host)) {
    throw new WavewrightError('USAGE', `${shown} is another machine, and the connection is not encrypted`, {
      hint: 'use rediss://, a tunnel of ssh, or --insecure where nobody else is on the network',
    });
  }
  const password = passwordOf(url);
  const caFile = url.searchParams.get('ca');
  return {
    ...{ host, port, database: Number(database), shown },
    ...(url.username !== '' && { username: decodeURIComponent(url.username) }),
    ...(password !== undefined && { password }),
    ...(isTls && { tls: caFile === null ? {} : { caFile } }),
  };
}

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host);

function passwordOf(url: URL): string | undefined {
  const file = url.searchParams.get('password-file');
  if (file === null) return url.password === '' ? undefined : decodeURIComponent(url.password);
  return readText(file).trimEnd();
}

/** The text of a file that an address names. Throws IO. */
export function readText(file: string): string {
  try {
    return process.getBuiltinModule('node:fs').readFileSync(file, 'utf8');
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    throw new WavewrightError('IO', `cannot be read (${code})`, { file, cause });
  }
}
