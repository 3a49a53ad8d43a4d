/**
 * Calls. Results and parameters of a function lie in its frame, which begins where that of its caller ends;
 * the caller copies them, saves the registers that it needs again, and says to where to return.
 */
import { alignUp } from '../../base/align.ts';
import { PLACES } from '../machine/places.ts';
import { type PtxType, sizeOf } from '../machine/types.ts';
import type { PtxSource } from '../text/source.ts';
import type { ConstantOperand, NameOperand, PtxInstruction } from '../text/syntax.ts';
import { type CallOperands, callOperands } from './call-operands.ts';
import type { ScopedInstruction } from './flatten.ts';
import type { AddressOperands, Frame } from './frame.ts';
import { type BytesAt, copyCode } from './frame-copies.ts';
import { constant, type Lir, type LirOperand, lir } from './lir.ts';
import { OperandReader } from './operands.ts';
import type { NamePlace, Scope } from './scope.ts';
import {
  ACTIVATION_OFFSET,
  CALLER_FRAME_OFFSET,
  type CallSignature,
  LINK_OFFSET,
  memoryTypeOf,
  type ParameterSlot,
  variableElements,
} from './signature.ts';

type Element = NameOperand | ConstantOperand;

/** A call in three pieces: what stands before, all of the call itself, and behind it. */
export interface CallCode {
  readonly before: readonly Lir[];
  readonly call: readonly Lir[];
  readonly behind: readonly Lir[];
}

/** Throws BAD_INPUT for what is no function or passes no variable. */
export function callCode(source: PtxSource, { instruction, scope }: ScopedInstruction, frame: Frame): CallCode {
  return new CallWriter(source, instruction, scope, frame).write();
}

class CallWriter {
  readonly #source: PtxSource;
  readonly #scope: Scope;
  readonly #frame: Frame;
  readonly #offset: number;
  readonly #operands: CallOperands;
  readonly #reader: OperandReader;

  constructor(source: PtxSource, instruction: PtxInstruction, scope: Scope, frame: Frame) {
    this.#source = source;
    this.#scope = scope;
    this.#frame = frame;
    this.#offset = instruction.offset;
    this.#operands = callOperands(source, instruction);
    this.#reader = new OperandReader(source, scope, instruction.opcode);
  }

  write(): CallCode {
    const { callee, results, given } = this.#operands;
    const place = this.#scope.find(callee.name);
    const { results: resultSlots, parameters } = this.#signature(place);
    const before = parameters.flatMap((slot, i) => this.#pass(slot, given[i]));
    const behind = results.flatMap((result, i) => this.#take(resultSlots[i], result));
    return { before, call: this.#call(place), behind };
  }

  #signature(place: NamePlace | undefined): CallSignature {
    const { callee, table } = this.#operands;
    if (place?.kind === 'symbol' && place.called) return place.called.signature;
    if (place?.kind !== 'register') throw this.#source.error(callee.offset, `'${callee.name}' is no function`);
    const named = table === undefined ? undefined : this.#scope.find(table);
    if (named?.kind === 'prototype') return named.signature;
    const [first] = named?.kind === 'targets' ? named.targets.targets : [];
    const known = first === undefined ? undefined : this.#scope.find(first);
    if (known?.kind === 'symbol' && known.called) return known.called.signature;
    throw this.#source.error(callee.offset, `a call through '${callee.name}' without a prototype`);
  }

  #line(opcode: string, operands: readonly LirOperand[]): Lir {
    return lir(opcode, operands, this.#offset);
  }

  /** What the text does not pass is 0, as other compilers of PTX have it. */
  #pass(slot: ParameterSlot, given: Element | undefined): Lir[] {
    const at = (offset: number): AddressOperands => this.#frame.atCallee(slot.offset + offset);
    if (!given) return this.#clear(at, 0, slot.sizeBytes);
    const place = given.kind === 'name' ? this.#scope.find(given.name) : undefined;
    if (given.kind !== 'name' || place?.kind !== 'frame') {
      const type = this.#typeOf(slot, given);
      return this.#elementsOf(slot, given).map((element, i) =>
        this.#line(`st.local.${memoryTypeOf(type)}`, [
          ...at(i * sizeOf(type)),
          this.#reader.read(element, type, false),
        ]),
      );
    }
    const from = place.offset + Number(given.addend);
    const common = Math.min(alignUp(place.sizeBytes, 4), alignUp(slot.sizeBytes, 4));
    return [
      ...this.#copy((offset) => this.#frame.at(from + offset), at, common),
      ...this.#clear(at, common, slot.sizeBytes),
    ];
  }

  #take(slot: ParameterSlot | undefined, result: Element): Lir[] {
    if (result.kind !== 'name') throw this.#source.error(result.offset, 'a number as a result');
    if (result.name === '_') return [];
    const place = this.#scope.find(result.name);
    if (place?.kind === 'frame') {
      const to = (offset: number): AddressOperands => this.#frame.at(place.offset + offset);
      if (!slot) return this.#clear(to, 0, place.sizeBytes);
      const from = (offset: number): AddressOperands => this.#frame.atCallee(slot.offset + offset);
      return this.#copy(from, to, Math.min(alignUp(place.sizeBytes, 4), alignUp(slot.sizeBytes, 4)));
    }
    if (!slot) throw this.#source.error(result.offset, `'${this.#operands.callee.name}' has no such result`);
    const type = this.#typeOf(slot, result);
    return this.#elementsOf(slot, result).map((element, i) => {
      const from = this.#frame.atCallee(slot.offset + i * sizeOf(type));
      return this.#line(`ld.local.${memoryTypeOf(type)}`, [this.#reader.write(element, type, false), ...from]);
    });
  }

  /** The registers of a vector, or the value itself. */
  #elementsOf({ variable }: ParameterSlot, value: Element): readonly Element[] {
    const elements = this.#reader.elementsOf(value);
    const { length } = variableElements(variable, this.#source);
    if (elements?.length === length) return elements ?? [value];
    const what = length === undefined ? 'that is no vector' : `${variable.vector ?? ''}${variable.type}`;
    throw this.#source.error(value.offset, `a value for a parameter of type ${what}`);
  }

  #typeOf({ variable }: ParameterSlot, { offset }: Element): PtxType {
    if (variable.dimensions.length === 0) return variableElements(variable, this.#source).type;
    throw this.#source.error(offset, 'a value for a parameter that is an array');
  }

  #copy(from: BytesAt | undefined, to: BytesAt, sizeBytes: number): Lir[] {
    const temporary = () => this.#scope.temporary('b32').register;
    return copyCode({ offset: this.#offset, temporary }, from, to, sizeBytes);
  }

  #clear(to: BytesAt, start: number, end: number): Lir[] {
    return this.#copy(undefined, (offset) => to(start + offset), Math.max(0, alignUp(end - start, 4)));
  }

  #call(place: NamePlace | undefined): Lir[] {
    const call = this.#frame.nextCall();
    const { link, ownActivation, activation, activations } = PLACES;
    const isDirect = place?.kind === 'symbol';
    const callee = isDirect ? undefined : this.#reader.read(this.#operands.callee, 'u64', true);
    const code = [
      ...(callee ? [this.#line('wave_choose', [callee])] : []),
      ...this.#enterFrame(),
      this.#line('wave_enter', [{ kind: 'ahead', instructions: 1 }, link, ownActivation, activation, activations]),
      isDirect ? this.#goTo(place) : this.#line('wave_jump', [callee!]),
      this.#leaveFrame(),
      this.#line('ld.local.u32', [ownActivation, ...this.#frame.at(ACTIVATION_OFFSET)]),
      this.#line('wave_resume', [ownActivation, activation]),
    ];
    const last = code.length - 1;
    return code.map((line, i) => {
      if (i === 0) return { ...line, keeping: { call, kind: 'save' } };
      return i === last ? { ...line, keeping: { call, kind: 'restore' } } : line;
    });
  }

  #goTo({ name, called }: Extract<NamePlace, { kind: 'symbol' }>): Lir {
    const line = called?.isOwn
      ? this.#line('wave_goto', [])
      : this.#line('wave_jump', [{ kind: 'symbol', name, addend: 0n }]);
    return { ...line, callee: name };
  }

  #enterFrame(): Lir[] {
    const { frame } = PLACES;
    const { top } = this.#frame;
    if (!top) return [this.#line('add.u32', [frame, frame, { kind: 'frameEnd', addend: 0 }])];
    const old = this.#line('st.local.u32', [top, constant(CALLER_FRAME_OFFSET), frame]);
    return [old, this.#line('mov.u32', [frame, top])];
  }

  #leaveFrame(): Lir {
    const { frame } = PLACES;
    if (!this.#frame.top) return this.#line('sub.u32', [frame, frame, { kind: 'frameEnd', addend: 0 }]);
    return this.#line('ld.local.u32', [frame, frame, constant(CALLER_FRAME_OFFSET)]);
  }
}

/** At the begin of what calls others: what calls overwrite. A kernel is called by nobody. */
export const callerPrologue = (frame: Frame, isKernel: boolean): readonly Lir[] => [
  ...(isKernel ? [] : [lir('st.local.u32', [...frame.at(LINK_OFFSET), PLACES.link], 0)]),
  lir('st.local.u32', [...frame.at(ACTIVATION_OFFSET), PLACES.ownActivation], 0),
];

/** The end of a function. `calls`: whether it calls others. */
export const functionEpilogue = (frame: Frame, calls: boolean): readonly Lir[] => [
  ...(calls ? [lir('ld.local.u32', [PLACES.link, ...frame.at(LINK_OFFSET)], 0)] : []),
  lir('wave_return', [PLACES.link], 0),
];
