/**
 * Instructions with operands and addresses at all borders, straight and in loops, on every executor from the
 * same state: the same registers, memory and faults, and canaries around all that the wave has.
 */
import type { AmdgpuEmulatorOptions } from '../../src/devices/emulated/amdgpu/emulator.ts';
import { STATE_OFFSETS, WAVE_VGPRS, waveSizeBytes } from '../../src/emulator/machine/layout.ts';
import { PRIVATE_APERTURE_HI, SHARED_APERTURE_HI } from '../../src/isa/amdgpu/encoding/registers.ts';
import { HostileInstructions, STRIDES } from './hostile-instructions.ts';
import { Found, type Oracle, oracleMain, type Subject, type Tally } from './oracle.ts';
import type { Random } from './random.ts';
import { LDS_SIZE, PRIVATE_SIZE, TIERS, WaveMachine, type WaveOutcome } from './wave-machine.ts';

const STATES = 4;
const FILLERS = [0xa5, 0x3c, 0x96, 0x69] as const;
const MODES = [0x3f0, 0x3f0, 0x3f0, 0x3c0, 0x1f0, 0x330, 0x3ff];
const ALL_LANES = (1n << 64n) - 1n;
const EXECS = [ALL_LANES, ALL_LANES, ALL_LANES, ALL_LANES, 0xffffn, 1n, 1n << 31n, 1n << 63n, 0x5a5a5a5af0f0ffffn, 0n];
/** All of memory is compared so often. */
const WHOLE_CHECK_PERIOD = 64;

class Lockstep implements Subject {
  readonly #machines: readonly WaveMachine[];
  readonly #instructions: HostileInstructions;
  readonly #waveSize: 32 | 64;
  #iterations = 0;

  constructor(target: string, waveSize: 32 | 64, options: Partial<AmdgpuEmulatorOptions>) {
    this.#waveSize = waveSize;
    this.#instructions = new HostileInstructions(target, waveSize);
    this.#machines = TIERS.map((tier, i) => new WaveMachine(target, waveSize, tier, FILLERS[i]!, options));
  }

  iterate(random: Random, tally: Tally): void {
    const words = this.#instructions.program(random);
    const text = this.#instructions.textOf(words);
    const mode = random.pick(MODES);
    const codes = this.#machines.map((machine) => machine.place(words));
    for (let state = 0; state < STATES; state++) {
      const registers = this.#registers(random);
      let reference: WaveOutcome | undefined;
      let handlers: WaveOutcome | undefined;
      for (const [i, machine] of this.#machines.entries()) {
        tally.doing = `${machine.tier}, state ${state}, MODE 0x${mode.toString(16)}:\n${text}`;
        const outcome = machine.run(codes[i]!, registers, mode);
        tally.executions++;
        tally.instructions += outcome.instructions;
        machine.checkGuards();
        if (outcome.isUnfinished) tally.event('unfinished');
        else if (outcome.fault) tally.fault(outcome.fault.replace(/ at .*/, ''));
        else tally.event(outcome.exit);
        if (machine.tier === 'reference') reference = outcome;
        else {
          const found = difference(outcome, reference!, handlers, this.#waveSize);
          if (found) throw new Found('difference', `${machine.tier}: ${found}`);
          handlers ??= outcome;
        }
      }
    }
    if (this.#iterations++ % WHOLE_CHECK_PERIOD === 0) this.#checkAll(tally);
  }

  #checkAll(tally: Tally): void {
    for (const machine of this.#machines) machine.checkAll(tally);
  }

  /**
   * Registers whose lanes have one address, addresses at equal distances that meet an edge in some lane, or
   * each its own.
   */
  #registers(random: Random): Uint32Array {
    const machine = this.#machines[0]!;
    const { memory } = machine.emulator;
    const registers = new Uint32Array(waveSizeBytes(this.#waveSize) / 4);
    const high = random.pick([
      memory.windowHi,
      memory.windowHi,
      memory.windowHi,
      SHARED_APERTURE_HI,
      PRIVATE_APERTURE_HI,
    ]);
    const highOf = (): number =>
      random.chance(85) ? high : random.pick([memory.windowHi, memory.windowHi + 1, memory.windowHi - 1, 0, -1]);
    const edges = [
      ...machine.edges,
      ...new Array<number>(6).fill(machine.dataEnd),
      LDS_SIZE,
      PRIVATE_SIZE,
      0,
      LDS_SIZE,
    ];
    const isInside = random.chance(35);
    const low = (): number =>
      isInside
        ? (high === memory.windowHi ? machine.data : 0) + 4 * random.below(64)
        : random.pick(edges) - random.pick([0, 4, 8, 12, 16, random.below(28), random.between(-80, 80)]);
    for (let i = 0; i < 128; i++) registers[i] = i & 1 ? highOf() : low();
    // Buffer descriptors: any stride, size and flags.
    for (let i = 0; i < 32; i += 4) {
      registers[i + 1] = (memory.windowHi & 0xffff) | (random.chance(50) ? random.next() & 0xbfff0000 : 0);
      registers[i + 2] = random.pick([0, 64, 4096, 0x7fffffff, 0xffffffff]);
      registers[i + 3] = random.next();
    }
    const lanes = this.#waveSize;
    for (let row = 0, at = WAVE_VGPRS / 4; at < registers.length; row++, at += lanes) {
      const isMixed = random.chance(20);
      const stride = random.pick(STRIDES);
      // Some lane is at the place, not always the first.
      const base = low() - stride * random.pick([0, 0, lanes - 1, 15, random.below(lanes)]);
      const one = highOf();
      for (let lane = 0; lane < lanes; lane++) {
        if (row & 1) registers[at + lane] = isMixed ? highOf() : one;
        else registers[at + lane] = isMixed ? low() : base + lane * stride;
      }
    }
    registers[STATE_OFFSETS.m0 / 4] = random.pick([
      0xffffffff,
      0,
      1,
      LDS_SIZE,
      0xf0ff,
      0x80ff,
      0x8000,
      0xff00ff,
      255,
      256,
      random.next(),
    ]);
    new DataView(registers.buffer).setBigUint64(STATE_OFFSETS.exec, random.pick(EXECS), true);
    return registers;
  }

  [Symbol.dispose](): void {
    for (const machine of this.#machines) machine[Symbol.dispose]();
  }
}

/**
 * What differs from the reference; of a fault's lane and address from the handlers, which make several lanes'
 * accesses at once.
 */
function difference(
  found: WaveOutcome,
  reference: WaveOutcome,
  handlers: WaveOutcome | undefined,
  waveSize: 32 | 64,
): string | undefined {
  if (found.isUnfinished || reference.isUnfinished) return undefined;
  if ((found.fault === undefined) !== (reference.fault === undefined))
    return `${found.fault ?? found.exit} ${found.faultDetail}, reference ${reference.fault ?? reference.exit} ${reference.faultDetail}`;
  if (found.fault !== undefined) {
    if (!handlers || (found.fault === handlers.fault && found.faultDetail === handlers.faultDetail)) return undefined;
    return `${found.fault} ${found.faultDetail}, handlers ${handlers.fault} ${handlers.faultDetail}`;
  }
  if (found.exit !== reference.exit) return `${found.exit}, reference ${reference.exit}`;
  const at = found.state.findIndex((value, i) => value !== reference.state[i]);
  if (at >= 0) {
    const row = Math.floor((at - WAVE_VGPRS / 4) / waveSize);
    const where = row < 0 ? `s${at}` : `vector register ${row} lane ${(at - WAVE_VGPRS / 4) % waveSize}`;
    return `${where} is ${found.state[at]!.toString(16)}, reference ${reference.state[at]!.toString(16)}`;
  }
  const byte = found.memory.findIndex((value, i) => value !== reference.memory[i]);
  return byte < 0 ? undefined : `byte ${byte} of LDS, scratch and data`;
}

/** The oracle with other options for the emulator: one that is broken shall be found. */
export const createInstructions = (options: Partial<AmdgpuEmulatorOptions> = {}): Oracle => ({
  name: 'instructions',
  lifetime: 256,
  stuckMs: 10_000,
  create: (target) => new Lockstep(target, /gfx9/.test(target) ? 64 : 32, options),
});

export const instructions = createInstructions();

oracleMain(instructions, import.meta);
