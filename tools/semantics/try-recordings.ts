import { StateRunner } from '../../test/semantics/state-runner.ts';
import { generate, PLANS } from './generate.ts';
const [processor, filter = '.', executor = 'reference'] = process.argv.slice(2);
const runners = { 32: new StateRunner(processor!, executor as 'reference', 32), 64: new StateRunner(processor!, executor as 'reference', 64) };
void PLANS; let same = 0, count = 0;
for (const { file, recording: made } of generate(processor!)) {
  if (!new RegExp(filter).test(`${file} ${made.name}`)) continue;
  const recording = { ...made, targets: [processor!], source: '' };
  count++;
  let ours; try { ours = runners[recording.waveSize].run(recording); } catch (e) { console.log(file, recording.name, recording.code, 'OURS', String((e as Error).stack).slice(0, 250)); continue; }
  const diffs: string[] = [];
  for (const [name, text] of Object.entries(recording.after.registers)) for (let i = 0; i < text.length; i += 8) if (text.slice(i, i + 8) !== ours.registers[name]!.slice(i, i + 8)) diffs.push(`${name}[${i / 8}] ours ${ours.registers[name]!.slice(i, i + 8)} model ${text.slice(i, i + 8)} ` + Object.entries(recording.before.registers).map(([n, t]) => `${n}=${t.length === 8 ? t : t.slice(i, i + 8)}`).join(' '));
  for (const k of ['lds', 'memory'] as const) { const want = recording.after[k] ?? recording.before[k]; if (want === undefined) continue; const got = ours[k]!; for (let i = 0; i < want.length; i += 8) if (want.slice(i, i + 8) !== got.slice(i, i + 8)) diffs.push(`${k}@${i / 2} ours ${got.slice(i, i + 8)} model ${want.slice(i, i + 8)} before ${recording.before[k]!.slice(i, i + 8)}`); }
  if (diffs.length === 0) same++; else console.log(file, recording.name, recording.code, diffs.length, diffs.slice(0, 2).join(' | ').slice(0, 500));
}
console.log({ count, same });
