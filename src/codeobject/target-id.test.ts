import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../base/errors.ts';
import { PROCESSORS } from './processors.ts';
import {
  type CodeObjectTarget,
  defaultTargetId,
  explainIncompatibility,
  formatIsaName,
  formatTargetId,
  parseTargetId,
  type TargetId,
  targetMismatches,
} from './target-id.ts';

const targetIds: fc.Arbitrary<TargetId> = fc.constantFrom(...PROCESSORS).chain((processor) =>
  fc.record(
    {
      processor: fc.constant(processor.name),
      xnack: processor.xnack ? fc.constantFrom('any', 'on', 'off') : fc.constant('unsupported'),
      sramecc: processor.sramecc ? fc.constantFrom('any', 'on', 'off') : fc.constant('unsupported'),
    },
    { noNullPrototype: true },
  ),
);

test('formatting and parsing are inverse, with and without triple', () => {
  fc.assert(
    fc.property(targetIds, (target) => {
      assert.deepEqual(parseTargetId(formatTargetId(target)), target);
      assert.deepEqual(parseTargetId(formatIsaName(target)), target);
      assert.deepEqual(parseTargetId(formatIsaName(target).replace('--', '-unknown-')), target);
    }),
  );
});

test('the canonical order of features is alphabetical', () => {
  assert.equal(formatTargetId(parseTargetId('gfx90a:xnack-:sramecc+')), 'gfx90a:sramecc+:xnack-');
  assert.deepEqual(parseTargetId('amdgpu9.0a-amd-amdhsa-unknown-gfx90a:xnack+'), {
    processor: 'gfx90a',
    xnack: 'on',
    sramecc: 'any',
  });
});

test('bad target ids say what is wrong, with the code that the caller wants', () => {
  const cases: [string, RegExp][] = [
    ['', /unknown processor ''/],
    ['gfx90', /target id 'gfx90': unknown processor 'gfx90'/],
    ['gfx90a:xnack', /unknown feature 'xnack'/],
    ['gfx90a:xnack+:xnack-', /feature xnack appears twice/],
    ['gfx1100:xnack+', /gfx1100 has no choice of xnack/],
    ['gfx900:sramecc-', /gfx900 has no choice of sramecc/],
  ];
  for (const [text, message] of cases) assert.throws(() => parseTargetId(text), message);
  const codeOf = (code?: 'BAD_INPUT') => {
    try {
      parseTargetId('nonsense', code === undefined ? {} : { code });
    } catch (error) {
      return error instanceof WavewrightError ? error.code : error;
    }
    return undefined;
  };
  assert.equal(codeOf(), 'USAGE');
  assert.equal(codeOf('BAD_INPUT'), 'BAD_INPUT');
});

const code = (text: string, genericVersion = 0): CodeObjectTarget => ({ ...parseTargetId(text), genericVersion });

test('a chosen feature must equal the agent, any matches', () => {
  const agent = parseTargetId('gfx90a:sramecc+:xnack-');
  assert.equal(explainIncompatibility(code('gfx90a'), agent), undefined);
  assert.equal(explainIncompatibility(code('gfx90a:sramecc+:xnack-'), agent), undefined);
  assert.equal(explainIncompatibility(code('gfx90a:xnack+'), parseTargetId('gfx90a')), undefined);
  assert.match(explainIncompatibility(code('gfx90a:xnack+'), agent)!, /built with xnack on, the agent has it off/);
  assert.match(explainIncompatibility(code('gfx90a:sramecc-'), agent)!, /built with sramecc off, the agent has it on/);
  assert.match(explainIncompatibility(code('gfx942'), agent)!, /built for gfx942, not for gfx90a/);
});

test('a generic processor runs on its members from the version that includes them', () => {
  assert.equal(explainIncompatibility(code('gfx9-4-generic', 1), parseTargetId('gfx942')), undefined);
  assert.equal(explainIncompatibility(code('gfx11-generic', 7), parseTargetId('gfx1103')), undefined);
  assert.match(
    explainIncompatibility(code('gfx11-generic', 0), parseTargetId('gfx1103'))!,
    /version 0 of gfx11-generic/,
  );
  assert.match(explainIncompatibility(code('gfx9-generic', 1), parseTargetId('gfx90a'))!, /not for gfx90a/);
  assert.match(explainIncompatibility(code('gfx1103'), parseTargetId('gfx11-generic'))!, /not for gfx11-generic/);
});

test('everything that does not fit is named', () => {
  const named = (text: string, agent: string, genericVersion = 0) =>
    targetMismatches(code(text, genericVersion), parseTargetId(agent)).map(({ mismatch }) => mismatch);
  assert.deepEqual(named('gfx90a:sramecc-:xnack+', 'gfx90a:sramecc+:xnack-'), ['xnack', 'sramecc']);
  assert.deepEqual(named('gfx908:xnack+', 'gfx90a:xnack-'), ['processor', 'xnack']);
  assert.deepEqual(named('gfx9-generic', 'gfx1100', 1), ['generic family']);
  assert.deepEqual(named('gfx11-generic', 'gfx1100', 0), ['generic version']);
  assert.deepEqual(named('gfx11-generic', 'gfx1100', 1), []);
  assert.equal(
    explainIncompatibility(code('gfx908:xnack+'), parseTargetId('gfx90a:xnack-')),
    'it was built for gfx908, not for gfx90a, and it was built with xnack on, the agent has it off',
  );
});

test('code always runs on an agent of its own target', () => {
  for (const processor of PROCESSORS) {
    const target = { ...defaultTargetId(processor), genericVersion: processor.isGeneric ? 1 : 0 };
    assert.equal(explainIncompatibility(target, target), undefined);
  }
});
