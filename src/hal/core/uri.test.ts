/** URIs of devices: IREE's grammar, paths, typed parameters. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { devicesOfPath, formatDeviceUri, parameterValues, parseDeviceUri } from './uri.ts';

const parts = (text: string) => {
  const { driver, path, parameters } = parseDeviceUri(text);
  return [driver, path, Object.fromEntries(parameters)];
};

test('a driver, a path, parameters', () => {
  for (const [text, ...expected] of [
    ['amdgpu', 'amdgpu', '', {}],
    ['amdgpu:0', 'amdgpu', '0', {}],
    ['amdgpu:/0', 'amdgpu', '0', {}],
    ['amdgpu://0,1', 'amdgpu', '0,1', {}],
    ['amdgpu://GPU-0e12,GPU-12?queues=1&target=gfx90a', 'amdgpu', 'GPU-0e12,GPU-12', { queues: '1', target: 'gfx90a' }],
    ['local-sync?a', 'local-sync', '', { a: '' }],
    ['x:y?k=a%26b=c', 'x', 'y', { k: 'a&b=c' }],
  ] as const) {
    assert.deepEqual(parts(text), expected, text);
    assert.deepEqual(parts(formatDeviceUri(parseDeviceUri(text))), expected, text);
  }
  for (const bad of [
    '',
    ':0',
    '?x=1',
    'a b',
    'x?=1',
    'x?a=1&a=2',
    'x?a=%zz',
    `x?${'a'.repeat(3)}${'&b=1'.repeat(2)}`,
  ]) {
    assert.throws(() => parseDeviceUri(bad), { status: 'INVALID_ARGUMENT' }, bad);
  }
  const many = Array.from({ length: 129 }, (_, i) => `k${i}=1`).join('&');
  assert.throws(() => parseDeviceUri(`x?${many}`), { message: /129 parameters, at most 128/ });
});

test('parameters have types and ranges', () => {
  const specs = {
    queues: { kind: 'integer', min: 1, max: 8, default: 2 },
    mode: { kind: 'choice', values: ['aql', 'auto'], default: 'auto' },
    defer: { kind: 'flag', default: false },
    target: { kind: 'text', default: '' },
  } as const;
  const of = (query: string) => parameterValues(parseDeviceUri(`x?${query}`), specs);
  assert.deepEqual(of(''), { queues: 2, mode: 'auto', defer: false, target: '' });
  assert.deepEqual(of('queues=8&defer=1&mode=aql&target=y'), { queues: 8, mode: 'aql', defer: true, target: 'y' });
  for (const bad of ['queues=0', 'queues=9', 'queues=x', 'queues=', 'mode=pm4', 'defer=2', 'color=red']) {
    assert.throws(() => of(bad), { status: 'INVALID_ARGUMENT' }, bad);
  }
});

test('a path names devices in its order, each once', () => {
  const devices = ['GPU-a', 'GPU-b', 'GPU-c'].map((uuid) => ({ uuid }));
  const of = (path: string) => devicesOfPath(path, devices).map(({ uuid }) => uuid);
  assert.deepEqual(of(''), ['GPU-a', 'GPU-b', 'GPU-c']);
  assert.deepEqual(of('*'), ['GPU-a', 'GPU-b', 'GPU-c']);
  assert.deepEqual(of('2,GPU-a,2'), ['GPU-c', 'GPU-a']);
  assert.throws(() => of('GPU-d'), { status: 'NOT_FOUND', code: 'NO_DEVICE' });
  assert.throws(() => of('3'), { status: 'INVALID_ARGUMENT', message: /ordinal 3, there are 3 devices/ });
  for (const bad of ['gpu-a', '0,', '-1', '0x1', '0,,1']) assert.throws(() => of(bad), { status: 'INVALID_ARGUMENT' });
});
