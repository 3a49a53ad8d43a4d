import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../base/errors.ts';
import { Profile } from '../profile/profile.ts';
import { reportBytes, reportPage } from './page.ts';
import { type ReportHeader, unpackReport } from './report-data.ts';
import { sampleProfile } from './sample-profile.test-support.ts';

const OPTIONS = { madeBy: 'a test' };
const headerOf = (bytes: Uint8Array): ReportHeader => unpackReport(reportBytes(Profile.read(bytes), OPTIONS)).header;

test('a report holds every event, in lanes that do not overlap, and sums of kernels', () => {
  const header = headerOf(sampleProfile(400));
  assert.deepEqual(
    Object.values(header.events).map(({ rowCount }) => rowCount),
    [400, 400, 400, 400, 400],
  );
  assert.equal(
    header.tracks.reduce((sum, { count }) => sum + count, 0),
    2_000,
  );
  assert.equal(
    header.kernels.reduce((sum, { launches }) => sum + launches, 0),
    400,
  );
  assert.deepEqual(
    header.counters.map(({ name }) => name),
    ['SQ_WAVES', 'WW_INSTS'],
  );
  const waves = header.kernels.reduce((sum, { counters }) => sum + counters[0]!, 0);
  assert.equal(waves, 400 * 64);
  assert.deepEqual(header.openMemory[0]!.kinds, ['buffer']);
  const [listing] = header.code;
  assert.deepEqual(
    listing!.functions[0]!.blocks.map(({ count, loopDepth, ways }) => [count, loopDepth, ways.map(({ to }) => to)]),
    [
      [2, 0, [1]],
      [6, 1, [2, 1]],
      [1, 0, []],
    ],
  );
  assert.deepEqual(header.notices, []);
});

test('a profile without events, and one whose session did not end, have reports', () => {
  const header = headerOf(sampleProfile(0));
  assert.deepEqual([header.tracks, header.spanNs], [[], 0]);
  const open = sampleProfile(1);
  open.fill(0, 16, 24);
  assert.match(headerOf(open).notices[0]!, /session did not end/);
});

test('a damaged profile ends in an error or in a report', () => {
  const whole = sampleProfile(3);
  const damage = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 });
  const sourceTexts = fc.array(damage, { minLength: 40, maxLength: 40 });
  fc.assert(
    fc.property(sourceTexts, (all) => {
      for (const changes of all) {
        const bytes = Uint8Array.from(whole);
        for (const [at, value] of changes) bytes[at] = value;
        try {
          JSON.stringify(headerOf(bytes));
        } catch (error) {
          assert.ok(error instanceof WavewrightError && error.code !== 'INTERNAL', String(error));
        }
      }
    }),
    { numRuns: 20 },
  );
});

test('what a profile says stands in no markup', async () => {
  const page = await reportPage(Profile.read(sampleProfile(2), '</title><script>alert(1)</script>'), OPTIONS);
  assert.ok(!page.includes('alert(1)'));
});
