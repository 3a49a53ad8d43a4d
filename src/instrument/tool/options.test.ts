import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVERYTHING, parseInterval, parseToolOptions, parseToolRequest, type ToolOptionTable } from './options.ts';

const TABLE = {
  level: { kind: 'choice', choices: ['thread', 'wave'], default: 'thread', description: '' },
  size: { kind: 'integer', min: 1, max: 9, default: 3, description: '' },
  name: { kind: 'text', description: '' },
} as const satisfies ToolOptionTable;

const values = (text: string) => ({ ...parseToolOptions(parseToolRequest(text), TABLE) });

test('a request is a name with options, and values may have commas', () => {
  assert.deepEqual(values('x'), { level: 'thread', size: 3, name: '' });
  assert.deepEqual(values('x:level=wave,name=^(a,b|c=d){1,2}$,size=9'), {
    ...{ level: 'wave', size: 9, name: '^(a,b|c=d){1,2}$' },
  });
  for (const [text, message] of [
    ['x:level', /'level' of tool 'x': expected option=value/],
    ['x:', /'' of tool 'x': expected option=value/],
    ['x:size=1,size=2', /option 'size' of tool 'x' is given twice/],
    ['x:size=10', /option 'size' of tool 'x' takes an integer from 1 to 9, not '10'/],
    ['x:level=warp', /option 'level' of tool 'x' takes thread or wave, not 'warp'/],
    ['x:levels=wave', /tool 'x' has no option 'levels'/],
  ] as const) {
    assert.throws(() => values(text), { code: 'USAGE', message });
  }
});

test('intervals have a first and a last, or one of them', () => {
  assert.deepEqual(parseInterval('x', ''), EVERYTHING);
  assert.deepEqual(parseInterval('x', '3-5'), { begin: 3, end: 6 });
  assert.deepEqual(parseInterval('x', '7'), { begin: 7, end: 8 });
  assert.deepEqual(parseInterval('x', '-4'), { begin: 0, end: 5 });
  assert.deepEqual(parseInterval('x', '2-'), { begin: 2, end: Number.POSITIVE_INFINITY });
  for (const text of ['5-3', 'a', '1-2-3', '-']) {
    if (text === '-') assert.deepEqual(parseInterval('x', text), EVERYTHING);
    else assert.throws(() => parseInterval('x', text), { code: 'USAGE' });
  }
});
