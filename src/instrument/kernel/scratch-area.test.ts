import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScratchArea } from './scratch-area.ts';

const access = (isFlatScratchHidden: boolean) => ({
  ...{ isFlatScratchHidden, isFlatScratchWritten: true },
  ...{ isPossible: () => true, keepFlatScratch: () => 20 },
});

test('a FLAT_SCRATCH that kernels may have set unseen is not relied on', () => {
  assert.equal(new ScratchArea([], access(false)).flatScratch(), 20);
  assert.match(`${new ScratchArea([], access(true)).flatScratch()}`, /FLAT_SCRATCH of this target is not followed/);
});
