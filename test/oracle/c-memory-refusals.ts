/** What functions of memory and copies refuse in C: see c-refusals.ts. */
import { type CObjects, type CRefusals, NOWHERE } from './c-refusals.ts';

export const memoryRefusals = (own: CObjects): CRefusals => ({
  ...poolRefusals(own),
  ...pointerRefusals(own),
  ...copyRefusals(own),
  ...sharingRefusals(own),
  ...virtualRefusals(own),
});

function poolRefusals(own: CObjects): CRefusals {
  const { gpu, pool, group, memory, freed, out, region, list } = own;
  const lost = [freed, memory + 1n, NOWHERE];
  return {
    hsa_amd_memory_pool_allocate: {
      INVALID_ARGUMENT: [
        [pool, 0n, 0n, out],
        [pool, 8n, 8n, out],
        [pool, 8n, 0n, 0n],
      ],
      INVALID_ALLOCATION: [
        [pool, 2n ** 33n, 0n, out],
        [group, 8n, 0n, out],
      ],
      INVALID_MEMORY_POOL: [[0n, 8n, 0n, out]],
    },
    hsa_memory_allocate: {
      INVALID_ARGUMENT: [
        [region, 0n, out],
        [region, 8n, 0n],
      ],
      INVALID_ALLOCATION: [[region, 2n ** 33n, out]],
      INVALID_REGION: [[0n, 8n, out]],
    },
    hsa_amd_memory_pool_free: { INVALID_ALLOCATION: lost.map((each) => [each]) },
    hsa_memory_free: { INVALID_ALLOCATION: lost.map((each) => [each]) },
    hsa_amd_agents_allow_access: {
      INVALID_AGENT: [[1n, list(0n), 0n, memory]],
      INVALID_ARGUMENT: [
        [0n, 0n, 0n, memory],
        [1n, list(gpu), 0n, 0n],
      ],
      INVALID_ALLOCATION: [freed, NOWHERE].map((each) => [1n, list(gpu), 0n, each]),
    },
    hsa_amd_memory_pool_can_migrate: {
      INVALID_MEMORY_POOL: [
        [0n, pool, out],
        [pool, 0n, out],
      ],
    },
    hsa_memory_assign_agent: {
      INVALID_AGENT: [[memory, 0n, 3n]],
      INVALID_ARGUMENT: [
        [memory, gpu, 0n],
        [memory, gpu, 9n],
      ],
      INVALID_ALLOCATION: [freed, NOWHERE].map((each) => [each, gpu, 3n]),
    },
  };
}

function pointerRefusals(own: CObjects): CRefusals {
  const { cpu, gpu, pool, group, memory, freed, out, list, callback } = own;
  return {
    hsa_memory_register: {
      INVALID_ARGUMENT: [
        [0n, 8n],
        [memory, 0n],
      ],
    },
    hsa_memory_deregister: {},
    hsa_amd_memory_lock: {
      INVALID_AGENT: [[out, 8n, list(0n), 1n, out]],
      INVALID_ARGUMENT: [
        [0n, 8n, 0n, 0n, out],
        [out, 0n, 0n, 0n, out],
        [out, 8n, list(gpu), 0n, out],
      ],
    },
    hsa_amd_memory_lock_to_pool: {
      INVALID_AGENT: [[out, 8n, list(0n), 1n, pool, 0n, out]],
      INVALID_MEMORY_POOL: [[out, 8n, 0n, 0n, 0n, 0n, out]],
      INVALID_ALLOCATION: [[out, 8n, 0n, 0n, group, 0n, out]],
    },
    hsa_amd_memory_unlock: { INVALID_ARGUMENT: [[out], [0n]] },
    hsa_amd_pointer_info: {
      INVALID_ARGUMENT: [
        [0n, out, 0n, 0n, 0n],
        [memory, 0n, 0n, 0n, 0n],
      ],
    },
    hsa_amd_pointer_info_set_userdata: { INVALID_ALLOCATION: [freed, NOWHERE].map((each) => [each, 0n]) },
    hsa_amd_register_deallocation_callback: {
      INVALID_ALLOCATION: [freed, NOWHERE].map((each) => [each, callback, 0n]),
      INVALID_ARGUMENT: [
        [memory, 0n, 0n],
        [0n, callback, 0n],
      ],
    },
    hsa_amd_deregister_deallocation_callback: { INVALID_ARGUMENT: [[memory, callback]] },
    hsa_amd_memory_copy_engine_status: {
      INVALID_AGENT: [
        [0n, cpu, out],
        [cpu, 0n, out],
        [cpu, cpu, out],
      ],
    },
  };
}

function copyRefusals(own: CObjects): CRefusals {
  const { cpu, gpu, memory, signal, goneSignal, out, list } = own;
  const copy = (change: object = {}): bigint[] =>
    Object.values({
      to: memory,
      toAgent: gpu,
      from: memory,
      fromAgent: cpu,
      size: 8n,
      count: 0n,
      on: 0n,
      done: 0n,
      ...change,
    });
  const bad = [goneSignal, NOWHERE];
  const refusals = {
    INVALID_SIGNAL: [...bad.map((done) => copy({ done })), ...bad.map((each) => copy({ count: 1n, on: list(each) }))],
    INVALID_ARGUMENT: [copy({ to: 0n }), copy({ from: 0n }), copy({ count: 1n })],
    INVALID_AGENT: [copy({ toAgent: 0n }), copy({ fromAgent: 0n })],
  };
  const place = list(memory, 4n, 4n);
  const box = (change: object = {}): bigint[] => {
    const all = {
      to: place,
      toOffset: list(0n, 0n),
      from: place,
      fromOffset: list(0n, 0n),
      range: list(4n | (2n << 32n), 1n),
    };
    return Object.values({ ...all, agent: gpu, direction: 0n, count: 0n, on: 0n, done: 0n, ...change });
  };
  return {
    hsa_amd_memory_fill: {
      INVALID_ARGUMENT: [
        [memory + 2n, 0n, 1n],
        [0n, 0n, 1n],
      ],
    },
    hsa_memory_copy: {
      INVALID_ARGUMENT: [
        [0n, memory, 8n],
        [memory, 0n, 8n],
      ],
    },
    hsa_amd_memory_async_copy: refusals,
    hsa_amd_memory_async_copy_on_engine: {
      ...Object.fromEntries(
        Object.entries(refusals).map(([status, rows]) => [status, rows.map((row) => [...row, 1n, 0n])]),
      ),
    },
    hsa_amd_memory_async_copy_rect: {
      INVALID_SIGNAL: bad.map((done) => box({ done })),
      INVALID_ARGUMENT: [
        box({ to: 0n }),
        box({ to: list(memory, 3n, 4n) }),
        box({ range: list(4n | (2n << 32n), 2n) }),
      ],
      INVALID_AGENT: [box({ agent: 0n })],
    },
    hsa_amd_profiling_get_async_copy_time: { INVALID_SIGNAL: [[goneSignal, out]], INVALID_ARGUMENT: [[signal, 0n]] },
  };
}

function sharingRefusals({ gpu, memory, freed, signal, goneSignal, out, list }: CObjects): CRefusals {
  const unknown = list(1n, 2n, 3n, 4n);
  return {
    hsa_amd_ipc_memory_create: {
      INVALID_ARGUMENT: [
        ...[0n, 8n, 8192n].map((size) => [memory, size, out]),
        ...[0n, freed, memory + 8n, NOWHERE].map((each) => [each, 4096n, out]),
        [memory, 4096n, 0n],
      ],
    },
    hsa_amd_ipc_memory_attach: {
      INVALID_AGENT: [[unknown, 64n, 1n, list(0n), out]],
      INVALID_ARGUMENT: [
        [unknown, 64n, 1n, list(gpu), out],
        [0n, 64n, 0n, 0n, out],
        [unknown, 64n, 1n, 0n, out],
        [unknown, 64n, 0n, 0n, 0n],
      ],
    },
    hsa_amd_ipc_memory_detach: { INVALID_ARGUMENT: [0n, memory, NOWHERE].map((each) => [each]) },
    hsa_amd_ipc_signal_create: {
      INVALID_SIGNAL: [goneSignal, NOWHERE, 0n].map((each) => [each, out]),
      INVALID_ARGUMENT: [
        [signal, out],
        [signal, 0n],
      ],
    },
    hsa_amd_ipc_signal_attach: {
      INVALID_ARGUMENT: [
        [unknown, out],
        [0n, out],
        [unknown, 0n],
      ],
    },
  };
}

/** What needs memory and addresses that are there is in hsa-program/sharing.c. */
function virtualRefusals({ gpu, pool, group, memory, out, list }: CObjects): CRefusals {
  const access = list(3n, gpu);
  return {
    hsa_amd_vmem_address_reserve: { INVALID_ARGUMENT: [[out, 0n, 0n, 0n]] },
    hsa_amd_vmem_address_reserve_align: {
      INVALID_ARGUMENT: [
        [out, 4096n, 0n, 3n, 0n],
        [0n, 4096n, 0n, 0n, 0n],
      ],
      OUT_OF_RESOURCES: [[out, 2n ** 40n, 0n, 0n, 0n]],
    },
    hsa_amd_vmem_address_free: {
      INVALID_ARGUMENT: [
        [0n, 4096n],
        [memory, 0n],
      ],
      INVALID_ALLOCATION: [[memory, 4096n]],
    },
    hsa_amd_vmem_handle_create: {
      INVALID_ARGUMENT: [
        [pool, 0n, 0n, 0n, out],
        [pool, 1n, 0n, 0n, out],
        [pool, 4096n, 2n, 0n, out],
        [0n, 4096n, 0n, 0n, out],
      ],
      INVALID_ALLOCATION: [[group, 4096n, 0n, 0n, out]],
    },
    hsa_amd_vmem_handle_release: { INVALID_ALLOCATION: [[0n]] },
    hsa_amd_vmem_map: { INVALID_ARGUMENT: [0n, memory, NOWHERE].map((each) => [each, 4096n, 0n, 1n, 0n]) },
    hsa_amd_vmem_unmap: { INVALID_ARGUMENT: [[0n, 4096n]], INVALID_ALLOCATION: [[memory, 4096n]] },
    hsa_amd_vmem_set_access: {
      INVALID_AGENT: [[memory, 4096n, list(3n, 0n), 1n]],
      INVALID_ARGUMENT: [
        [memory, 4096n, access, 0n],
        [memory, 4096n, access, 1n],
      ],
    },
    hsa_amd_vmem_get_access: { INVALID_ARGUMENT: [[memory, 0n, gpu]], INVALID_ALLOCATION: [[memory, out, gpu]] },
    hsa_amd_vmem_export_shareable_handle: { INVALID_ARGUMENT: [[0n, 1n, 0n]], INVALID_ALLOCATION: [[out, 1n, 0n]] },
    hsa_amd_vmem_import_shareable_handle: {
      INVALID_ARGUMENT: [[0xffff_ffffn, out]],
      INCOMPATIBLE_ARGUMENTS: [[0n, out]],
    },
    hsa_amd_vmem_retain_alloc_handle: { INVALID_ALLOCATION: [[out, memory]], INVALID_ARGUMENT: [[0n, memory]] },
    hsa_amd_vmem_get_alloc_properties_from_handle: {
      INVALID_ALLOCATION: [[0n, out, out]],
      INVALID_ARGUMENT: [[0n, 0n, out]],
    },
  };
}
