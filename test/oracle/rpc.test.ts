/**
 * The RPC server against a client in C that was written from the specification, which also runs in a thread
 * of its own. WAVEWRIGHT_RPC_CONVERSATIONS sets how many conversations there are in all; a run of 10 million
 * takes minutes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GENERATIONS } from '../../src/loader/rpc/protocol/generation.ts';
import { compileClient, race, talk } from './rpc/client.ts';

const TOTAL = Number(process.env['WAVEWRIGHT_RPC_CONVERSATIONS'] ?? 120_000);
/**
 * The part of the conversations in which client and server race: threads that take turns on few cores are
 * slow.
 */
const RACES = 0.1;
const PORTS = [1, 3, 16, 64];
const module = compileClient();

for (const generation of Object.values(GENERATIONS)) {
  for (const laneCount of [32, 64] as const) {
    const name = `${generation.name}, packets of ${laneCount} lanes`;
    const talks = (share: number) => {
      const conversations = Math.ceil((share * TOTAL) / 6 / PORTS.length);
      return PORTS.map((portCount, seed) => {
        return { generation, laneCount, portCount, waveCount: 48, seed, conversations };
      });
    };

    test(`${name}, client and server in turns`, () => {
      for (const one of talks(1 - RACES)) assert.ok(talk(module, one) >= one.conversations);
    });

    test(`${name}, client and server in threads of their own`, async () => {
      for (const one of talks(RACES)) assert.ok((await race(module, one)) >= one.conversations);
    });
  }
}
