/** Checked-in code objects with new code: what is in the files. What they compute: test/examples.test.ts. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { assembleFile } from '../assembler/assemble-file.ts';
import { parseCodeObject } from '../codeobject/code-object.ts';
import {
  DT_JMPREL,
  DT_PLTREL,
  DT_PLTRELSZ,
  DT_REL,
  DT_RELA,
  DT_RELAENT,
  DT_RELASZ,
  DT_RELENT,
  DT_RELSZ,
} from '../elf/constants.ts';
import { parseElf } from '../elf/elf.ts';
import { liftCodeObject } from '../lift/lifted-code.ts';
import { linkCodeObject } from '../linker/link.ts';
import { instrumentCodeObject, readPcMap } from './instrument.ts';
import { CodeSource } from './layout/code-source.ts';
import { compose, type EditStep } from './layout/compose.ts';
import { layOutCode } from './layout/lay-out.ts';
import { type CodeBlock, findMovableCode } from './layout/movable-code.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const FILES = ['examples', 'test/data'].flatMap((folder) =>
  readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /gfx\w+(\.v\d)?(\.stripped)?\.co$/.test(name) && !name.includes('gfx803'))
    .map((name) => path.join(folder, name)),
);
assert.ok(FILES.length >= 30, 'the folders hold code objects');

/** Blocks without a gap between them. */
function runsOf(blocks: readonly CodeBlock[]): CodeBlock[][] {
  const runs: CodeBlock[][] = [];
  let end: number | undefined;
  for (const block of blocks) {
    const [first, last] = [block.instructions[0]!, block.instructions.at(-1)!];
    if (first.offset === end) runs.at(-1)!.push(block);
    else runs.push([block]);
    end = last.offset + last.sizeBytes;
  }
  return runs;
}

for (const file of FILES) {
  test(`${file}: at its own addresses, code has its own bytes`, () => {
    const codeObject = parseCodeObject(readFileSync(path.join(ROOT, file)), file);
    const source = new CodeSource(liftCodeObject(codeObject));
    source.findEntries(undefined);
    const { blocks, kept } = findMovableCode({
      read: (address) => source.read(address),
      isCode: (address) => source.isCode(address),
      isFiller: (address) => source.isFiller(address),
      comesBack: () => true,
      obstacle: (step) => source.obstacle(step),
      entries: [...source.entries.keys()],
    });
    assert.deepEqual([...kept], []);
    for (const run of runsOf(blocks)) {
      const start = run[0]!.instructions[0]!.offset;
      const { items } = compose({
        ...{ blocks: run, entries: [], code: source.code },
        edit: () => undefined,
        pcUse: (step) => {
          const use = source.pcUse(step, 'text', 0);
          return use?.kind === 'pinned' ? undefined : use;
        },
      });
      const isAdded = (item: (typeof items)[number]) => 'words' in item && item.origin === undefined;
      const { bytes } = layOutCode(
        items.filter((item) => !isAdded(item)),
        start,
        source.code,
      );
      assert.deepEqual(Buffer.from(bytes), Buffer.from(codeObject.elf.read(BigInt(start), bytes.length, 'code')));
    }
  });

  test(`${file}: kernels and functions lead to new code, and old code is whole`, () => {
    const before = parseCodeObject(readFileSync(path.join(ROOT, file)), file);
    const { bytes, map } = instrumentCodeObject(before.elf.bytes, { name: file });
    const after = parseCodeObject(bytes, file);
    assert.deepEqual(readPcMap(after.elf)!.rows, map.rows);
    const text = after.elf.sectionNamed('.text.wavewright')!;
    let end = Number(text.address);
    for (const row of map.rows) {
      assert.equal(row.address, end);
      end += row.sizeBytes;
    }
    assert.equal(end, Number(text.address) + text.sizeBytes);
    assert.deepEqual(
      after.kernels.map(({ name, entryAddress }) => [name, map.originOf(Number(entryAddress))]),
      before.kernels.map(({ name, entryAddress }) => [name, Number(entryAddress)]),
    );
    for (const [i, kernel] of after.kernels.entries()) {
      const { kernelCodeEntryByteOffset, ...rest } = kernel.descriptor;
      const { kernelCodeEntryByteOffset: old, ...others } = before.kernels[i]!.descriptor;
      assert.notEqual(kernelCodeEntryByteOffset, old);
      assert.deepEqual(rest, others);
      assert.equal(kernel.entryAddress! % 256n, 0n);
    }
    for (const segment of before.elf.segments.filter(({ type, flags }) => type === 1 && (flags & 1) !== 0)) {
      const kept = after.elf.read(segment.virtualAddress, segment.fileSizeBytes, 'old code');
      assert.deepEqual(Buffer.from(kept), Buffer.from(before.elf.segmentBytes(segment)));
    }
  });
}

test('a processor without instruction tables is refused by name', () => {
  const bytes = readFileSync(path.join(ROOT, 'test/data/codeobjects/arguments.gfx803.v5.co'));
  assert.throws(() => instrumentCodeObject(bytes), { code: 'UNSUPPORTED', message: /no instruction set for 'gfx803'/ });
});

test('what is rewritten stays as it was, be it a Buffer', () => {
  for (const file of ['kernels.gfx90a.v5.co', 'kernels.gfx90a.v5.o']) {
    const bytes = readFileSync(path.join(ROOT, 'test/data/codeobjects', file));
    const before = Uint8Array.from(bytes);
    instrumentCodeObject(bytes);
    assert.deepEqual(Uint8Array.from(bytes), before, file);
  }
});

for (const [name, tags] of [
  [
    'DT_REL',
    [
      [DT_RELA, DT_REL, undefined],
      [DT_RELASZ, DT_RELSZ, 48n],
      [DT_RELAENT, DT_RELENT, 16n],
    ],
  ],
  [
    'DT_JMPREL',
    [
      [DT_RELA, DT_JMPREL, undefined],
      [DT_RELASZ, DT_PLTRELSZ, undefined],
      [DT_RELAENT, DT_PLTREL, BigInt(DT_RELA)],
    ],
  ],
] as const) {
  test(`relocations of ${name}, which no linker makes for AMD GPUs, are refused by name`, () => {
    const bytes = readFileSync(path.join(ROOT, 'test/data/codeobjects/kernels.gfx90a.v5.co'));
    const { offset, sizeBytes } = parseElf(bytes).sectionNamed('.dynamic')!;
    const view = new DataView(bytes.buffer, bytes.byteOffset + offset, sizeBytes);
    for (let at = 0; at < sizeBytes; at += 16) {
      const change = tags.find(([tag]) => BigInt(tag) === view.getBigUint64(at, true));
      if (!change) continue;
      view.setBigUint64(at, BigInt(change[1]), true);
      if (change[2] !== undefined) view.setBigUint64(at + 8, change[2], true);
    }
    const message = /dynamic relocations under tag (17|23), expected DT_RELA/;
    assert.throws(() => instrumentCodeObject(bytes), { code: 'UNSUPPORTED', message });
  });
}

test('no more than the new code is prefetched', () => {
  const source = `.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n${'s_nop 0\n'.repeat(300)}s_endpgm\n.size k, .-k
.rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_next_free_vgpr 1\n.amdhsa_next_free_sgpr 1\n.amdhsa_inst_pref_size 9
.end_amdhsa_kernel\n`;
  const object = { name: 'k.o', bytes: assembleFile(source, { processor: 'gfx1100' }) };
  const bytes = linkCodeObject([object]);
  const unitsOf = (edit: EditStep): number | undefined =>
    parseCodeObject(instrumentCodeObject(bytes, { edit }).bytes, 'k.co').kernels[0]!.descriptor.rsrc3
      .instructionPrefetchSize;
  assert.equal(
    unitsOf(() => undefined),
    9,
  );
  let count = 0;
  assert.equal(
    unitsOf((step) => (step.control === 'next' && count++ < 200 ? { instead: [] } : undefined)),
    4,
  );
});
