import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CODE_OBJECT_FILES, errorCodeOf, mutationsOf, readTestFile } from '../../test/data/codeobjects/load.ts';
import { parseCodeObject } from '../codeobject/code-object.ts';
import { PF_X } from '../elf/constants.ts';
import { registerNumber } from '../flow/steps.ts';
import {
  codeObjectOf,
  functionNamed,
  functionText,
  kernelText,
  liftText,
  sitesText,
  textsOf,
} from './lift-text.test-support.ts';
import { liftCodeObject } from './lifted-code.ts';

const addressOf = (pair: string, symbol: string): string => {
  const [, low, high] = /s\[(\d+):(\d+)\]/.exec(pair)!;
  return `s_getpc_b64 ${pair}
    s_add_u32 s${low}, s${low}, ${symbol}@rel32@lo+4
    s_addc_u32 s${high}, s${high}, ${symbol}@rel32@hi+12\n`;
};
const RETURN = 's_setpc_b64 s[30:31]';
const LEAF = functionText('leaf', `v_add_u32 v0, v0, v1\n${RETURN}`);

test('kernels, the functions that symbols name, and calls through an address that code makes', () => {
  const code = liftText(
    `${kernelText('k', `${addressOf('s[4:5]', 'leaf')} s_swappc_b64 s[30:31], s[4:5]\n s_endpgm`)}${LEAF}`,
  );
  assert.deepEqual(
    code.functions.map(({ name, kernels, waveSize }) => [name, kernels.map((each) => each.name).join(), waveSize]),
    [
      ['k', 'k', 64],
      ['leaf', '', 64],
    ],
  );
  assert.deepEqual(sitesText(code), ['k: call leaf getpc']);
  const [kernel, leaf] = [functionNamed(code, 'k'), functionNamed(code, 'leaf')];
  assert.deepEqual([...kernel.callees], [leaf]);
  assert.deepEqual([...kernel.reaches().functions], [kernel, leaf]);
  assert.equal(kernel.reaches().isComplete, true);
  const [address] = code.addresses;
  assert.deepEqual([address?.target, address?.isCode, address?.high !== undefined], [leaf.entry, true, true]);
});

test('functions without symbols are found at the calls to them, however deep', () => {
  const hidden = (name: string, lines: string): string => `.p2align 8\n${name}:\n${lines}\n`;
  const code = liftText(
    `${kernelText('k', `${addressOf('s[4:5]', 'a')} s_swappc_b64 s[30:31], s[4:5]\n s_endpgm`)}
     ${hidden('a', `s_mov_b64 s[38:39], s[30:31]\n${addressOf('s[4:5]', 'b')} s_swappc_b64 s[30:31], s[4:5]\n s_setpc_b64 s[38:39]`)}
     ${hidden('b', `s_mov_b64 s[34:35], s[30:31]\n s_call_b64 s[36:37], c\n s_setpc_b64 s[34:35]\n c:\n s_setpc_b64 s[36:37]`)}`,
  );
  assert.deepEqual(
    sitesText(code).map((text) => text.replace(/0x\w+/g, 'f')),
    ['k: call f getpc', 'f: call f getpc', 'f: call f direct'],
  );
});

test('a return address that a callee overwrites is none any more', () => {
  const code = liftText(
    `${functionText('f', `s_mov_b64 s[34:35], s[30:31]\n s_call_b64 s[30:31], g\n s_setpc_b64 s[34:35]`)}
     ${functionText('g', `s_mov_b32 s34, 0\n ${RETURN}`)}`,
  );
  assert.deepEqual(sitesText(code), ['f: call g direct', 'f: jump  incomplete unresolved']);
});

test('a return address that was spilled into lanes is still one', () => {
  const code = liftText(
    `${kernelText('k', `${addressOf('s[4:5]', 'f')} s_swappc_b64 s[30:31], s[4:5]\n s_endpgm`)}${LEAF}
     ${functionText(
       'f',
       `v_writelane_b32 v40, s30, 0\n v_writelane_b32 v40, s31, 1\n ${addressOf('s[4:5]', 'leaf')}
       s_swappc_b64 s[30:31], s[4:5]\n v_readlane_b32 s31, v40, 1\n v_readlane_b32 s30, v40, 0\n ${RETURN}`,
     )}`,
  );
  assert.deepEqual(sitesText(code), ['k: call f getpc', 'f: call leaf getpc']);
  const lost = liftText(
    functionText('f', `v_writelane_b32 v40, s30, 0\n v_mov_b32 v40, 0\n v_readlane_b32 s30, v40, 0\n ${RETURN}`),
  );
  assert.deepEqual(sitesText(lost), ['f: jump  incomplete unresolved']);
});

test('lanes of any register keep a return address where the callee leaves that register alone', () => {
  const caller = functionText(
    'f',
    `v_writelane_b32 v5, s30, 0\n v_writelane_b32 v5, s31, 1\n s_call_b64 s[30:31], g
     v_readlane_b32 s30, v5, 0\n v_readlane_b32 s31, v5, 1\n ${RETURN}`,
  );
  const sites = (callee: string): readonly string[] => sitesText(liftText(`${caller}${functionText('g', callee)}`));
  assert.deepEqual(sites(`v_mov_b32 v4, 0\n ${RETURN}`), ['f: call g direct']);
  assert.deepEqual(sites(`v_mov_b32 v5, 0\n ${RETURN}`), ['f: call g direct', 'f: jump  incomplete unresolved']);
});

test('an address whose sign is extended, as gfx12 has it', () => {
  const code = liftText(
    `${functionText(
      'f',
      `s_getpc_b64 s[4:5]\n s_sext_i32_i16 s5, s5\n s_add_co_u32 s4, s4, leaf@rel32@lo+8
      s_add_co_ci_u32 s5, s5, leaf@rel32@hi+16\n s_swappc_b64 s[30:31], s[4:5]\n s_endpgm`,
    )}
     ${functionText('leaf', RETURN)}`,
    'gfx1201',
  );
  assert.deepEqual(sitesText(code), ['f: call leaf getpc']);
  assert.equal(code.addresses[0]?.target, functionNamed(code, 'leaf').entry);
});

test('both additions of an address are known where nothing uses what is in between', () => {
  const plain = (lines: string): boolean => {
    const [address] = liftText(`${functionText('f', lines)}${LEAF}`).addresses;
    return address?.low !== undefined && address.high !== undefined;
  };
  assert.equal(plain(`${addressOf('s[4:5]', 'leaf')} s_endpgm`), true);
  assert.equal(plain(addressOf('s[4:5]', 'leaf').replace('s_addc', 's_mov_b32 s6, s4\n s_addc')), false);
  assert.equal(plain('s_getpc_b64 s[4:5]\n s_add_u32 s4, s4, 0x1000\n s_addc_u32 s5, s5, 0\n s_endpgm'), true);
});

test('a jump that two functions come to is not known by what one of them knows', () => {
  const setters = (first: string, second: string): readonly string[] =>
    sitesText(
      liftText(
        `${functionText('f', `${first}\n s_branch shared`)}${functionText('g', `${second}\n shared:\n s_setpc_b64 s[4:5]`)}${LEAF}`,
      ),
    ).filter((text) => !text.includes('direct'));
  assert.deepEqual(setters(addressOf('s[4:5]', 'leaf'), 's_nop 0'), ['g+0x4: return  incomplete unresolved']);
});

const TABLE =
  '.section .data.rel.ro,"aw",@progbits\n.p2align 3\n.globl table\n.hidden table\ntable:\n.quad leaf\n.quad other\n.text\n';
const OTHER = functionText('other', `v_sub_u32 v0, v0, v1\n${RETURN}`);
const CALL = 's_swappc_b64 s[30:31], s[6:7]\n s_endpgm';

test('calls through a table of pointers, by a place that is known or only the run tells', () => {
  const sites = (lines: string, table = TABLE): readonly string[] =>
    sitesText(liftText(`${table}${kernelText('k', `${addressOf('s[4:5]', 'table')}${lines} ${CALL}`)}${LEAF}${OTHER}`));
  assert.deepEqual(sites('s_load_dwordx2 s[6:7], s[4:5], 0x0\n'), ['k: call leaf table']);
  const both = ['k: call leaf other table'];
  assert.deepEqual(sites('s_load_dwordx2 s[6:7], s[4:5], s20\n'), both);
  const indexed = 's_add_u32 s8, s20, s4\n s_addc_u32 s9, s21, s5\n s_load_dwordx2 s[6:7], s[8:9], 0x8\n';
  assert.deepEqual(sites(indexed), both);
  const spilled = 'v_writelane_b32 v9, s6, 0\n s_mov_b32 s6, 0\n v_readlane_b32 s6, v9, 0\n';
  assert.deepEqual(sites(`${indexed}${spilled}`), both);
  const unknown = ['k: call  incomplete unresolved'];
  // The difference of two addresses may lead anywhere from a third.
  const difference = 's_sub_u32 s8, s20, s4\n s_subb_u32 s9, s21, s5\n s_load_dwordx2 s[6:7], s[8:9], 0x8\n';
  assert.deepEqual(sites(difference), unknown);
  const outside = `${TABLE.replace('.quad other', '.quad other\n.quad elsewhere')}.globl elsewhere\n`;
  assert.deepEqual(sites(indexed, outside), unknown);
  assert.deepEqual(sites(indexed, TABLE.replace('.data.rel.ro', '.data')), unknown);
});

test('a call of one of two functions, as SCC or the way to it chooses', () => {
  const made = `${addressOf('s[4:5]', 'leaf')}${addressOf('s[8:9]', 'other')} s_cmp_eq_u32 s20, 0\n`;
  const sites = (lines: string, end = CALL): readonly string[] =>
    sitesText(liftText(`${kernelText('k', `${made}${lines} ${end}`)}${LEAF}${OTHER}`));
  const both = ['k: call leaf other getpc'];
  assert.deepEqual(sites('s_cselect_b64 s[6:7], s[4:5], s[8:9]\n'), both);
  const halves = 's_cselect_b32 s6, s4, s8\n s_cselect_b32 s7, s5, s9\n';
  assert.deepEqual(sites(halves), both);
  assert.deepEqual(
    sites(`s_mov_b64 s[6:7], s[4:5]\n s_cbranch_scc1 .Lboth\n s_mov_b64 s[6:7], s[8:9]\n.Lboth:\n`),
    both,
  );
  assert.deepEqual(sites('s_cselect_b64 s[6:7], s[4:5], s[20:21]\n'), ['k: call  incomplete unresolved']);
  assert.deepEqual(sites(`${halves} s_add_u32 s6, s6, s20\n`), ['k: call  incomplete unresolved']);
  // Who jumps goes on with one of them.
  assert.deepEqual(sites(halves, 's_setpc_b64 s[6:7]'), ['k: jump leaf other getpc']);
});

test('long branches stay inside, branches to other functions are sites', () => {
  const code = liftText(
    `${kernelText('k', `${addressOf('s[4:5]', 'far')} s_setpc_b64 s[4:5]\n far:\n s_cbranch_scc0 other\n s_endpgm`)}
     ${functionText('other', 's_endpgm')}`,
  );
  assert.deepEqual(sitesText(code), ['k: jump ? getpc', 'k: jump other direct']);
  const kernel = functionNamed(code, 'k');
  assert.deepEqual(
    kernel.blocks.map(({ instructions, next, target, leaves }) => [
      instructions.length,
      next?.index,
      target?.index,
      leaves,
    ]),
    [
      [4, undefined, 1, false],
      [1, 2, undefined, true],
      [1, undefined, undefined, false],
    ],
  );
});

test('a kernel with preloaded arguments has two entries', () => {
  const code = liftText(
    kernelText(
      'k',
      `s_trap 2\n .fill 63, 4, 0xbf800000\n s_endpgm`,
      '.amdhsa_user_sgpr_kernarg_preload_length 2\n.amdhsa_user_sgpr_kernarg_segment_ptr 1',
    ),
  );
  assert.deepEqual(
    code.functions.map(({ name, kernels }) => [name, kernels.length]),
    [
      ['k', 1],
      ['k+0x100', 1],
    ],
  );
});

test('what two functions share begins a function; each instruction is in one', () => {
  const code = liftText(
    `${functionText('f', 's_mov_b32 s0, 1\n s_branch shared')}
     ${functionText('g', 's_mov_b32 s0, 2\n shared:\n s_nop 0\n s_endpgm')}`,
  );
  assert.deepEqual(
    code.functions.map((each) => [each.name, textsOf(each).flat().length]),
    [
      ['f', 2],
      ['g', 1],
      ['g+0x4', 2],
    ],
  );
  assert.deepEqual(
    [...functionNamed(code, 'g').callees].map(({ name }) => name),
    ['g+0x4'],
  );
});

test('instructions that overlap are lifted both ways', () => {
  // The literal of the first instruction is one, too.
  const code = liftText(
    kernelText('k', 's_cbranch_scc0 inside+4\n inside:\n s_mov_b32 s0, 0xbf810000\n s_branch inside'),
  );
  const texts = textsOf(functionNamed(code, 'k')).flat();
  assert.deepEqual(
    texts.filter((text) => /endpgm|0xbf810000/.test(text)),
    ['s_mov_b32 s0, 0xbf810000', 's_endpgm'],
  );
});

test('what a call leaves unread is dead in front of it, and what only the run tells may be anything', () => {
  const live = (call: string, register: number): boolean => {
    const code = liftText(
      `${kernelText('k', `s_nop 0\n ${call}\n v_mov_b32 v9, v3\n s_endpgm`)}${LEAF}
       ${functionText('loop', `v_mov_b32 v8, v2\n s_mov_b64 s[34:35], s[30:31]\n s_call_b64 s[30:31], loop\n s_setpc_b64 s[34:35]`)}`,
    );
    const kernel = functionNamed(code, 'k');
    const { active } = kernel.liveBefore(kernel.blocks[0]!.instructions[0]!);
    return (active & (1n << BigInt(registerNumber('vector', register)))) !== 0n;
  };
  const call = 's_call_b64 s[30:31], leaf';
  assert.deepEqual(
    [0, 1, 2, 3].map((register) => live(call, register)),
    [true, true, false, true],
  );
  assert.equal(live('s_swappc_b64 s[30:31], s[4:5]', 2), true);
  // A function that calls itself reads what it reads without that.
  assert.deepEqual(
    [2, 7].map((register) => live('s_call_b64 s[30:31], loop', register)),
    [true, false],
  );
});

test('behind calls that do not come back there is no code, and nothing is live', () => {
  const ends = (calls: readonly string[], functions: string): readonly string[] => {
    const code = liftText(
      `${calls.map((call, i) => kernelText(`k${i}`, `${call}\n v_mov_b32 v9, v3`)).join('')}
       ${kernelText('last', 's_endpgm')}${functions}`,
    );
    for (const { comesBack, step, function: lifted } of code.sites) {
      if (comesBack || step.control !== 'call') continue;
      assert.equal(code.stepAt(step.offset + step.sizeBytes), undefined);
      assert.equal(lifted.liveBefore(step).active & (1n << BigInt(registerNumber('vector', 3))), 0n);
    }
    return code.functions.flatMap(({ name, sites }) => (sites.some((site) => !site.comesBack) ? name : []));
  };
  const leave = functionText('leave', `s_cbranch_scc0 other\n s_endpgm\n other:\n s_call_b64 s[34:35], stay`);
  const stay = functionText('stay', 's_branch stay');
  const maybe = functionText('maybe', `s_cbranch_scc0 leave\n ${RETURN}`);
  const unknown = functionText('unknown', 's_load_dwordx2 s[4:5], s[6:7], 0x0\n s_setpc_b64 s[4:5]');
  const call = (name: string): string => `s_call_b64 s[30:31], ${name}`;
  const open = `${addressOf('s[4:5]', 'leave')} s_cselect_b32 s4, s4, s8\n s_swappc_b64 s[30:31], s[4:5]`;
  const functions = leave + stay + maybe + unknown;
  // `maybe` and `unknown` have a jump each; calls of theirs, and of what is not known, come back.
  assert.deepEqual(
    ends(['leave', 'stay', 'maybe', 'unknown'].map(call), functions).filter((name) => name.startsWith('k')),
    ['k0', 'k1'],
  );
  assert.deepEqual(
    ends([open], functions).filter((name) => name.startsWith('k')),
    [],
  );
});

test('behind the returns of a function is live what its callers need, where they all are known', () => {
  const call = `${addressOf('s[4:5]', 'f')} s_swappc_b64 s[30:31], s[4:5]`;
  const hidden = `.p2align 8\n.type f,@function\nf:\nv_mov_b32 v1, v0\n ${RETURN}\n .size f, .-f\n`;
  const needed = (calls: string, rest = ''): boolean[] => {
    const code = liftText(`${kernelText('k', `${calls}\n v_mov_b32 v0, v7\n s_endpgm`)}${rest}${hidden}`);
    const { active, inactive } = functionNamed(code, 'f').liveBefore(
      functionNamed(code, 'f').blocks[0]!.instructions[0]!,
    );
    const at = (number: number): bigint => 1n << BigInt(number);
    return [
      ...[0, 1, 7, 8].map((register) => (active & at(registerNumber('vector', register))) !== 0n),
      (inactive & at(registerNumber('vector', 8))) !== 0n,
    ];
  };
  assert.deepEqual(needed(call), [true, false, true, false, false]);
  // Each caller needs what it needs.
  const other = functionText('g', `v_mov_b32 v40, s30\n s_call_b64 s[30:31], f\n v_mov_b32 v0, v8\n s_endpgm`);
  assert.deepEqual(needed(call, other), [true, false, true, true, false]);
  const everything = [true, false, true, true, true];
  // Of a function that goes on with it, and that only other code calls, the calling convention says it.
  assert.deepEqual(needed(call, functionText('g', 's_branch f')), [true, false, true, false, true]);
  // Who has the address may be anywhere.
  assert.deepEqual(needed(`${addressOf('s[4:5]', 'f')} v_mov_b32 v3, s4\n s_swappc_b64 s[30:31], s[4:5]`), everything);
  // The function does not go back to where these calls say.
  assert.deepEqual(needed(`${call}\n s_call_b64 s[36:37], f`), everything);
});

test('behind calls that go on with another function is live what their callers need', () => {
  const local = (name: string, lines: string): string => `.p2align 8\n${name}:\n${lines}\n`;
  const dead = (lines: string): boolean => {
    const code = liftText(
      `${kernelText('k', `s_call_b64 s[30:31], f\n s_call_b64 s[30:31], g\n v_mov_b32 v0, v7\n s_endpgm`)}
       ${local('f', lines)}${local('g', `v_mov_b32 v1, v0\n ${RETURN}`)}`,
    );
    const g = code.functions.at(-1)!;
    const { active } = g.liveBefore(g.blocks[0]!.instructions[0]!);
    return (active & (1n << BigInt(registerNumber('vector', 8)))) === 0n;
  };
  assert.equal(dead('v_mov_b32 v0, 0\n s_cbranch_scc0 g\n s_nop 0'), true);
  assert.equal(dead('s_mov_b32 s30, s6\n s_cbranch_scc0 g\n s_nop 0'), false);
});

test('EXEC is that of the entry until something on a way may have written it', () => {
  const code = liftText(
    `${kernelText(
      'k',
      `v_mov_b32 v0, 0\n s_cbranch_scc0 1f\n v_mov_b32 v1, 0\n s_and_saveexec_b64 s[2:3], vcc
      v_mov_b32 v2, 0\n 1:\n v_mov_b32 v3, 0\n s_endpgm`,
    )}`,
  );
  const kernel = functionNamed(code, 'k');
  const masks = kernel.blocks
    .flatMap(({ instructions }) => instructions)
    .filter((step) => step.text().startsWith('v_mov'))
    .map((step) => kernel.hasEntryMask(step));
  assert.deepEqual(masks, [true, true, false, false]);
});

test('registers that M0 chooses while indexing is on may be any; changes of other bits of MODE are none', () => {
  const live = (before: string): boolean => {
    const code = liftText(
      kernelText(
        'k',
        `s_cbranch_scc0 1f\n${before}\n1:\n v_mov_b32 v0, v1\n s_set_gpr_idx_off\n v_mov_b32 v9, v0\n s_endpgm`,
      ),
    );
    const kernel = functionNamed(code, 'k');
    const step = kernel.blocks
      .flatMap(({ instructions }) => instructions)
      .find((each) => each.text().startsWith('v_mov'))!;
    return (kernel.liveBefore(step).active & (1n << BigInt(registerNumber('vector', 7)))) !== 0n;
  };
  assert.equal(live('s_set_gpr_idx_on s2, gpr_idx(SRC0)'), true);
  assert.equal(live('s_set_gpr_idx_on s2, gpr_idx(SRC0)\n s_set_gpr_idx_off'), false);
  assert.equal(live('s_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s2'), false);
  assert.equal(live('s_setreg_b32 hwreg(HW_REG_MODE), s2'), true);
  // The same instruction may write another hardware register elsewhere, be it in other code or before.
  const other = 's_setreg_b32 hwreg(HW_REG_TRAPSTS), s2';
  assert.equal(live(other), false);
  assert.equal(live(`${other}\n s_setreg_b32 hwreg(HW_REG_MODE), s2`), true);
  assert.equal(live(`s_setreg_b32 hwreg(HW_REG_MODE), s2\n ${other}`), true);
});

test('the zeros behind the bytes of executable segments are no code', () => {
  const { bytes, segments } = codeObjectOf(kernelText('k', 's_nop 1')).elf;
  const larger = bytes.slice();
  const index = segments.findIndex(({ flags }) => (flags & PF_X) !== 0);
  const [programHeadersAt, headerBytes, memorySizeAt] = [64, 56, 40];
  new DataView(larger.buffer).setBigUint64(programHeadersAt + index * headerBytes + memorySizeAt, 2n ** 24n, true);
  const code = liftCodeObject(parseCodeObject(larger, 'larger.co'));
  assert.deepEqual(textsOf(functionNamed(code, 'k')), [['s_nop 1']]);
});

test('damaged code objects end in clear errors', () => {
  const bytes = CODE_OBJECT_FILES.filter((name) => /gfx(90a|1100).*co$/.test(name)).map(readTestFile);
  fc.assert(
    fc.property(fc.constantFrom(...bytes).chain(mutationsOf), (mutated) => {
      errorCodeOf(() => {
        for (const each of liftCodeObject(parseCodeObject(mutated, 'mutated')).functions) each.reaches();
      });
    }),
    { numRuns: 300 },
  );
});
