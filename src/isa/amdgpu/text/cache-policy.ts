/** Temporal hints and scopes of gfx12's memory accesses. RDNA4 ISA 4.1.1; the spellings are LLVM's. */

import { hex } from '../../../base/text.ts';
import type { Instruction } from '../encoding/instruction.ts';
import { isAtomic, storesData } from '../encoding/row.ts';
import type { Modifier } from './modifier.ts';
import type { TextReader } from './reader/text-reader.ts';

const SCOPES = ['SCOPE_CU', 'SCOPE_SE', 'SCOPE_DEV', 'SCOPE_SYS'];
const SYSTEM_SCOPE = 3;
const DEVICE_SCOPE = 2;

/** By number; the third one depends on the scope. */
const LOAD_HINTS = ['RT', 'NT', 'HT', 'LU', 'NT_RT', 'RT_NT', 'NT_HT'];
const STORE_HINTS = ['RT', 'NT', 'HT', 'RT_WB', 'NT_RT', 'RT_NT', 'NT_HT', 'NT_WB'];
const LAST_USE = 3;
/** Bits of the hint of an atomic. */
const RETURN = 1;
const NONTEMPORAL = 2;
const CASCADE = 4;

const isStore = ({ row }: Instruction): boolean => storesData(row);

function atomicHint(hint: number, scope: number): string | undefined {
  if (hint & CASCADE) return scope < DEVICE_SCOPE ? undefined : hint & NONTEMPORAL ? 'CASCADE_NT' : 'CASCADE_RT';
  if (hint & NONTEMPORAL) return hint & RETURN ? 'NT_RETURN' : 'NT';
  return hint & RETURN ? 'RETURN' : undefined;
}

function hintName(instruction: Instruction, hint: number, scope: number): string | undefined {
  if (isAtomic(instruction.row)) {
    const name = atomicHint(hint, scope);
    return name && `TH_ATOMIC_${name}`;
  }
  const [verb, names] = isStore(instruction) ? ['STORE', STORE_HINTS] : ['LOAD', LOAD_HINTS];
  const name = hint === LAST_USE && scope === SYSTEM_SCOPE ? 'BYPASS' : names[hint];
  return name && `TH_${verb}_${name}`;
}

const temporalHint: Modifier = {
  print: (instruction) => {
    const hint = instruction.field('th');
    if (hint === 0) return '';
    const name = hintName(instruction, hint, instruction.field('scope'));
    return ` th:${name ?? (isAtomic(instruction.row) ? `TH_ATOMIC_${hex(hint)}` : hex(hint))}`;
  },
  parse: (name, reader, draft) => {
    if (name !== 'th' || !draft.has('th')) return false;
    reader.expect(':');
    reader.skipBlanks();
    const at = reader.position;
    const word = reader.word();
    const hints = Array.from({ length: draft.limit('th') + 1 }, (_, hint) => hint);
    const found = hints.find((hint) => SCOPES.some((_, scope) => hintName(draft, hint, scope) === word));
    draft.set('th', found ?? reader.fail('expected a temporal hint', at));
    return true;
  },
};

const scope: Modifier = {
  print: (instruction) => {
    const number = instruction.field('scope');
    return number === 0 ? '' : ` scope:${SCOPES[number]}`;
  },
  parse: (name, reader: TextReader, draft) => {
    if (name !== 'scope' || !draft.has('scope')) return false;
    reader.expect(':');
    reader.skipBlanks();
    const at = reader.position;
    const number = SCOPES.indexOf(reader.word() ?? '');
    draft.set('scope', number < 0 ? reader.fail(`expected one of ${SCOPES.join(', ')}`, at) : number);
    return true;
  },
};

export const CACHE_POLICY: readonly Modifier[] = [temporalHint, scope];
