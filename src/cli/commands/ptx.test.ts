/** `wavewright ptx`, and `wavewright dispatch` of PTX. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fatBinary } from '../../nvptx/containers.test-support.ts';
import { runCommand } from '../run-command.test-support.ts';

const run = (...argv: string[]) => runCommand(argv);

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-ptx-'));
after(() => rmSync(folder, { recursive: true }));

const TEXT = `// A kernel.
.version 7.8
.target sm_70
.address_size 64
.visible .entry half(.param .u64 out, .param .f32 x)
{
  .reg .f32 %f<3>; .reg .b64 %rd<3>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [out];
  ld.param.f32 %f1, [x];
  mul.rn.f32 %f2, %f1, 0f3F000000;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd2, %rd1, %rd2;
  st.global.f32 [%rd2], %f2;
  ret;
}
`;

const file = path.join(folder, 'half.ptx');
writeFileSync(file, TEXT);
const broken = path.join(folder, 'broken.ptx');
writeFileSync(broken, TEXT.replace('mul.rn', 'mul.xx'));
const damaged = path.join(folder, 'damaged.ptx');
writeFileSync(damaged, TEXT.replace('[out]', '[out'));

test('ptx finds texts in what they are packed in, and names the first device that runs them', async () => {
  const packed = path.join(folder, 'half.fatbin');
  const text = (target: string): Uint8Array => new TextEncoder().encode(TEXT.replace('sm_70', target));
  writeFileSync(
    packed,
    fatBinary(
      [75, 100].map((processor) => ({ kind: 1, processor, bytes: text(`sm_${processor}`), compression: 'zstd' })),
    ),
  );
  const { status, stdout } = await run('ptx', packed);
  assert.equal(status, 1);
  assert.match(stdout, /half\.fatbin.*: PTX 7\.8 for sm_75.*\n {2}kernel half.*\n {2}runs on ptx:sm_75\n/);
  assert.match(
    stdout,
    /: PTX 7\.8 for sm_100.*\n {2}kernel half.*\n {2}does not run here: it is for sm_100 and later\n/,
  );
});

test('ptx says what a text holds and whether it runs', async () => {
  const { status, stdout } = await run('ptx', file);
  assert.equal(status, 0);
  assert.equal(
    stdout,
    `${file}: PTX 7.8 for sm_70, 8 instructions, 0 variables\n  kernel half(.u64, .f32)\n  runs on ptx:sm_70\n`,
  );
});

test('ptx names what is missing, and the place of an error', async () => {
  const missing = await run('ptx', broken);
  assert.equal(missing.status, 1);
  assert.match(missing.stdout, /does not run here: .*broken\.ptx:10:3: instruction 'mul\.xx\.f32' is not implemented/);
  const error = await run('ptx', damaged);
  assert.equal(error.status, 3);
  assert.match(error.stderr, /damaged\.ptx:8:26: expected '\]' behind an address, found ';'/);
});

test('ptx prints modules and lists instructions', async () => {
  const printed = await run('ptx', '--print', file);
  writeFileSync(path.join(folder, 'again.ptx'), printed.stdout);
  assert.equal((await run('ptx', '--print', path.join(folder, 'again.ptx'))).stdout, printed.stdout);
  assert.match((await run('ptx', '--opcodes', file)).stdout, /^ {7}1 add\.s64$/m);
  const json = JSON.parse((await run('ptx', '--format=json', file)).stdout);
  assert.equal(json.files[0].opcodes['ld.param.f32'], 1);
});

test('dispatch runs PTX on a virtual device', async () => {
  const sum = path.join(folder, 'out');
  const launch = ['--grid=4', '--workgroup=4', `--arg=out:${sum}:16`, '--arg=f32:5'];
  const { status, stderr, stdout } = await run('dispatch', file, '--device=ptx:sm_80', '--time', ...launch);
  assert.equal(status, 0, stderr);
  assert.deepEqual([...new Float32Array(new Uint8Array(readFileSync(sum)).buffer)], [2.5, 2.5, 2.5, 2.5]);
  assert.match(stdout, /median: .* instructions of 1 waves\nclasses: .*memory/);
  const json = JSON.parse((await run('dispatch', file, '--format=json', ...launch)).stdout);
  assert.equal(json.device, 'ptx:sm_70');
  assert.equal((await run('dispatch', file, '--device=gfx90a', ...launch)).status, 5);
  assert.match((await run('dispatch', file, '--cooperative', ...launch)).stderr, /--cooperative for PTX/);
  assert.match((await run('dispatch', file, ...launch.slice(0, 3), '--arg=u32:5')).stderr, /expected f16, f32 or f64/);
});
