/** A thread of this process that runs cases. */
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type { OpenChannel } from './channel.ts';

export const openThread: OpenChannel = ({ onMessage, onEnd }) => {
  const worker = new Worker(new URL(`./worker${path.extname(import.meta.url)}`, import.meta.url), { stdin: true });
  let isOpen = true;
  const end = (reason: string) => {
    if (isOpen) onEnd(reason);
    isOpen = false;
  };
  worker.on('message', (message) => isOpen && onMessage(message));
  worker.on('error', (error) => end(String(error)));
  worker.on('exit', (code) => end(`the thread ended with ${code}`));
  return {
    send: (request) => worker.postMessage(request),
    kill: () => {
      isOpen = false;
      void worker.terminate();
    },
  };
};
