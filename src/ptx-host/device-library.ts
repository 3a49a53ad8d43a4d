/**
 * Functions that CUDA code leaves to its runtime, as PTX that is linked to what names them: they ask the host
 * (`services/cuda`). They are weak, so that a program's own take their place.
 */
import { ANSWER, HEADER_BYTES, KIND, SLOT, SLOT_BYTES, SLOT_COUNT, STATE } from '../services/cuda/layout.ts';

/** Holds the address of the table of requests. */
export const REQUESTS_SYMBOL = 'wavewright_requests';
export const LIBRARY_FUNCTIONS = ['vprintf', 'malloc', 'free', '__assertfail'] as const;

const ARGUMENTS = [0, 1, 2, 3, 4, 5, 6];
const parameters = ARGUMENTS.map((i) => `.param .b64 a${i}`).join(', ');
const storeArguments = ARGUMENTS.map(
  (i) => `  ld.param.b64 %v, [a${i}];\n  st.global.b64 [%slot+${SLOT.arguments + 8 * i}], %v;`,
).join('\n');

/** A call of `request`; what is not given is 0. */
function call(kind: number, given: readonly string[]): string {
  const stores = ARGUMENTS.map((i) => `  st.param.b64 [x${i}], ${given[i] ?? 0};`).join('\n');
  const names = ARGUMENTS.map((i) => `x${i}`).join(', ');
  return `  { .param .b64 y; .param .b32 k; ${ARGUMENTS.map((i) => `.param .b64 x${i};`).join(' ')}
  st.param.b32 [k], ${kind};
${stores}
  call.uni (y), wavewright_request, (k, ${names});
  ld.param.b64 %result, [y]; }`;
}

export const DEVICE_LIBRARY = `.version 7.0
.target sm_70
.address_size 64
.visible .global .align 8 .u64 ${REQUESTS_SYMBOL};
.func (.param .b64 result) wavewright_request(.param .b32 kind, ${parameters})
{
  .reg .pred %p;
  .reg .b16 %byte;
  .reg .b32 %state, %number, %command, %count, %i;
  .reg .b64 %table, %slot, %v, %from, %to;
  ld.global.u64 %table, [${REQUESTS_SYMBOL}];
  atom.global.add.u32 %number, [%table], 1;
  and.b32 %i, %number, ${SLOT_COUNT - 1};
  mul.wide.u32 %slot, %i, ${SLOT_BYTES};
  add.u64 %slot, %table, %slot;
  add.u64 %slot, %slot, ${HEADER_BYTES};
TAKE:
  atom.global.cas.b32 %state, [%slot], ${STATE.free}, ${STATE.taken};
  setp.eq.u32 %p, %state, ${STATE.free};
  @%p bra WRITE;
  nanosleep.u32 100;
  bra TAKE;
WRITE:
  ld.param.b32 %i, [kind];
  st.global.b32 [%slot+${SLOT.kind}], %i;
  st.global.b32 [%slot+${SLOT.number}], %number;
${storeArguments}
POST:
  st.release.sys.global.b32 [%slot], ${STATE.posted};
WAIT:
  ld.acquire.sys.global.b32 %state, [%slot];
  setp.eq.u32 %p, %state, ${STATE.answered};
  @%p bra ANSWER;
  nanosleep.u32 100;
  bra WAIT;
ANSWER:
  ld.global.b32 %command, [%slot+${SLOT.command}];
  setp.eq.u32 %p, %command, ${ANSWER.done};
  @%p bra DONE;
  ld.global.b64 %from, [%slot+${SLOT.from}];
  ld.global.b64 %to, [%slot+${SLOT.to}];
  ld.global.b32 %count, [%slot+${SLOT.count}];
COPY:
  setp.eq.u32 %p, %count, 0;
  @%p bra POST;
  ld.u8 %byte, [%from];
  st.global.u8 [%to], %byte;
  add.u64 %from, %from, 1;
  add.u64 %to, %to, 1;
  sub.u32 %count, %count, 1;
  setp.eq.u16 %p, %byte, 0;
  setp.eq.and.u32 %p, %command, ${ANSWER.copyString}, %p;
  @%p bra POST;
  bra COPY;
DONE:
  ld.global.b64 %v, [%slot+${SLOT.result}];
  st.release.sys.global.b32 [%slot], ${STATE.free};
  st.param.b64 [result], %v;
  ret;
}
.weak .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 list)
{
  .reg .b64 %format, %list, %result;
  .reg .b32 %count;
  ld.param.b64 %format, [format];
  ld.param.b64 %list, [list];
${call(KIND.printf, ['%format', '%list'])}
  cvt.u32.u64 %count, %result;
  st.param.b32 [result], %count;
  ret;
}
.weak .func (.param .b64 result) malloc(.param .b64 size)
{
  .reg .b64 %size, %result;
  ld.param.b64 %size, [size];
${call(KIND.malloc, ['%size'])}
  st.param.b64 [result], %result;
  ret;
}
.weak .func free(.param .b64 address)
{
  .reg .b64 %address, %result;
  ld.param.b64 %address, [address];
${call(KIND.free, ['%address'])}
  ret;
}
.weak .func __assertfail(.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size)
{
  .reg .b32 %n<7>;
  .reg .b64 %message, %file, %function, %a<4>, %result;
  ld.param.b64 %message, [message];
  ld.param.b64 %file, [file];
  ld.param.b64 %function, [function];
  ld.param.b32 %n0, [line];
  mov.u32 %n1, %tid.z;
  mov.u32 %n2, %tid.x;
  mov.u32 %n3, %tid.y;
  mov.u32 %n4, %ctaid.x;
  mov.u32 %n5, %ctaid.y;
  mov.u32 %n6, %ctaid.z;
  mov.b64 %a0, {%n0, %n1};
  mov.b64 %a1, {%n2, %n3};
  mov.b64 %a2, {%n4, %n5};
  cvt.u64.u32 %a3, %n6;
${call(KIND.assert, ['%message', '%file', '%function', '%a0', '%a1', '%a2', '%a3'])}
  trap;
}
`;
