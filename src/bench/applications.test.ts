/** Applications compute what their models do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { APPLICATIONS } from './applications.ts';
import { KernelRunner } from './kernel-runner.ts';
import { differenceFrom } from './kernels/kernel-benchmark.ts';
import { APPLICATION_TARGETS, readApplicationImage } from './node-images.ts';

for (const processor of APPLICATION_TARGETS) {
  for (const application of APPLICATIONS) {
    test(`${application.name} on ${processor}, twice`, () => {
      using runner = new KernelRunner({ processor });
      const plan = application.plan('small');
      const { run, buffer } = runner.preparePlan(readApplicationImage(application, processor), plan);
      for (const _ of [1, 2]) {
        run();
        for (const [name, expected] of Object.entries(application.model(plan)))
          assert.equal(differenceFrom(expected, buffer(name), application.tolerance), undefined, name);
      }
    });
  }
}
