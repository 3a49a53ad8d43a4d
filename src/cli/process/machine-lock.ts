/** A lock that one process of a machine holds at a time, and that a process which dies gives back. */
import { WavewrightError } from '../../base/errors.ts';

/** Sockets in the abstract namespace of Linux, and pipes of Windows, are names without a file. */
const NAMES: Readonly<Partial<Record<NodeJS.Platform, (name: string) => string>>> = {
  linux: (name) => `\0${name}`,
  win32: (name) => `\\\\.\\pipe\\${name}`,
};
const RETRY_MS = 20;

/** Waits for the lock. Throws UNSUPPORTED where the system has no such names. */
export async function acquireMachineLock(name = 'wavewright-serialize'): Promise<Disposable> {
  const path = NAMES[process.platform]?.(name);
  if (path === undefined)
    throw new WavewrightError('UNSUPPORTED', `--serialize is not available on ${process.platform}`);
  for (;;) {
    const lock = await tryListen(path);
    if (lock !== undefined) return lock;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

function tryListen(path: string): Promise<Disposable | undefined> {
  return new Promise((resolve, reject) => {
    const { createServer } = process.getBuiltinModule('node:net');
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error) => {
      if ('code' in error && error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen(path, () => {
      server.unref();
      resolve({ [Symbol.dispose]: () => server.close() });
    });
  });
}
