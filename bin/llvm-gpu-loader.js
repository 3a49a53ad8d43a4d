#!/usr/bin/env node
// `llvm-gpu-loader` of LLVM by that name: the same launcher, with the name as its command.
process.argv.splice(2, 0, 'llvm-gpu-loader');
await import('./wavewright.js');
