#!/usr/bin/env node
// `amdhsa-loader` of LLVM by that name: the same launcher, with the name as its command.
process.argv.splice(2, 0, 'amdhsa-loader');
await import('./wavewright.js');
