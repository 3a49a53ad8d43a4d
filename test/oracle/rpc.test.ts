/**
 * The RPC server against a client in C that was written from the specification. WAVEWRIGHT_RPC_CONVERSATIONS sets how many
 * conversations there are in all; a run of 10 million takes minutes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GENERATIONS } from '../../src/loader/generation.ts';
import { compileClient, talk } from './rpc/client.ts';

const TOTAL = Number(process.env['WAVEWRIGHT_RPC_CONVERSATIONS'] ?? 120_000);
const PORTS = [1, 3, 16, 64];

for (const generation of Object.values(GENERATIONS)) {
  for (const laneCount of [32, 64] as const) {
    test(`${generation.name}, packets of ${laneCount} lanes`, () => {
      const module = compileClient();
      const conversations = Math.ceil(TOTAL / 6 / PORTS.length);
      for (const [seed, portCount] of PORTS.entries()) {
        const done = talk(module, { generation, laneCount, portCount, waveCount: 48, seed, conversations });
        assert.ok(done >= conversations);
      }
    });
  }
}
