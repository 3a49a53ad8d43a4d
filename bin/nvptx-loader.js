#!/usr/bin/env node
// `nvptx-loader` of LLVM by that name: the same launcher, with the name as its command.
process.argv.splice(2, 0, 'nvptx-loader');
await import('./wavewright.js');
