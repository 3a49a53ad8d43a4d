/** The thread of a pool: answers each request with what came of the case. */
import { parentPort } from 'node:worker_threads';
import { type CaseMessage, type CaseRequest, runCase } from './run-case.ts';

const send = (message: CaseMessage): void => parentPort?.postMessage(message);

send('ready');
parentPort?.on('message', async (request: CaseRequest) => {
  send('started');
  send(await runCase(request));
});
