/** The library's parts that need a browser. */
export { webThreads } from './devices/emulated/web-threads.ts';
