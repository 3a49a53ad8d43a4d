import { StateRunner } from '../../test/semantics/state-runner.ts';
import { encodingVariants, jobOf } from './jobs.ts';
import { expectedState } from './model.ts';
const [processor, size, filter = '.', verbose] = process.argv.slice(2);
const waveSize = Number(size) as 32 | 64;
const runner = new StateRunner(processor!, 'reference', waveSize);
const missing = new Set<string>(); let same = 0, count = 0, bytes = 0;
const bad: Record<string, string> = {}; let lanes = 0;
for (const { encoding, target, variant } of encodingVariants(processor!)) {
  if (!new RegExp(filter).test(encoding.row.name + ' ' + encoding.format.name)) continue;
  let job, after;
  try { job = jobOf(encoding, target, waveSize, variant); after = expectedState(job); } catch (e) { console.log('MODEL', encoding.row.name, encoding.format.name, JSON.stringify(variant), (e as Error).stack!.split('\n').slice(0, 3).join(' ')); continue; }
  if (!after) { missing.add(encoding.row.name); continue; }
  count++;
  const recording = { ...job.recording, targets: [processor!], source: 'formula', after };
  bytes += JSON.stringify(recording).length;
  let ours;
  try { ours = runner.run(recording); } catch (e) { console.log('OURS', encoding.row.name, encoding.format.name, JSON.stringify(variant), String((e as Error).stack).slice(0, 200)); continue; }
  const diffs: string[] = [];
  for (const [name, text] of Object.entries(after.registers)) {
    const mine = ours.registers[name]!;
    for (let i = 0; i < text.length; i += 8) {
      if (text.slice(i, i + 8) === mine.slice(i, i + 8)) continue;
      lanes++;
      const inputs = Object.entries(job.recording.before.registers).filter(([n]) => !/exec|m0|s107/.test(n)).map(([n, t]) => `${n}=${t.length === 8 ? t : t.slice(i, i + 8)}`).join(' ');
      diffs.push(`${name}[${i / 8}] ours ${mine.slice(i, i + 8)} model ${text.slice(i, i + 8)} (${inputs})`);
    }
  }
  if (!diffs.length) same++;
  else console.log(encoding.row.name, encoding.format.name, JSON.stringify(variant), job.recording.code, diffs.length, diffs.slice(0, verbose ? 5 : 1).join(' | '));
}
console.log({ count, same, bytes, lanes }, [...missing].join(' '));
