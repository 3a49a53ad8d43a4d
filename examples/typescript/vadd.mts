import { readFileSync } from 'node:fs';
import { createContext, createEmulatedDevice } from 'wavewright';

using device = createEmulatedDevice({ processor: 'gfx90a' });
using context = createContext(device);
const vadd = context.load(readFileSync('examples/kernels/vadd.gfx90a.co')).kernel('vadd');
const a = context.buffer(Float32Array.from({ length: 256 }, (_, i) => i));
const b = context.buffer(new Float32Array(256).fill(0.5));
const sum = context.buffer(new Float32Array(256));
await vadd.launch({ grid: 256, workgroup: 64 }, sum, a, b, 256);
console.log(sum.read().slice(0, 4));
