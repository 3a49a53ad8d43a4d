/** What CUDA code asks its runtime for: printf, malloc, free and assert, on all executors. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_WAYS, kernelText, output, type Run, runOn, source, u32 } from './ptx-runs.test-support.ts';

const bytesOf = (text: string): string => [...new TextEncoder().encode(text), 0].join(', ');
const constantText = (name: string, text: string): string =>
  `.global .align 1 .b8 ${name}[${text.length + 1}] = {${bytesOf(text)}};`;

const DECLARATIONS = `
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
${constantText('format', 'thread %d of %llu says %s and %8.3f%%%c\n')}
${constantText('condition', 'x < n')}
${constantText('file', 'a.cu')}
${constantText('name', 'void k()')}`;

const THREADS = 192;

/** Runs it on a device; what was printed, and 64 bits of each thread. */
async function printed(body: string, options: Partial<Run> & { device: (typeof ALL_WAYS)[string] }) {
  const { device, ...rest } = options;
  const streams = { stdout: '', stderr: '' };
  const { outputs } = await runOn(device, {
    ...{ texts: [{ text: kernelText(body, DECLARATIONS), name: 'k.ptx' }], grid: [THREADS], workgroup: [96] },
    ...{ args: [output(THREADS * 8), source(new Uint8Array(THREADS * 8)), u32(THREADS)], timeoutMs: 30_000 },
    onPrint: (stream, text) => {
      streams[stream] += new TextDecoder().decode(text);
    },
    ...rest,
  });
  return { ...streams, values: [...new BigUint64Array(outputs[0]!.bytes.slice().buffer)] };
}

// The string and the list of arguments are in local memory; every second thread prints.
const PRINTING = `
  .local .align 8 .b8 list[40];
  .local .align 8 .b8 text[8];
  .param .b64 f;
  .param .b64 a;
  .param .b32 r;
  mov.b64 %rd2, list;
  cvta.local.u64 %rd3, %rd2;
  mov.b64 %rd4, text;
  cvta.local.u64 %rd5, %rd4;
  and.b32 %r3, %gid, 1;
  setp.eq.u32 %p0, %r3, 1;
  @%p0 bra QUIET;
  mov.b32 %r4, 0x00006968;
  st.local.b32 [%rd4], %r4;
  st.local.b32 [%rd2], %gid;
  mov.b64 %rd6, 0x1000000000;
  st.local.b64 [%rd2+8], %rd6;
  st.local.b64 [%rd2+16], %rd5;
  cvt.rn.f64.u32 %fd0, %gid;
  mul.f64 %fd0, %fd0, 0d3FE0000000000000;
  st.local.f64 [%rd2+24], %fd0;
  mov.b32 %r4, 33;
  st.local.b32 [%rd2+32], %r4;
  mov.b64 %rd7, format;
  st.param.b64 [f], %rd7;
  st.param.b64 [a], %rd3;
  call.uni (r), vprintf, (f, a);
  ld.param.b32 %r5, [r];
  st.global.b32 [%out], %r5;
QUIET:`;

const MALLOC = `
  .param .b64 n;
  .param .b64 r;
  mov.b64 %rd2, 24;
  st.param.b64 [n], %rd2;
  call.uni (r), malloc, (n);
  ld.param.b64 %rd3, [r];
  setp.eq.u64 %p0, %rd3, 0;
  @%p0 bra NONE;
  st.b32 [%rd3+20], %gid;
  ld.b32 %r4, [%rd3+20];
  add.u32 %r4, %r4, 1;
  st.global.b32 [%out], %r4;
NONE:`;
const FREE = `
  .param .b64 p;
  st.param.b64 [p], %rd3;
  call.uni free, (p);`;

const ASSERTING = `
  .param .b64 m;
  .param .b64 f;
  .param .b32 l;
  .param .b64 n2;
  .param .b64 s;
  setp.ne.u32 %p0, %gid, 100;
  @%p0 bra FINE;
  mov.b64 %rd2, condition;
  mov.b64 %rd3, file;
  mov.b64 %rd4, name;
  st.param.b64 [m], %rd2;
  st.param.b64 [f], %rd3;
  st.param.b32 [l], 12;
  st.param.b64 [n2], %rd4;
  st.param.b64 [s], 1;
  call.uni __assertfail, (m, f, l, n2, s);
FINE:`;

for (const [name, device] of Object.entries(ALL_WAYS)) {
  test(`vprintf, with strings and lists in local memory: ${name}`, async () => {
    const { stdout, stderr, values } = await printed(PRINTING, { device });
    assert.equal(stderr, '');
    const wanted = Array.from({ length: THREADS / 2 }, (_, i) => {
      return `thread ${2 * i} of ${2 ** 36} says hi and ${i.toFixed(3).padStart(8)}%!`;
    });
    const lines = stdout.trimEnd().split('\n');
    assert.deepEqual(lines.toSorted(), wanted.toSorted());
    assert.deepEqual(
      values,
      Array.from({ length: THREADS }, (_, i) => (i % 2 ? 0n : 5n)),
    );
  });

  test(`malloc and free: ${name}`, async () => {
    const { values } = await printed(MALLOC + FREE, { device });
    assert.deepEqual(
      values,
      Array.from({ length: THREADS }, (_, i) => BigInt(i + 1)),
    );
    // What is allocated and not freed counts together.
    const few = await printed(MALLOC, { device, heapBytes: 24 * 10 });
    assert.equal(few.values.filter((value) => value !== 0n).length, 10);
  });

  test(`an assertion that fails: ${name}`, async () => {
    let stderr = '';
    const said = "a.cu:12: void k(): block: [1,0,0], thread: [4,0,0] Assertion `x < n' failed.";
    const onPrint: Run['onPrint'] = (_, text) => {
      stderr += new TextDecoder().decode(text);
    };
    await assert.rejects(printed(ASSERTING, { device, onPrint }), {
      ...{ name: 'WavewrightError', code: 'GPU_FAULT' },
      message: new RegExp(`device-side assert triggered: ${RegExp.escape(said)}; trap`),
    });
    assert.equal(stderr, `${said}\n`);
  });
}

test('what is no heap memory, no string and no format', async () => {
  const { reference: device } = ALL_WAYS;
  const wrong = MALLOC + FREE.replace('[p], %rd3', '[p], %out');
  await assert.rejects(printed(wrong, { device: device! }), {
    code: 'GPU_FAULT',
    message: /which malloc did not return/,
  });
  const without = PRINTING.replace('mov.b64 %rd7, format', 'mov.b64 %rd7, 0');
  const { values, stdout } = await printed(without, { device: device! });
  assert.deepEqual([stdout, values[0], values[1]], ['', 0xffffffffn, 0n]);
  const astray = PRINTING.replace('mov.b64 %rd7, format', 'mov.b64 %rd7, 0x123456');
  await assert.rejects(printed(astray, { device: device! }), {
    code: 'GPU_FAULT',
    message: /invalid read of address 0x123456/,
  });
});

test("a program's own function comes before the library's", async () => {
  const own = `${DECLARATIONS.replace(/^.*malloc.*$/m, '')}
.visible .func (.param .b64 r) malloc(.param .b64 n) { .reg .b64 %x; ld.param.b64 %x, [n]; st.param.b64 [r], %x; ret; }`;
  const body = MALLOC.replace(/ {2}st\.b32 \[%rd3[\s\S]*ld\.b32 %r4, \[%rd3\+20\];/, '  cvt.u32.u64 %r4, %rd3;');
  const texts = [{ text: kernelText(body + FREE.replace('%rd3', '0'), own), name: 'k.ptx' }];
  const { values } = await printed('', { device: ALL_WAYS['T1']!, texts });
  assert.deepEqual(
    values,
    Array.from({ length: THREADS }, () => 25n),
  );
});
