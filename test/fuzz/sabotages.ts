/** The checks that `sabotage.ts` takes out of the sources, and who is to notice. */

import { LAYOUT_SABOTAGES } from './layout-sabotages.ts';
import { LOOP_SABOTAGES } from './loop-sabotages.ts';
import { MEANING_SABOTAGES } from './meaning-sabotages.ts';
import { RESULT_SABOTAGES } from './result-sabotages.ts';
import { WAVE_SABOTAGES } from './wave-sabotages.ts';

export interface Sabotage {
  readonly name: string;
  readonly file: string;
  /** Text that stands there once, and what takes its place. */
  readonly from: string;
  readonly to: string;
  /** The test, or the oracle with its options, that is to fail. */
  readonly noticedBy: readonly string[];
}

const test = (file: string): string[] => ['--test', '--test-isolation=none', file];
const memorySafety = [...test('test/memory-safety.test.ts'), '--test-name-pattern=gfx90a'];
const freedMemory = test('test/freed-memory.test.ts');
const gpuAddresses = test('test/gpu-addresses.test.ts');
const lanesAlone = test('test/lockstep/lanes.test.ts');
const packedLanes = test('src/emulator/packed-lanes.test.ts');
const wholeWave = test('src/emulator/whole-wave.test.ts');
const sideBySide = [...test('test/side-by-side-loops.test.ts'), '--test-name-pattern=leave|ends|twelve|their own'];
const instructions = ['test/fuzz/instructions.ts', '--seconds=55', '--findings=1'];

export const SABOTAGES: readonly Sabotage[] = [
  // Lowering.
  {
    name: 'handlers: permission of a global access',
    file: 'src/emulator/lowering/memory-access.ts',
    from: 'push(f, ne(and(permissions, PERMISSION[access]), PERMISSION[access]));',
    to: 'push(f, and(permissions, 0));',
    noticedBy: memorySafety,
  },
  {
    name: 'handlers: last byte of a global access',
    file: 'src/emulator/lowering/memory-access.ts',
    from: 'sizeBytes > 1 ? and(first',
    to: 'sizeBytes > 4096 ? and(first',
    noticedBy: memorySafety,
  },
  {
    name: 'handlers: window of an address',
    file: 'src/emulator/lowering/memory-access.ts',
    from: 'ifHigh(f, high, spaces.windowHi, () => translateGlobal',
    to: 'ifHigh(f, high, spaces.windowHi, () => {});\n      f.i32(1);\n      f.if(undefined, () => { translateGlobal(f, low, access, sizeBytes, fail); f.return(); });\n      ifHigh(f, high, spaces.windowHi, () => translateGlobal',
    noticedBy: memorySafety,
  },
  {
    name: 'handlers: end of LDS and of scratch',
    file: 'src/emulator/lowering/memory-access.ts',
    from: "push(f, gtU64(add64(zext64(low), BigInt(sizeBytes)), loadFrom('i64.load32_u', wave, limit)));",
    to: "push(f, gtU64(0n, loadFrom('i64.load32_u', wave, limit)));",
    noticedBy: memorySafety,
  },
  {
    name: 'handlers: four lanes of LDS together',
    file: 'src/emulator/lowering/lane-memory.ts',
    from: "push(f, leU64(add64(zext64(low), BigInt(sizeBytes)), loadFrom('i64.load32_u', wave, WAVE_LDS_SIZE)));",
    to: "push(f, leU64(0n, loadFrom('i64.load32_u', wave, WAVE_LDS_SIZE)));",
    noticedBy: memorySafety,
  },
  {
    name: 'handlers: four lanes of global memory together',
    file: 'src/emulator/lowering/lane-memory.ts',
    from: "push(f, and(permissions, kind === 'read' ? MAY_READ : MAY_WRITE));",
    to: "push(f, and(permissions, 0));\n  f.i32(1);\n  f.op('i32.or');",
    noticedBy: memorySafety,
  },
  // Compiled code.
  {
    name: 'regions: end of scratch',
    file: 'src/emulator/jit/regions/fast-memory.ts',
    from: "this.#checksAccesses ? or(isUnusual, geU(address, hoisted.permittedCount('private', group.max))) : isUnusual",
    to: 'isUnusual',
    noticedBy: memorySafety,
  },
  {
    name: 'regions: end of LDS',
    file: 'src/emulator/jit/regions/fast-memory.ts',
    from: "push(f, operation('v128.any_true', isBeyond));",
    to: "push(f, and(operation('v128.any_true', isBeyond), 0));",
    noticedBy: memorySafety,
  },
  {
    name: 'regions: permission of global memory',
    file: 'src/emulator/jit/regions/address-checks.ts',
    from: "f.i32(writes ? MAY_WRITE : MAY_READ);\n    f.op('i32.and');\n    f.op('i32.eqz');",
    to: "f.i32(writes ? MAY_WRITE : MAY_READ);\n    f.op('i32.and');\n    f.drop();\n    f.i32(0);",
    noticedBy: memorySafety,
  },
  {
    name: 'regions: window of an address that lanes have',
    file: 'src/emulator/jit/regions/address-checks.ts',
    from: "push(f, operation('v128.any_true', outside));",
    to: "push(f, and(operation('v128.any_true', outside), 0));",
    noticedBy: memorySafety,
  },
  {
    name: 'ranges: the address',
    file: 'src/emulator/jit/regions/permitted-ranges.ts',
    from: "operation('i32x4.gt_s', count!, operation('i32x4.sub', low, first!))",
    to: "operation('i32x4.eq', count!, count!)",
    noticedBy: memorySafety,
  },
  {
    name: 'ranges: what is behind the first byte',
    file: 'src/emulator/jit/regions/permitted-ranges.ts',
    from: "operation('i64.sub', zext64(sizeBytes), behind)",
    to: 'zext64(sizeBytes)',
    noticedBy: test('test/vertical-loops.test.ts'),
  },
  {
    name: 'loops: end of an allocation, of lanes side by side',
    file: 'src/emulator/jit/regions/permitted-ranges.ts',
    from: 'return ltU(sub(low, first!), count!);',
    to: 'return ltU(sub(first!, first!), count!);',
    noticedBy: sideBySide,
  },
  {
    name: 'loops: window of the guide',
    file: 'src/emulator/jit/loops/guide-checks.ts',
    from: 'push(f, ne(high, spaces.windowHi));',
    to: 'push(f, ne(high, high));',
    noticedBy: sideBySide,
  },
  {
    name: 'loops: window of lanes side by side',
    file: 'src/emulator/jit/loops/side-by-side-accesses.ts',
    from: 'select(outside, 0, active.nibble)',
    to: 'select(0, outside, active.nibble)',
    noticedBy: sideBySide,
  },
  {
    name: 'loops: lanes apart in one allocation',
    file: 'src/emulator/jit/loops/guide-checks.ts',
    from: 'and(gtU(sub(most, least), MAX_SPAN_BYTES), isUnknown)',
    to: 'and(gtU(sub(most, least), MAX_SPAN_BYTES), 0)',
    noticedBy: sideBySide,
  },
  {
    name: 'loops: an index that wraps',
    file: 'src/emulator/jit/loops/guide-checks.ts',
    from: 'isIndexFar(values.local(value), isSigned)',
    to: '0',
    noticedBy: sideBySide,
  },
  {
    name: 'loops: rows that go on with the guide',
    file: 'src/emulator/jit/loops/side-by-side.ts',
    from: "if (leaf.kind === 'row') return movesAlike(this.#plan.rows.get(leaf.offset)!, node);",
    to: "if (leaf.kind === 'row') return true;",
    noticedBy: sideBySide,
  },
  {
    name: 'loops: lanes that are not side by side',
    file: 'src/emulator/jit/loops/side-by-side-accesses.ts',
    from: 'assign(f, bad, or(bad, eqz(writes ? following! : or(following!, same!))));',
    to: 'assign(f, bad, or(bad, and(following!, 0)));',
    noticedBy: sideBySide,
  },
  {
    name: 'ranges: window of an address that lanes have',
    file: 'src/emulator/jit/regions/fast-memory.ts',
    from: "else conditions.push(operation('i32x4.eq', highs.lanes[0]!, hoisted.window));",
    to: '',
    noticedBy: test('test/vertical-loops.test.ts'),
  },
  {
    name: 'ranges: a base that lanes may not be below',
    file: 'src/emulator/jit/regions/fast-memory.ts',
    from: "if (floor) conditions.push(operation('i32x4.ge_u', lows, argument(floor).lanes[0]!));",
    to: '',
    noticedBy: test('test/vertical-loops.test.ts'),
  },
  {
    name: 'ranges: alignment',
    file: 'src/emulator/jit/regions/fast-memory.ts',
    from: "conditions.push(operation('i32x4.eq', misalignment, (f) => f.v128([0, 0, 0, 0])));",
    to: '',
    noticedBy: test('src/ptx-host/misaligned.test.ts'),
  },
  {
    name: 'lanes alone: what is behind the first byte',
    file: 'src/emulator/jit/loops/lane-ranges.ts',
    from: 'BigInt(max - min - 1)',
    to: 'BigInt(0)',
    noticedBy: lanesAlone,
  },
  {
    name: 'lanes alone: how often a pointer moves on',
    file: 'src/emulator/jit/loops/lane-ranges.ts',
    from: "operation('i64.sub', count, 1n)",
    to: "operation('i64.sub', count, 0n)",
    noticedBy: lanesAlone,
  },
  {
    name: 'lanes alone: lanes that make no load',
    file: 'src/emulator/jit/loops/lane-ranges.ts',
    from: 'push(f, active ? and(low, sub(0, active)) : low);',
    to: 'push(f, low);',
    noticedBy: test('test/vertical-loops.test.ts'),
  },
  {
    name: 'lanes alone: alignment',
    file: 'src/emulator/jit/loops/lane-ranges.ts',
    from: 'if (alignmentBytes > 1) {',
    to: 'if (alignmentBytes > 999) {',
    noticedBy: test('src/ptx-host/misaligned.test.ts'),
  },
  {
    name: 'sixteen lanes: end of LDS',
    file: 'src/emulator/jit/regions/linear-accesses.ts',
    from: 'push(f, or(isBeyond, gtU(sum(address, span, max), size)));',
    to: 'push(f, isBeyond);',
    noticedBy: instructions,
  },
  {
    name: 'sixteen lanes: how far lanes are apart',
    file: 'src/emulator/jit/regions/linear-accesses.ts',
    from: 'push(f, gtU(stride, MAX_STRIDE_BYTES));',
    to: 'push(f, and(stride, 0));',
    noticedBy: test('test/far-lanes.test.ts'),
  },
  {
    name: 'sixteen lanes: an index that wraps',
    file: 'src/emulator/jit/regions/linear-accesses.ts',
    from: 'isIndexFar(first, isSigned)',
    to: 'and(first, 0)',
    noticedBy: test('test/far-lanes.test.ts'),
  },
  {
    name: 'sixteen lanes: window of a base and an index',
    file: 'src/emulator/jit/regions/linear-accesses.ts',
    from: 'push(f, gtU64(inWindow, 0xffffffffn));\n    f.brIf(no);',
    to: '',
    noticedBy: test('test/far-lanes.test.ts'),
  },
  {
    name: 'sixteen lanes: step of an index',
    file: 'src/emulator/jit/regions/linear-accesses.ts',
    from: 'eqz(isFollowing(step, unit, group))',
    to: 'and(step, 0)',
    noticedBy: instructions,
  },
  {
    name: 'sixteen lanes: permission of global memory',
    file: 'src/emulator/jit/regions/linear-accesses.ts',
    from: 'push(f, eqz(and(permissions, writes ? MAY_WRITE : MAY_READ)));',
    to: 'push(f, and(permissions, 0));',
    noticedBy: instructions,
  },
  {
    name: 'sixteen lanes: end of scratch',
    file: 'src/emulator/jit/regions/linear-accesses.ts',
    from: "else push(f, or(isUnaligned, geU(address, hoisted.permittedCount('private', max))));",
    to: 'else push(f, isUnaligned);',
    noticedBy: memorySafety,
  },
  ...LOOP_SABOTAGES,
  ...MEANING_SABOTAGES,
  ...RESULT_SABOTAGES,
  ...WAVE_SABOTAGES,
  {
    name: 'whole waves: what another lane stores',
    file: 'src/emulator/jit/regions/whole-wave-accesses.ts',
    from: 'push(f, and(ltU(own.start, other.end), ltU(other.start, own.end)));',
    to: 'push(f, and(own.start, 0));',
    noticedBy: wholeWave,
  },
  {
    name: 'whole waves: what rows store',
    file: 'src/emulator/jit/regions/whole-wave-accesses.ts',
    from: 'const isNear = or(ltU(stride!, max - min), ltU(second, row));',
    to: 'const isNear = ltU(stride!, max - min);',
    noticedBy: wholeWave,
  },
  {
    name: 'whole waves: what lanes of a row store',
    file: 'src/emulator/jit/regions/whole-wave-accesses.ts',
    from: 'const isNear = or(ltU(stride!, max - min), ltU(second, row));',
    to: 'const isNear = ltU(second, row);',
    noticedBy: wholeWave,
  },
  {
    name: 'whole waves: rows that are elsewhere',
    file: 'src/emulator/jit/regions/linear-terms.ts',
    from: 'if (chunk + 1 !== chunks && chunk + 1 !== rowChunks) continue;',
    to: 'if (chunk + 1 !== (rowChunks ?? chunks)) continue;',
    noticedBy: wholeWave,
  },
  {
    name: 'whole waves: lanes that are off',
    file: 'src/emulator/jit/regions/region-lowering.ts',
    from: 'f.brIf(otherwise);\n  }',
    to: 'f.drop();\n  }',
    noticedBy: wholeWave,
  },
  {
    name: 'whole waves: window of a base and an index',
    file: 'src/emulator/jit/regions/whole-wave-accesses.ts',
    from: 'push(f, gtU64(inWindow, 0xffffffffn));\n      f.brIf(no);',
    to: '',
    noticedBy: wholeWave,
  },
  {
    name: 'whole waves: end of an allocation',
    file: 'src/emulator/jit/regions/whole-wave-accesses.ts',
    from: 'or(ltU(end, start), gtU(sub(end, allocation.start), allocation.sizeBytes))',
    to: 'ltU(end, start)',
    noticedBy: wholeWave,
  },
  {
    name: 'whole waves: permission',
    file: 'src/emulator/jit/regions/whole-wave-accesses.ts',
    from: 'push(f, or(isBeyond, eqz(allocation.permits(group))));',
    to: 'push(f, isBeyond);',
    noticedBy: wholeWave,
  },
  {
    name: 'whole waves: end of LDS',
    file: 'src/emulator/jit/regions/whole-wave-accesses.ts',
    from: 'push(f, or(gtU(row, MAX_LDS_BYTES), gtU(sum(row, reach, max), size)));',
    to: 'push(f, gtU(row, MAX_LDS_BYTES));',
    noticedBy: wholeWave,
  },
  {
    name: 'whole waves: how far rows are apart',
    file: 'src/emulator/jit/regions/whole-wave-accesses.ts',
    from: 'return gtU(anyBit(steps), 2 ** (MAX_DISTANCE_LOG2 - shift) - 1);',
    to: 'return and(steps[0], 0);',
    noticedBy: wholeWave,
  },
  {
    name: 'whole waves: an index that wraps',
    file: 'src/emulator/jit/regions/whole-wave-accesses.ts',
    from: ', isIndexFar(first, isSigned)));',
    to: ', 0));',
    noticedBy: wholeWave,
  },
  {
    name: 'whole waves: alignment',
    file: 'src/emulator/jit/regions/whole-wave-accesses.ts',
    from: 'push(f, and(or(sum(first, misalignmentBytes), steps), alignmentBytes - 1));\n    f.brIf(no);',
    to: '',
    noticedBy: test('src/ptx-host/misaligned.test.ts'),
  },
  {
    name: 'whole waves: stores come last',
    file: 'src/emulator/jit/regions/chunk-loop.ts',
    from: '...usually.lanes.filter((node) => !isStore(node)), ...usually.lanes.filter(isStore)',
    to: '...usually.lanes',
    noticedBy: wholeWave,
  },
  {
    name: 'packed lanes: range',
    file: 'src/emulator/jit/regions/fast-memory.ts',
    from: "operation('v128.not', known)",
    to: "operation('v128.xor', known, known)",
    noticedBy: packedLanes,
  },
  {
    name: 'packed lanes: those that go another way',
    file: 'src/emulator/jit/regions/packed-part.ts',
    from: 'assign(f, rest, before);',
    to: 'assign(f, rest, 0n);',
    noticedBy: packedLanes,
  },
  {
    name: 'packed lanes: what may not be done twice',
    file: 'src/emulator/jit/regions/packed-part.ts',
    from: "'laneByte', 'atomic'",
    to: "'laneByte'",
    noticedBy: packedLanes,
  },
  {
    name: 'long regions: lanes that are off',
    file: 'src/emulator/jit/regions/masked-part.ts',
    from: 'giveUp, mask, nibble);',
    to: 'giveUp, undefined, nibble);',
    noticedBy: packedLanes,
  },
  {
    name: 'long regions: chunks that give up',
    file: 'src/emulator/jit/regions/masked-part.ts',
    from: "assign(f, left, operation('i64.or', left, bits));",
    to: '',
    noticedBy: packedLanes,
  },
  {
    name: 'long regions: chunks that are not full',
    file: 'src/emulator/jit/regions/chunk-ways.ts',
    from: 'push(f, ne(nibble, 15));\n          f.brIf(giveUp);',
    to: '',
    noticedBy: packedLanes,
  },
  {
    name: 'fast atomics: permission',
    file: 'src/emulator/jit/regions/fast-atomic.ts',
    from: "f.i32(MAY_READ | MAY_WRITE);\n    f.op('i32.ne');",
    to: 'f.drop();\n    f.i32(0);',
    noticedBy: memorySafety,
  },
  {
    name: 'registers that M0 chooses: end of the file',
    file: 'src/emulator/machine/operand-places.ts',
    from: 'last: first + (count - dwords) * sizeBytes,',
    to: 'last: first + count * sizeBytes * 2,',
    noticedBy: test('test/register-neighbours.test.ts'),
  },
  // Look-ups.
  {
    name: 'look-up of addresses from outside: permission',
    file: 'src/devices/emulated/emulated-device.ts',
    from: 'memory.permits(offset!, sizeBytes, wanted)',
    to: 'true',
    noticedBy: gpuAddresses,
  },
  {
    name: 'look-up of addresses from outside: end of the allocation',
    file: 'src/devices/emulated/emulated-device.ts',
    from: 'sizeBytes >= 0 && offset + sizeBytes <= region.offset + region.sizeBytes',
    to: 'sizeBytes >= 0',
    noticedBy: gpuAddresses,
  },
  {
    name: 'launch: LDS of the descriptor',
    file: 'src/devices/emulated/kernel-abi.ts',
    from: 'checkLaunchSizes(device, undefined, {',
    to: 'if (device === undefined) checkLaunchSizes(device, undefined, {',
    noticedBy: [...gpuAddresses, 'test/launch-sizes.test.ts'],
  },
  {
    name: 'look-up of code: permission',
    file: 'src/emulator/machine/memory.ts',
    from: '|| !(region.permissions & MAY_READ)) return undefined;',
    to: ') return undefined;',
    noticedBy: freedMemory,
  },
  {
    name: 'decoded code goes with its memory',
    file: 'src/emulator/machine/memory.ts',
    from: 'if (hasCode) this.onCodeGone?.();',
    to: 'if (!hasCode) return;',
    noticedBy: freedMemory,
  },
  {
    name: 'scratch is cleared',
    file: 'src/emulator/machine/memory.ts',
    from: 'if (start < this.#untouched && !uninitialized)',
    to: 'if (start < this.#untouched && !uninitialized && !isTransient)',
    noticedBy: freedMemory,
  },
  {
    name: 'registers are cleared',
    file: 'src/emulator/machine/state-memory.ts',
    from: 'if (offset < this.#untouched) this.fill',
    to: 'if (offset < this.#untouched && owner === undefined) this.fill',
    noticedBy: freedMemory,
  },
  // Threads and schedulers.
  {
    name: 'freed memory waits for threads',
    file: 'src/emulator/machine/memory.ts',
    from: 'if (!this.grace.isPast(region.epoch)) break;',
    to: '',
    noticedBy: test('src/emulator/machine/memory.test.ts'),
  },
  {
    name: 'threads that run have not passed',
    file: 'src/emulator/workers/control.ts',
    from: 'if (state !== WORKER_STATES.running || Atomics.load(this.#words, CALL) !== CALLS.none) return true;',
    to: 'if (state !== -1) return true;',
    noticedBy: test('src/emulator/workers/control.test.ts'),
  },
  {
    name: 'jumps go to code',
    file: 'src/emulator/schedule/group-scheduler.ts',
    from: 'if (offset === undefined || !memory.code(offset))',
    to: 'if (offset === undefined)',
    noticedBy: test('test/faults.test.ts'),
  },
  {
    name: 'bits of MODE that are not modelled',
    file: 'src/emulator/schedule/group-scheduler.ts',
    from: 'if (mode & modeRefusedBits) throw',
    to: 'if (mode < 0) throw',
    noticedBy: test('test/faults.test.ts'),
  },
  // Code that is laid out anew.
  ...LAYOUT_SABOTAGES,
];
