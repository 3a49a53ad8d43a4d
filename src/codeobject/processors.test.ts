import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PROCESSORS, processorNamed, processorWithMach } from './processors.ts';

test('names and numbers are unique and find their processor', () => {
  assert.equal(new Set(PROCESSORS.map(({ mach }) => mach)).size, PROCESSORS.length);
  for (const processor of PROCESSORS) {
    assert.equal(processorNamed(processor.name), processor);
    assert.equal(processorWithMach(processor.mach), processor);
    assert.ok(processor.mach >= 0x20 && processor.mach <= 0xff);
  }
  assert.equal(processorNamed('gfx9999'), undefined);
  assert.equal(processorWithMach(0), undefined);
});

test('a generic processor exists, is one, and has the family and no more features than its members', () => {
  for (const processor of PROCESSORS) {
    if (processor.generic === undefined) continue;
    const generic = processorNamed(processor.generic.name);
    assert.ok(generic?.isGeneric, processor.name);
    assert.equal(generic.family, processor.family, processor.name);
    assert.ok(!generic.xnack || processor.xnack, processor.name);
    assert.ok(!generic.sramecc || processor.sramecc, processor.name);
  }
});

test('the family of a processor agrees with its name', () => {
  const unified = ['gfx90a', 'gfx940', 'gfx941', 'gfx942', 'gfx950', 'gfx9-4-generic'];
  for (const { name, family } of PROCESSORS) {
    if (family === 'gfx90a') assert.ok(unified.includes(name), name);
    else if (family === 'gfx125') assert.match(name, /^gfx12(5|-5-)/);
    else if (name.endsWith('-generic')) assert.ok(name.startsWith(`${family}-`), name);
    else assert.equal(name.slice(0, -2), family);
  }
});
