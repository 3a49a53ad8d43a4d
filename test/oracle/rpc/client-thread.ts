/**
 * The C client in a thread of its own: it races with the server on the shared memory. Started by `client.ts`.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { type ClientExports, type ClientThread, STEPS, THREAD_WORDS } from './client.ts';

const { module, memory, configuration, words, conversations } = workerData as ClientThread;
const { exports } = new WebAssembly.Instance(module, { env: { memory } });
const client = exports as unknown as ClientExports; // reason: the module exports these
client.configure(...configuration);
for (let done = 0; (done < conversations || client.busy() > 0) && client.failed() === 0; ) {
  done = client.run(STEPS, conversations);
  Atomics.store(words, THREAD_WORDS.done, done);
}
Atomics.store(words, THREAD_WORDS.failed, client.failed());
Atomics.store(words, THREAD_WORDS.ended, 1);
parentPort!.close();
