import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hex, printable } from './text.ts';

test('hex pads to the digits asked for', () => {
  assert.equal(hex(0x3f), '0x3f');
  assert.equal(hex(10n, 4), '0x000a');
});

test('printable leaves nothing that moves the cursor', () => {
  assert.equal(printable('kernel\u001b[2J\r\n\u2028é'), 'kernel\\x1b[2J\\x0d\\x0a\\x2028é');
});
