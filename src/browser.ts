/** What a page needs, in one file of the package: no other is loaded but that of its threads. */
export * as hal from './hal.ts';
export * from './index.ts';
export * from './web.ts';
