/** WebAssembly that outlives the process, where somebody keeps it. */
import * as store from '../../base/kept-code.ts';
import { probeHost } from './host.ts';

/** Of a module as it is. */
export const AS_IT_IS: store.KeptForm<Uint8Array<ArrayBuffer>> = {
  asBytes: (code) => code,
  fromBytes: (code) => code,
};

/** As `kept` of `base/kept-code.ts`; `key` says all that it depends on, but for the machine. */
export const keptModule = <T>(key: () => string, make: () => T, form: store.KeptForm<T>): T =>
  store.kept(() => `${probeHost().fused} ${key()}`, make, form);
