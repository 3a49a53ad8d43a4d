/**
 * A small wave for row tests: registers in arrays, memory as one buffer at address 0, no access checks beyond
 * its size.
 */
import { assert } from '../../../base/errors.ts';
import { evaluate, type Machine } from '../../../ir/evaluate.ts';
import { NEAREST_EVEN } from '../../../ir/float-bits.ts';
import type { FloatMode } from '../../../ir/float-builder.ts';
import type { Evaluated } from '../../../ir/op.ts';
import type { ExitReason, MemorySpace, StateSlot } from '../../../ir/types.ts';
import { decoderFor } from '../decoder.ts';
import { assemble } from '../encoding/encode.test-support.ts';
import { bytesOf } from '../encoding/encode.ts';
import type { Instruction } from '../encoding/instruction.ts';
import {
  isAperture,
  PRIVATE_APERTURE_HI,
  SGPR_EXEC_LO,
  SGPR_M0,
  SGPR_VCC_LO,
  SHARED_APERTURE_HI,
} from '../encoding/registers.ts';
import { dppTable } from './dpp.ts';
import { InstructionBuilder } from './instruction-builder.ts';

export const PRIVATE_SIZE_BYTES = 1024;

export const DEFAULT_MODE: FloatMode = {
  round32: NEAREST_EVEN,
  round64: NEAREST_EVEN,
  flush32: { inputs: false, results: false },
  flush64: { inputs: false, results: false },
  ieee: true,
  dx10Clamp: true,
};

const PAIR_SLOTS: Partial<Record<StateSlot, number>> = {
  exec: SGPR_EXEC_LO,
  vcc: SGPR_VCC_LO,
};

/** The low dword is 0 for a base and all ones for a limit. */
function apertureDword(encoding: number, dword: number): number {
  if (dword === 0) return encoding % 2 === 1 ? 0 : -1;
  return encoding < 237 ? SHARED_APERTURE_HI : PRIVATE_APERTURE_HI;
}

export class TestWave {
  readonly sgprs = new Int32Array(128);
  readonly vgprs = Array.from({ length: 512 }, () => new Int32Array(64));
  readonly memory = new DataView(new ArrayBuffer(65536));
  readonly lds = new DataView(new ArrayBuffer(65536));
  /** PRIVATE_SIZE_BYTES for each lane, one lane after the other. */
  readonly privateSegment = new DataView(new ArrayBuffer(64 * PRIVATE_SIZE_BYTES));
  scc = 0;
  mode = 0x2f0;
  status = 0;
  trapsts = 0;
  request = 0;
  ticks = 1000n;
  pc = 0x1000n;
  branched = false;
  jumpedTo: bigint | undefined;
  exited: ExitReason | undefined;
  readonly waveSize: 32 | 64;

  constructor(waveSize: 32 | 64 = 64) {
    this.waveSize = waveSize;
    this.exec = -1n;
  }

  get exec(): bigint {
    return this.pair(SGPR_EXEC_LO);
  }

  set exec(value: bigint) {
    this.setPair(SGPR_EXEC_LO, value);
  }

  get vcc(): bigint {
    return this.pair(SGPR_VCC_LO);
  }

  set vcc(value: bigint) {
    this.setPair(SGPR_VCC_LO, value);
  }

  pair(register: number): bigint {
    return (
      BigInt.asUintN(32, BigInt(this.sgprs[register]!)) | (BigInt.asUintN(32, BigInt(this.sgprs[register + 1]!)) << 32n)
    );
  }

  setPair(register: number, value: bigint): void {
    this.sgprs[register] = Number(BigInt.asIntN(32, value));
    this.sgprs[register + 1] = Number(BigInt.asIntN(32, value >> 32n));
  }

  /** Decodes and executes one instruction given as text or dwords; returns it. */
  run(code: string | readonly number[], processor = 'gfx90a', floatMode = DEFAULT_MODE): Instruction {
    const words = typeof code === 'string' ? assemble(code, processor, this.waveSize) : code;
    const instruction = decoderFor(processor, this.waveSize).decode(new DataView(bytesOf(words).buffer), 0);
    assert(
      typeof instruction === 'object',
      `decoding ${words.map((word) => word.toString(16))}: ${String(instruction)}`,
    );
    this.execute(instruction, floatMode);
    return instruction;
  }

  execute(instruction: Instruction, floatMode = DEFAULT_MODE): void {
    evaluate(new InstructionBuilder(instruction, floatMode).build(), this.#machine(instruction));
  }

  #machine(instruction: Instruction): Machine {
    const wave = this;
    const view = (space: MemorySpace): DataView =>
      space === 'lds' ? wave.lds : space === 'private' ? wave.privateSegment : wave.memory;
    const offsetOf = (space: MemorySpace, address: Evaluated, lane: number): number =>
      Number(address) + (space === 'private' ? lane * PRIVATE_SIZE_BYTES : 0);
    return {
      pc: wave.pc,
      nextPc: wave.pc + BigInt(instruction.sizeBytes),
      clock: () => wave.ticks++,
      readOperand(at, lane) {
        const operand = instruction.operand(at.operand);
        if (operand.kind === 'constant') return Number(BigInt.asIntN(32, operand.value >> BigInt(32 * at.dword)));
        if (operand.kind === 'scalar') return wave.sgprs[operand.register + at.dword]!;
        if (operand.kind === 'null') return 0;
        if (operand.kind === 'special' && isAperture(operand.encoding))
          return apertureDword(operand.encoding, at.dword);
        assert(operand.kind === 'vector', `operand kind ${operand.kind}`);
        return wave.vgprs[operand.register + at.dword + (operand.accumulator ? 256 : 0)]![lane]!;
      },
      writeOperand(at, lane, value) {
        const operand = instruction.operand(at.operand);
        if (operand.kind === 'scalar') wave.sgprs[operand.register + at.dword] = value;
        else if (operand.kind === 'vector') {
          wave.vgprs[operand.register + at.dword + (operand.accumulator ? 256 : 0)]![lane] = value;
        } else assert(operand.kind === 'null', `write to operand kind ${operand.kind}`);
      },
      readState(slot) {
        const register = PAIR_SLOTS[slot];
        if (register !== undefined) return BigInt.asUintN(wave.waveSize, wave.pair(register));
        return slot === 'm0' ? wave.sgprs[SGPR_M0]! : wave[slot as 'scc' | 'mode' | 'status' | 'trapsts' | 'request'];
      },
      writeState(slot, value) {
        const register = PAIR_SLOTS[slot];
        if (register !== undefined && wave.waveSize === 64) wave.setPair(register, value as bigint);
        else if (register !== undefined) wave.sgprs[register] = Number(BigInt.asIntN(32, value as bigint));
        else if (slot === 'm0') wave.sgprs[SGPR_M0] = Number(value);
        else wave[slot as 'scc' | 'mode' | 'status' | 'trapsts' | 'request'] = Number(value);
      },
      laneTable(_operand, lane) {
        return dppTable(instruction)[lane]!;
      },
      load(space, sizeBytes, address, lane) {
        const at = offsetOf(space, address, lane);
        if (sizeBytes === 1) return [view(space).getUint8(at)];
        if (sizeBytes === 2) return [view(space).getUint16(at, true)];
        return Array.from({ length: sizeBytes / 4 }, (_, i) => view(space).getInt32(at + i * 4, true));
      },
      store(space, sizeBytes, address, data, lane) {
        const at = offsetOf(space, address, lane);
        if (sizeBytes === 1) view(space).setUint8(at, data[0]!);
        else if (sizeBytes === 2) view(space).setUint16(at, data[0]!, true);
        else for (let i = 0; i < sizeBytes / 4; i++) view(space).setInt32(at + i * 4, data[i]!, true);
      },
      misaligned() {
        throw new Error('no instruction of AMD asks for aligned addresses');
      },
      fence() {},
      atomic(space, sizeBytes, address, lane, update) {
        const memory = view(space);
        const at = offsetOf(space, address, lane);
        const old: Evaluated = sizeBytes === 8 ? memory.getBigUint64(at, true) : memory.getInt32(at, true);
        const value = update(old);
        if (sizeBytes === 8) memory.setBigUint64(at, value as bigint, true);
        else memory.setInt32(at, value as number, true);
        return old;
      },
      branch: () => {
        wave.branched = true;
      },
      jump: (pc) => {
        wave.jumpedTo = pc;
      },
      exit: (reason) => {
        wave.exited = reason;
      },
    };
  }
}
