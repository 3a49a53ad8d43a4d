/** Waits of payloads: for their own memory accesses, and for those of the application. */
import { assert } from '../../base/errors.ts';
import type { WaitCounter } from '../../ir/effects.ts';
import { encodingsOf } from '../../isa/amdgpu/encoding/encodings.ts';
import { ofFamily } from '../../isa/amdgpu/encoding/format.ts';
import type { CodeContext } from '../../isa/amdgpu/encoding/instruction.ts';
import type { Target } from '../../isa/amdgpu/encoding/targets.ts';
import { limitOf, WAIT_COUNTERS } from '../../isa/amdgpu/encoding/wait-counters.ts';
import { allRows } from '../../isa/amdgpu/rows/index.ts';
import type { MachineItem, Payload, VirtualRegister } from './machine-code.ts';
import { PayloadBuilder } from './payload-builder.ts';
import { payloadEffects } from './payload-effects.ts';

/** Of counters with an instruction of their own, which has 6 bits for it (RDNA2 ISA 4.4, RDNA4 ISA 5.7). */
const SINGLE_LIMIT = 63;

/** How a target waits for counters: one by one, or several in bits of one instruction. */
interface WaitForms {
  /** What stands in front of the count. */
  readonly single: ReadonlyMap<WaitCounter, string>;
  readonly packed: { readonly name: string; readonly limits: ReadonlyMap<WaitCounter, number> } | undefined;
}

const formsByTarget = new Map<string, WaitForms>();

function waitFormsOf(target: Target): WaitForms {
  let forms = formsByTarget.get(target.processor);
  if (!forms) {
    const rows = allRows().filter((row) => encodingsOf(row, target).length > 0);
    const single = new Map<WaitCounter, string>();
    for (const { name, operands, flags } of rows) {
      if (typeof flags.waits !== 'object' || flags.waits.length > 1) continue;
      single.set(flags.waits[0]!, flags.nullSource && operands.length > 1 ? `${name} null,` : name);
    }
    const row = rows.find(({ flags }) => flags.waits === 'packed');
    const limits = ofFamily(WAIT_COUNTERS, target.families).map((each) => [each.name, limitOf(each)] as const);
    forms = { single, packed: row && { name: row.name, limits: new Map(limits) } };
    formsByTarget.set(target.processor, forms);
  }
  return forms;
}

/** The counters that a target has. */
export function hasCounter(target: Target, counter: WaitCounter): boolean {
  const { single, packed } = waitFormsOf(target);
  return single.has(counter) || packed?.limits.has(counter) === true;
}

/** Waits until at most so many accesses are left of each counter; the highest count would be no wait. */
export function waitItems(left: ReadonlyMap<WaitCounter, number>, code: CodeContext): readonly MachineItem[] {
  const { single, packed } = waitFormsOf(code.target);
  const b = new PayloadBuilder(code);
  b.purpose = 'wait';
  const parts: string[] = [];
  for (const [counter, count] of left) {
    const limit = packed?.limits.get(counter);
    const instruction = single.get(counter);
    if (limit !== undefined) parts.push(`${counter}(${Math.min(count, limit - 1)})`);
    else {
      assert(instruction, () => `${code.target.processor} can wait for ${counter}`);
      b.emit`${instruction} ${Math.min(count, SINGLE_LIMIT - 1)}`;
    }
  }
  if (packed && parts.length > 0) b.emit`${packed.name} ${parts.join(' ')}`;
  return b.items;
}

/**
 * The payload with waits in front of what uses the results of its loads. Loads do not stay in flight over
 * branches and labels, nor behind the end, where the application may have its registers back.
 */
export function withOwnWaits(payload: Payload): Payload {
  const { code } = payload;
  const items: MachineItem[] = [];
  const pending = new Map<WaitCounter, Set<VirtualRegister>>();
  const wait = (counters: Iterable<WaitCounter>): void => {
    const left = new Map([...counters].map((counter) => [counter, 0] as const));
    items.push(...waitItems(left, code));
    for (const counter of left.keys()) pending.delete(counter);
  };
  for (const item of payload.items) {
    if (item.kind === 'label' || item.target) wait([...pending.keys()]);
    if (item.kind === 'instruction') {
      const { reads, writes, writesPhysical, effects } = payloadEffects(item);
      const used = new Set([...reads, ...writes].map(({ register }) => register));
      wait([...pending].filter(([, registers]) => !registers.isDisjointFrom(used)).map(([counter]) => counter));
      const isLoad = effects.counters.size > 0 && writes.length + writesPhysical.length > 0;
      for (const counter of isLoad ? effects.counters : []) {
        pending.set(counter, new Set([...(pending.get(counter) ?? []), ...writes.map(({ register }) => register)]));
      }
    }
    items.push(item);
  }
  wait([...pending.keys()]);
  return { ...payload, items };
}
