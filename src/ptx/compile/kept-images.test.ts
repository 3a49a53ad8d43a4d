import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { IMAGES_FORM } from './kept-images.ts';
import { compilePtx, type PtxImage } from './module.ts';

const TABLES = `.version 7.0
.target sm_70
.address_size 64
.extern .global .b8 other[];
.visible .global .align 8 .u64 table[3] = {generic(other)-8, f, 0};
.visible .global .align 4 .b8 part[2] = {0xFF00(table), 7};
.visible .func f() { ret; }
.visible .entry k(.param .u64 .ptr .global a, .param .u32 n)
.reqntid 32
{
  .reg .b64 %a;
  ld.param.u64 %a, [a];
  st.global.u64 [%a], table;
  ret;
}
`;

/** What is not there is left out of JSON. */
const plain = (images: readonly PtxImage[]): unknown => structuredClone(images.map((image) => withoutUndefined(image)));
const withoutUndefined = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  const fields = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(fields.map(([name, each]) => [name, withoutUndefined(each)]));
};

test('images come out of bytes as they went in', () => {
  const hello = readFileSync(new URL('../../../examples/hello/hello.sm_70.ptx', import.meta.url), 'utf8');
  const images = [TABLES, hello].map((text) => compilePtx(text, 'k.ptx'));
  assert.ok(images[0]!.relocations.some(({ addend }) => addend === -8n));
  const bytes = IMAGES_FORM.asBytes(images);
  const again = IMAGES_FORM.fromBytes(bytes);
  assert.deepEqual(plain(again), plain(images));
  const [line] = images[0]!.lines.pairs;
  assert.equal(again[0]!.lines.at(line!), images[0]!.lines.at(line!));
  assert.deepEqual(IMAGES_FORM.fromBytes(IMAGES_FORM.asBytes([])), []);
});
