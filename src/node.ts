/** The library's parts that need Node. */
export { nodeThreads } from './devices/emulated/node-threads.ts';
