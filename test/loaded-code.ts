/** Where the code of a file lies in the memory of an emulated device, for observers of its steps. */
import { type CodeObject, parseCodeObject } from '../src/codeobject/code-object.ts';
import type { Device } from '../src/device/device.ts';

export class LoadedAddresses {
  readonly codeObject: CodeObject;
  #delta: number | undefined;

  /** Of a code object that is linked; to be made before the device gets it. */
  constructor(device: Device, bytes: Uint8Array) {
    this.codeObject = parseCodeObject(bytes, 'the code');
    const values = new Map(
      [...this.codeObject.elf.symbols, ...this.codeObject.elf.dynamicSymbols].map(({ name, value }) => [name, value]),
    );
    const publish = device.publishCode.bind(device);
    device.publishCode = (code) => {
      publish(code);
      const known = code.symbols.find(({ name }) => values.has(name));
      if (known) this.#delta ??= Number((known.address - values.get(known.name)!) & 0xffff_ffffn);
    };
  }

  /** The address in the file of an offset in device memory. */
  address(offset: number): number {
    return offset - (this.#delta ?? 0);
  }
}
