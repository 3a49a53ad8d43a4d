/** Writes a lifted hook as payload code for one point. */
import type { StateSlot } from '../../ir/types.ts';
import { effectsOf } from '../../isa/amdgpu/effects/effects.ts';
import type { RegisterUse, VirtualRegister } from '../machine/machine-code.ts';
import { PayloadBuilder, type Placeholder, part, type RegisterPart } from '../machine/payload-builder.ts';
import type { Rejected } from './hook-code.ts';
import type { HookArgument, HookPoint } from './hook-point.ts';
import {
  emitImplicitArguments,
  emitIntrinsic,
  type IntrinsicCall,
  type IntrinsicContext,
} from './intrinsic-emission.ts';
import type { BlockHalf, LiftedHook, LiftedNode } from './lift-hook.ts';

export interface Emitted {
  readonly key: string;
  readonly literals: readonly number[];
}

/** What a register of the application gets when the hook is over. */
interface PendingWrite {
  readonly value: VirtualRegister;
  readonly number: number;
}

/** Arguments stand in v0 to v30 (LLVM AMDGPU usage, "Calling Convention"). */
const MAX_ARGUMENT_DWORDS = 31;
const DISPATCH_PACKET = 4;
const IMPLICIT_ARGUMENTS = 8;
const FIRST_WORKGROUP_ID = 12;
const WORK_ITEM_IDS = 31;

export class HookEmission implements IntrinsicContext {
  readonly hook: LiftedHook;
  readonly point: HookPoint;
  readonly #args: readonly HookArgument[];
  readonly #literals: number[] = [];
  readonly #registers = new Map<VirtualRegister, VirtualRegister>();
  readonly #pending = new Map<number, PendingWrite>();
  readonly #copies = new Map<'exec' | 'vcc' | 'scc' | 'm0', VirtualRegister>();
  #rejected: string | undefined;
  #builder: PayloadBuilder | undefined;
  readonly #keyParts: string[] = [];

  constructor(hook: LiftedHook, args: readonly HookArgument[], point: HookPoint) {
    this.hook = hook;
    this.#args = args;
    this.point = point;
  }

  get b(): PayloadBuilder {
    this.#builder ??= new PayloadBuilder({ target: this.point.instruction.target, waveSize: this.hook.waveSize });
    return this.#builder;
  }

  emit(builder: PayloadBuilder): Emitted | Rejected {
    this.#builder = builder;
    this.#copyState();
    if (this.hook.hasWideArguments && this.#args.length > 0) this.#inAllLanes(() => this.#bindArguments());
    else this.#bindArguments();
    this.#bindLaunchRegisters();
    this.#preparePendingWrites();
    const labels = this.hook.blocks.map((_, index) => ({ name: `${this.hook.name}.${index}` }));
    const end = { name: `${this.hook.name}.end` };
    const isTarget = new Set(
      this.hook.blocks.flatMap(({ target, next }, index) => [target, next === index + 1 ? undefined : next]),
    );
    let endsEarly = false;
    for (const [index, { nodes, next, target, returns }] of this.hook.blocks.entries()) {
      if (isTarget.has(index)) builder.place(labels[index]!);
      for (const node of nodes) this.#emitNode(node, target === undefined ? undefined : labels[target]);
      const isLast = index === this.hook.blocks.length - 1;
      if (returns && !isLast) {
        builder.emit`s_branch ${end}`;
        endsEarly = true;
      } else if (next !== undefined && next !== index + 1) builder.emit`s_branch ${labels[next]!}`;
    }
    if (endsEarly) builder.place(end);
    this.#finish();
    if (this.#rejected !== undefined) return { rejected: this.#rejected };
    return { key: this.#key(), literals: this.#literals };
  }

  reject(reason: string): void {
    this.#rejected ??= reason;
  }

  /** A literal that differs from point to point. */
  literal(value: number): Placeholder {
    this.#literals.push(value);
    return { pointLiteral: this.#literals.length - 1 };
  }

  /** Says that the code is for points with this property alone. */
  dependsOn(property: string): void {
    this.#keyParts.push(property);
  }

  /** What the application has in EXEC, VCC, SCC or M0 where the hook is called. */
  copyOf(state: 'exec' | 'vcc' | 'scc' | 'm0'): VirtualRegister | undefined {
    return this.#copies.get(state);
  }

  /** Gives a register of the application its value when the hook is over. */
  pendingWrite(number: number): VirtualRegister | undefined {
    return this.#pending.get(number)?.value;
  }

  part({ register, firstDword }: RegisterUse, dword = 0): RegisterPart {
    return part(this.#fresh(register), firstDword + dword, 1);
  }

  range({ register, firstDword }: RegisterUse, dwords: number): RegisterPart {
    return part(this.#fresh(register), firstDword, dwords);
  }

  /** A register of the hook in this payload: a hook may stand in one several times. */
  #fresh(register: VirtualRegister): VirtualRegister {
    let fresh = this.#registers.get(register);
    if (!fresh) {
      const { file, dwords, alignmentDwords, writesOtherLanes } = register;
      const { id } = file === 'scalar' ? this.b.scalar(dwords) : this.b.vector(dwords);
      fresh = { id, file, dwords, alignmentDwords, writesOtherLanes };
      this.#registers.set(register, fresh);
    }
    return fresh;
  }

  /** Whether a marker of the hook, or an argument, is one of these. */
  #asks(matches: (name: string, numbers: readonly number[]) => boolean): boolean {
    return (
      this.#args.some((each) => each.kind === 'intrinsic' && matches(each.name, each.numbers)) ||
      this.hook.blocks.some(({ nodes }) =>
        nodes.some(({ node: { marker } }) => marker !== undefined && matches(marker.name, marker.numbers)),
      )
    );
  }

  #copyState(): void {
    const { b } = this;
    const reads = (number: number): boolean =>
      this.#asks((name, numbers) => name === 'read_reg' && (numbers[0] === number || numbers[0] === number + 1)) ||
      this.#asks((name) => name === 'operand');
    const inAddress = this.#asks((name) => name === 'address')
      ? effectsOf(this.point.instruction).readsState
      : new Set<StateSlot>();
    if (this.hook.changesExec || this.#readsExecLate() || reads(126)) {
      const copy = b.mask();
      b.emit`s_mov_${b.maskBits} ${copy}, ${b.exec}`;
      this.#copies.set('exec', copy);
    }
    if (reads(106) || inAddress.has('vcc')) {
      const copy = b.mask();
      b.emit`s_mov_${b.maskBits} ${copy}, ${b.vcc}`;
      this.#copies.set('vcc', copy);
    }
    if (reads(124) || inAddress.has('m0')) {
      const copy = b.scalar();
      b.emit`s_mov_b32 ${copy}, m0`;
      this.#copies.set('m0', copy);
    }
    if (reads(253)) {
      const copy = b.scalar();
      b.emit`s_cselect_b32 ${copy}, 1, 0`;
      this.#copies.set('scc', copy);
    }
  }

  /** Whether an intrinsic asks for EXEC where it may be another one. */
  #readsExecLate(): boolean {
    return (
      this.#asks((name) => name === 'operand') ||
      this.hook.blocks.some(({ nodes }) =>
        nodes.some(({ node, lanes }) => node.marker?.name === 'exec' && lanes !== 'entry'),
      )
    );
  }

  /** Runs what `emit` writes in all lanes. */
  #inAllLanes(emit: () => void): void {
    const { b } = this;
    const saved = b.mask();
    const outer = b.otherLanes;
    b.emit`s_mov_${b.maskBits} ${saved}, ${b.exec}`;
    b.emit`s_mov_${b.maskBits} ${b.exec}, -1`;
    b.otherLanes = 'any';
    emit();
    b.otherLanes = outer;
    b.emit`s_mov_${b.maskBits} ${b.exec}, ${saved}`;
  }

  #bindArguments(): void {
    let at = 0;
    for (const argument of this.#args) {
      const dwords = argument.kind === 'symbol' ? 2 : argument.dwords;
      const uses = Array.from({ length: dwords }, (_, i) => this.hook.initial('vector', at + i));
      at += dwords;
      if (uses.every((use) => use === undefined)) continue;
      const output = uses.map((use) => use && this.part(use));
      this.#bindArgument(argument, output);
    }
    if (at > MAX_ARGUMENT_DWORDS) this.reject(`is called with ${at} dwords of arguments, above ${MAX_ARGUMENT_DWORDS}`);
    for (let i = at; i < MAX_ARGUMENT_DWORDS; i++) {
      if (this.hook.needsArgument(i)) this.reject(`has more arguments than it is called with: it reads v${i}`);
    }
    if (this.hook.needsArgument(WORK_ITEM_IDS)) this.reject('asks for the ids of work-items, which are not kept');
  }

  #bindArgument(argument: HookArgument, output: readonly (RegisterPart | undefined)[]): void {
    if (argument.kind === 'intrinsic') {
      const isExecKept = !this.hook.hasWideArguments;
      emitIntrinsic(this, { name: argument.name, numbers: argument.numbers, output, input: [], isExecKept });
      return;
    }
    if (argument.kind === 'symbol') this.dependsOn(`${argument.symbol} ${argument.offset}`);
    for (const [i, register] of output.entries()) {
      if (register) this.b.emit`v_mov_b32_e32 ${register}, ${this.#dwordOf(argument, i)}`;
    }
  }

  #dwordOf(argument: Exclude<HookArgument, { kind: 'intrinsic' }>, dword: number): Placeholder {
    if (argument.kind === 'constant') {
      return this.literal(Number(BigInt.asUintN(32, argument.value >> BigInt(32 * dword))));
    }
    const { symbol, offset } = argument;
    return { half: dword === 0 ? 'low' : 'high', symbol, addend: offset };
  }

  #bindLaunchRegisters(): void {
    const { launch } = this.point;
    for (let i = 0; i < 2; i++)
      this.#bindScalar(DISPATCH_PACKET + i, () => launch.dispatchPacket, i, 'dispatch packet');
    const implicit = [0, 1].map((i) => this.hook.initial('scalar', IMPLICIT_ARGUMENTS + i));
    if (implicit.some(Boolean))
      emitImplicitArguments(
        this,
        implicit.map((use) => use && this.part(use)),
      );
    for (const [i, name] of ['x', 'y', 'z'].entries())
      this.#bindScalar(FIRST_WORKGROUP_ID + i, () => launch.workgroupIds?.[i], 0, `workgroup id ${name}`);
  }

  #bindScalar(register: number, sourceOf: () => number | undefined, dword: number, name: string): void {
    const use = this.hook.initial('scalar', register);
    if (!use) return;
    const source = sourceOf();
    this.dependsOn(`${name} ${source}`);
    if (source === undefined) this.reject(`asks for the kernel's ${name}, which the kernel does not keep`);
    else this.b.emit`s_mov_b32 ${this.part(use)}, ${`s${source + dword}`}`;
  }

  /** A register that the hook may change on some ways keeps what it has on the others. */
  #preparePendingWrites(): void {
    for (const [index, { nodes }] of this.hook.blocks.entries()) {
      // The first block runs once, whatever branches do, unless it is a loop.
      const isAlways = index === 0 && !this.hook.blocks.some(({ target, next }) => target === 0 || next === 0);
      for (const { node, lanes } of nodes) {
        const { marker } = node;
        if (marker?.name !== 'write_reg') continue;
        const [number = 0] = marker.numbers;
        const isWhole = isAlways && lanes === 'entry';
        for (let i = 0; i < marker.registers[0]!.dwords; i++) this.#preparePending(number + i, isWhole);
      }
    }
  }

  #preparePending(number: number, isWhole: boolean): void {
    if (this.#pending.has(number)) return;
    const name = this.registerText(number);
    if (name === undefined) {
      this.reject(`writes register ${number}, which there is not`);
      return;
    }
    const isVector = number >= 256;
    const value = isVector ? this.b.vector() : this.b.scalar();
    this.#pending.set(number, { value, number });
    if (isWhole) return;
    if (isVector) this.b.emit`v_mov_b32_e32 ${value}, ${name}`;
    else this.b.emit`s_mov_b32 ${value}, ${name}`;
  }

  /** The text of a register that an intrinsic names by its number as a source; undefined without one. */
  registerText(number: number): string | undefined {
    const { scalars } = this.point.instruction;
    if (number >= 256 && number < 512) return `v${number - 256}`;
    if (number < scalars.sgprCount) return `s${number}`;
    const names: Readonly<Record<number, string>> = { 106: 'vcc_lo', 107: 'vcc_hi', 124: 'm0' };
    return names[number];
  }

  #emitNode(lifted: LiftedNode, target: { readonly name: string } | undefined): void {
    if (lifted.lanes === 'all') this.#inAllLanes(() => this.#emitInLanes(lifted, undefined));
    else {
      this.b.otherLanes = lifted.lanes === 'any' ? 'any' : 'none';
      this.#emitInLanes(lifted, target);
      this.b.otherLanes = 'none';
    }
  }

  #emitInLanes({ node, lanes, uses, addresses }: LiftedNode, target: { readonly name: string } | undefined): void {
    for (const half of addresses) this.#emitAddress(half);
    if (addresses.length > 0 || node.returns) return;
    const { marker, step } = node;
    if (marker) {
      emitIntrinsic(this, { ...this.#callOf(marker.registers, uses, marker), isExecKept: lanes === 'entry' });
      return;
    }
    const isBranch = step.target !== undefined;
    this.b.append([
      {
        kind: 'instruction',
        template: step.instruction,
        registers: new Map(
          [...uses].map(([index, { register, firstDword }]) => [
            index,
            { register: this.#fresh(register), firstDword },
          ]),
        ),
        ...(isBranch && target && { target }),
      },
    ]);
  }

  #callOf(
    registers: readonly { readonly role: string; readonly dwords: number }[],
    uses: ReadonlyMap<number, RegisterUse>,
    { name, numbers }: Pick<IntrinsicCall, 'name' | 'numbers'>,
  ): IntrinsicCall {
    const partsOf = (wanted: string): RegisterPart[] =>
      registers.flatMap(({ role, dwords }, index) => {
        const use = uses.get(index);
        if (role !== wanted && role !== 'both') return [];
        return use ? Array.from({ length: dwords }, (_, i) => this.part(use, i)) : [];
      });
    return { name, numbers, output: partsOf('write'), input: partsOf('read'), isExecKept: false };
  }

  #emitAddress({ use, half, block, offset }: BlockHalf): void {
    const { symbol, addend } = this.point.placeOf(block);
    this.b.emit`s_mov_b32 ${this.part(use)}, ${{ half, symbol, addend: addend + offset }}`;
  }

  #finish(): void {
    const { b } = this;
    const exec = this.#copies.get('exec');
    if (this.hook.changesExec && exec) b.emit`s_mov_${b.maskBits} ${b.exec}, ${exec}`;
    for (const { value, number } of this.#pending.values()) {
      const name = this.registerText(number)!;
      if (number >= 256) {
        b.emit`v_mov_b32_e32 ${name}, ${value}`;
        b.changes({ file: 'vector', first: number - 256, dwords: 1 });
      } else {
        b.emit`s_mov_b32 ${name}, ${value}`;
        b.changes({ file: 'scalar', first: number, dwords: 1 });
      }
    }
  }

  #key(): string {
    const args = this.#args.map((each) => (each.kind === 'intrinsic' ? `${each.name} ${each.numbers}` : each.kind));
    return [this.hook.file.name, this.hook.name, this.hook.waveSize, ...args, ...this.#keyParts].join('|');
  }
}
