import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand } from '../run-command.test-support.ts';

const run = (...argv: string[]) => runCommand(argv);

test('isa decode: text, bytes, fields, literal', async () => {
  const { status, stdout } = await run('isa', 'decode', '8000ff00', '0x12345678', 'bf810000');
  assert.equal(status, 0);
  assert.match(
    stdout,
    /^s_add_u32 s0, s0, 0x12345678\n {2}SOP2, 8 bytes: 00 ff 00 80 78 56 34 12\n {2}ssrc0\[7:0\] = 0x0\n/,
  );
  assert.match(stdout, /\n {2}literal = 0x12345678\n\ns_endpgm\n/);
  const json = JSON.parse((await run('isa', 'decode', '--mcpu=gfx1100', '--format=json', 'bfb00000')).stdout);
  assert.deepEqual([json.schema, json.version, json.instructions[0].name], ['wavewright.isa.decoded', 1, 's_endpgm']);
});

test('isa show and coverage as JSON', async () => {
  const shown = JSON.parse((await run('isa', 'show', 'v_fma_f32', '--target=gfx90a,gfx942', '--format=json')).stdout);
  assert.deepEqual(
    shown.instructions.map(({ processor, manual }: { processor: string; manual: string }) => [processor, manual]),
    [
      ['gfx90a', 'CDNA2 ISA 12.11'],
      ['gfx942', 'CDNA3 ISA 12.11'],
    ],
  );
  const { targets } = JSON.parse((await run('isa', 'coverage', '--target=gfx942', '--format=json')).stdout);
  assert.equal(targets[0].processor, 'gfx942');
  assert.ok(targets[0].formats.find(({ format }: { format: string }) => format === 'VOP3').exact.includes('v_fma_f32'));
});

test('isa: wrong arguments', async () => {
  const cases: [string[], number, RegExp][] = [
    [[], 2, /missing argument/],
    [['shwo', 'x'], 2, /unknown verb 'shwo' \[USAGE\]\nhint: did you mean 'show'\?/],
    [['show'], 2, /show needs the name of an instruction/],
    [
      ['show', 'v_fam_f32', '--target=gfx90a'],
      2,
      /no instruction 'v_fam_f32' on gfx90a \[USAGE\]\nhint: did you mean 'v_fma_f32'\?/,
    ],
    [['coverage', 'x'], 2, /unexpected argument 'x'/],
    [['coverage', '--target=gfx7'], 4, /no instruction set for 'gfx7'/],
    [['decode'], 2, /dwords of 8 hexadecimal digits/],
    [['decode', 'bf81'], 2, /dwords of 8 hexadecimal digits, not 'bf81'/],
    [['decode', 'ffffffff'], 3, /dword 1, ffffffff, is no instruction of gfx90a \[BAD_INPUT\]/],
    [['decode', 'bf810000', '8000ff00'], 3, /dword 2, 8000ff00, is cut off/],
  ];
  for (const [argv, expected, message] of cases) {
    const { status, stdout, stderr } = await run('isa', ...argv);
    assert.match(stderr, message);
    assert.deepEqual([status, stdout], [expected, '']);
  }
});

test('objdump: wrong arguments', async () => {
  const cases: [string[], number, RegExp][] = [
    [['x.co'], 2, /nothing to print/],
    [['-d', 'none.co'], 3, /no such file/],
    [['-d', '--start-address=9', '--stop-address=0x9', 'none.co'], 2, /start address should be less/],
    [['-dQ', 'x.co'], 2, /unknown option '-dQ'/],
    [['-d', '--mattr=+sse', 'x.co'], 2, /unknown feature '\+sse'/],
  ];
  for (const [argv, expected, message] of cases) {
    const { status, stdout, stderr } = await run('objdump', ...argv);
    assert.match(stderr, message);
    assert.deepEqual([status, stdout], [expected, '']);
  }
});
