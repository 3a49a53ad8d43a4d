/**
 * Random PTX kernels on all executors, which must agree, and damaged ones, which must end in clear errors:
 * `node test/fuzz/ptx-texts.ts [SECONDS] [FIRST-SEED]`; a seed alone is repeated with `0 SEED`.
 */
import { PtxTrials } from './ptx/trials.ts';

const [seconds = 60, firstSeed = 1] = process.argv.slice(2).map(Number);
const end = performance.now() + seconds * 1000;
const trials = new PtxTrials({ texts: 2000, every: 40 });
let printed = 0;
for (let seed = firstSeed; seed === firstSeed || performance.now() < end; seed++) {
  process.title = `ptx-texts 0 ${seed}`;
  await trials.run(seed);
  for (const finding of trials.findings.slice(printed)) console.log(finding);
  printed = trials.findings.length;
}
const { kernels, findings, opcodes, damage } = trials;
const refused = [...opcodes.values()].filter(Boolean).length;
console.log(
  `${kernels} kernels of ${opcodes.size - refused} opcodes (${refused} refused), ${damage.texts} damaged texts ` +
    `(${damage.parsed} parse, ${damage.compiled} compile, ${damage.executed} executed), ${findings.length} findings`,
);
process.exitCode = findings.length === 0 ? 0 : 1;
