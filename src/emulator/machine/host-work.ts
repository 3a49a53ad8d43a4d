/**
 * What the host does for waves besides running them: it decodes, compiles and answers exits. The time of that
 * counts against the slice, and the memory that it leaves behind is bounded. Both are estimates, so that what
 * waves do depends on the speed of no machine.
 */
import { turnShare } from './instruction-weight.ts';

/**
 * Microseconds of an instruction that is decoded, a value of a program that becomes a handler, and a byte of
 * a function of T1.
 */
const DECODE_US = 5;
const VALUE_US = 10;
const BYTE_US = 0.25;
/** Of an exit that the host answers. */
const EXIT_US = 2;
/**
 * Bytes of the host's own objects beside a record; of a handler, for each value; of machine code, for each
 * byte of WebAssembly.
 */
const INSTRUCTION_BYTES = 1024;
const VALUE_BYTES = 512;
const MACHINE_CODE_FACTOR = 16;
/** Beyond, all code is forgotten. A large program with all its handlers takes a tenth. */
const MAX_BYTES = 2 ** 28;

export class HostWork {
  #spentUs = 0;
  /** Of decoded and compiled code, which refers to memory of the device. */
  #codeBytes = 0;
  /** Of handlers, which are good for any code. */
  #handlerBytes = 0;
  /** Weight of the heaviest instruction that was decoded. */
  #heaviest = 1;

  /** `weight`: of instruction-weight.ts. */
  decodeInstruction(weight: number): void {
    this.#heaviest = Math.max(this.#heaviest, weight);
  }

  /** The part of a full turn that waves have: less where one instruction may take as long as many. */
  get turnShare(): number {
    return turnShare(this.#heaviest);
  }

  decode(instructions: number): void {
    this.#spentUs += instructions * DECODE_US;
    this.#codeBytes += instructions * INSTRUCTION_BYTES;
  }

  prepareHandler(values: number): void {
    this.#spentUs += values * VALUE_US;
    this.#handlerBytes += values * VALUE_BYTES;
  }

  /** Emitting so many bytes of code. */
  compile(sizeBytes: number): void {
    this.#spentUs += sizeBytes * BYTE_US;
  }

  /** Code of so many bytes that was emitted now or earlier. */
  install(sizeBytes: number): void {
    this.#codeBytes += sizeBytes * MACHINE_CODE_FACTOR;
  }

  answerExit(): void {
    this.#spentUs += EXIT_US;
  }

  /** Memory of records and of tables beside them. */
  allocate(sizeBytes: number): void {
    this.#codeBytes += sizeBytes;
  }

  /** What was spent since this was asked last. */
  takeUs(): number {
    const spent = this.#spentUs;
    this.#spentUs = 0;
    return spent;
  }

  get isTooMuch(): boolean {
    return this.#codeBytes + this.#handlerBytes > MAX_BYTES;
  }

  /** Whether it would still be much without the decoded code. */
  get hasManyHandlers(): boolean {
    return this.#handlerBytes > MAX_BYTES / 2;
  }

  forgetCode(): void {
    this.#heaviest = 1;
    this.#codeBytes = 0;
  }

  forgetHandlers(): void {
    this.#handlerBytes = 0;
  }
}
