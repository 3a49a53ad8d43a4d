/** Errors of the functions of memory, copies and sharing. */
import { agentErrors, NOWHERE, NULL, type Refusals, signalErrors, type World } from './world.test-support.ts';

export const memoryFunctions = (world: World): Record<string, Refusals> => ({
  ...allocationFunctions(world),
  ...pointerFunctions(world),
  ...copyFunctions(world),
});

function allocationFunctions(world: World): Record<string, Refusals> {
  const { own, gone, other, ended } = world;
  const { pool, group, system, address, memory, agent } = own;
  return {
    'hsa_amd_memory_pool_allocate, hsa_memory_allocate': {
      INVALID_ARGUMENT: [
        ...[0, -1, 1.5, Number.NaN, NULL].map((size) => () => pool.allocate(size)),
        ...[8, -1, 0.5].map((flags) => () => pool.allocate(8, { flags })),
        ...[24, 0, -4096].map((alignmentBytes) => () => pool.allocate(8, { alignmentBytes })),
      ],
      INVALID_ALLOCATION: [() => pool.allocate(pool.sizeBytes + 1), () => group.allocate(8)],
      NOT_INITIALIZED: [() => ended.pool.allocate(8)],
    },
    'hsa_amd_memory_pool_free, hsa_memory_free': {
      INVALID_ALLOCATION: [gone.address, address + 1n, NOWHERE].map((wrong) => () => pool.free(wrong)),
      NOT_INITIALIZED: [() => ended.pool.free(ended.address)],
    },
    hsa_amd_agents_allow_access: {
      ...agentErrors(world, (objects, each) => objects.memory.allowAccess([each], objects.address)),
      INVALID_ARGUMENT: [() => memory.allowAccess([], address)],
      INVALID_ALLOCATION: [NOWHERE, address + 1n, gone.address].map(
        (wrong) => () => memory.allowAccess([agent], wrong),
      ),
    },
    hsa_amd_memory_pool_can_migrate: {
      INVALID_MEMORY_POOL: [NULL, other.pool].flatMap((wrong) => [
        () => memory.canMigrate(wrong, pool),
        () => memory.canMigrate(pool, wrong),
      ]),
      NOT_INITIALIZED: [() => ended.memory.canMigrate(ended.pool, ended.pool)],
    },
    hsa_amd_memory_migrate: {
      INVALID_MEMORY_POOL: [NULL, other.pool, group].map((wrong) => () => memory.migrate(address, wrong)),
      INVALID_ALLOCATION: [NOWHERE, gone.address].map((wrong) => () => memory.migrate(wrong, system)),
      NOT_INITIALIZED: [() => ended.memory.migrate(ended.address, ended.system)],
    },
    hsa_memory_assign_agent: {
      ...agentErrors(world, (objects, each) => objects.memory.assignAgent(objects.address, each, 'rw')),
      INVALID_ARGUMENT: ['', 'x', NULL].map((access) => () => memory.assignAgent(address, agent, access as 'rw')),
      INVALID_ALLOCATION: [NOWHERE, gone.address].map((wrong) => () => memory.assignAgent(wrong, agent, 'rw')),
    },
  };
}

function pointerFunctions(world: World): Record<string, Refusals> {
  const { own, gone, other, ended } = world;
  const { group, address, memory, agent } = own;
  const bytes = new Uint8Array(8);
  return {
    'hsa_memory_register, hsa_memory_deregister': {
      INVALID_ARGUMENT: [() => memory.register(0n, 8), () => memory.register(address, 0)],
      NOT_INITIALIZED: [() => ended.memory.register(address, 8), () => ended.memory.deregister(address, 8)],
    },
    'hsa_amd_memory_lock, hsa_amd_memory_lock_to_pool': {
      ...agentErrors(world, (objects, each) => objects.memory.lock(bytes, [each])),
      INVALID_ARGUMENT: [() => memory.lock(new Uint8Array(0)), () => memory.lock(NULL), () => memory.lock(bytes, [])],
      INVALID_MEMORY_POOL: [NULL, other.system].map((wrong) => () => memory.lock(bytes, [agent], wrong)),
      INVALID_ALLOCATION: [() => memory.lock(bytes, [agent], group)],
    },
    hsa_amd_memory_unlock: {
      INVALID_ARGUMENT: [() => memory.unlock(new Uint8Array(1)), () => memory.unlock(NULL)],
      NOT_INITIALIZED: [() => ended.memory.unlock(bytes)],
    },
    hsa_amd_pointer_info: {
      INVALID_ARGUMENT: [() => memory.pointerInfo(0n)],
      NOT_INITIALIZED: [() => ended.memory.pointerInfo(ended.address)],
    },
    hsa_amd_pointer_info_set_userdata: {
      INVALID_ALLOCATION: [NOWHERE, address + 1n].map((wrong) => () => memory.setPointerUserData(wrong, 0)),
      NOT_INITIALIZED: [() => ended.memory.setPointerUserData(ended.address, 0)],
    },
    'hsa_amd_register_deallocation_callback, hsa_amd_deregister_deallocation_callback': {
      INVALID_ALLOCATION: [NOWHERE, gone.address].map((wrong) => () => memory.onDeallocate(wrong, () => {})),
      INVALID_ARGUMENT: [() => memory.onDeallocate(address, NULL)],
      NOT_INITIALIZED: [() => ended.memory.onDeallocate(ended.address, () => {})],
    },
  };
}

function copyFunctions(world: World): Record<string, Refusals> {
  const { own, other, ended } = world;
  const { address, runtime, agent } = own;
  const copy = { destination: address, source: address, sizeBytes: 8 };
  const rectangle = { address, pitchBytes: 4 };
  return {
    hsa_amd_memory_fill: {
      INVALID_ARGUMENT: [
        () => runtime.fill(address + 2n, 0, 1),
        () => runtime.fill(NOWHERE, 0, 1),
        () => runtime.fill(address, 0, 1025),
        () => runtime.fill(address, 0, -1),
      ],
      NOT_INITIALIZED: [() => ended.runtime.fill(ended.address, 0, 1)],
    },
    hsa_memory_copy: {
      INVALID_ARGUMENT: [
        () => runtime.copy(NOWHERE, address, 8),
        () => runtime.copy(address, NOWHERE, 8),
        () => runtime.copy(address, address, 2 ** 20),
        () => runtime.copy(address, address, -1),
      ],
      NOT_INITIALIZED: [() => ended.runtime.copy(ended.address, ended.address, 8)],
    },
    'hsa_amd_memory_async_copy, hsa_amd_memory_async_copy_on_engine': {
      ...signalErrors(world, (objects, completionSignal) => objects.runtime.copyAsync({ ...copy, completionSignal })),
      INVALID_ARGUMENT: [
        { source: NOWHERE },
        { destination: NOWHERE },
        { sizeBytes: -1 },
        { sizeBytes: 2 ** 20 },
        { engine: 2 },
      ].map((wrong) => () => runtime.copyAsync({ ...copy, ...wrong })),
      INVALID_AGENT: [NULL, other.agent].flatMap((each) => [
        () => runtime.copyAsync({ ...copy, sourceAgent: each }),
        () => runtime.copyAsync({ ...copy, destinationAgent: each }),
      ]),
    },
    'dependencies of copies': signalErrors(world, (objects, signal) =>
      objects.runtime.copyAsync({ ...copy, dependencies: [signal] }),
    ),
    hsa_amd_memory_async_copy_rect: {
      ...signalErrors(world, (objects, completionSignal) =>
        objects.runtime.copyRectAsync({
          ...{
            destination: { ...rectangle, address: objects.address },
            source: { ...rectangle, address: objects.address },
          },
          ...{ range: [4, 2, 1], completionSignal },
        }),
      ),
      INVALID_ARGUMENT: [
        { source: { ...rectangle, address: NOWHERE } },
        { destination: { ...rectangle, pitchBytes: 3 } },
        { range: [4, 2, 2] as const },
        { range: [4, -1, 1] as const },
      ].map(
        (wrong) => () =>
          runtime.copyRectAsync({ destination: rectangle, source: rectangle, range: [4, 2, 1], ...wrong }),
      ),
    },
    hsa_amd_memory_copy_engine_status: {
      ...agentErrors(world, (objects, each) => objects.runtime.copyEngineStatus(each, objects.cpu)),
      INVALID_AGENT: [NULL, other.agent, own.cpu].map((each) => () => runtime.copyEngineStatus(own.cpu, each)),
    },
    hsa_amd_profiling_async_copy_enable: {
      NOT_INITIALIZED: [
        () => {
          ended.runtime.copiesAreTimed = true;
        },
      ],
    },
    'hsa_amd_agent_iterate_memory_pools, hsa_agent_iterate_regions': {
      INVALID_MEMORY_POOL: [() => agent.pool('kernarg')],
      INVALID_AGENT: [() => own.cpu.pool('fine-grained', own.cpu)],
    },
  };
}

export function sharingFunctions(world: World): Record<string, Refusals> {
  const { own, gone, other, ended } = world;
  const handle = own.ipc.createMemoryHandle(own.address, 64);
  const signalHandle = own.ipc.createSignalHandle(own.sharedSignal);
  const forged = handle.map((byte, i) => (i === 31 ? byte ^ 1 : byte));
  const foreign = other.ipc.createMemoryHandle(other.address, 64);
  const wrongHandles = [NULL, forged, foreign, new Uint8Array(32), handle.subarray(1), new Uint8Array(0)];
  return {
    hsa_amd_ipc_memory_create: {
      INVALID_ARGUMENT: [
        ...[0, 63, 65, 8192].map((size) => () => own.ipc.createMemoryHandle(own.address, size)),
        ...[0n, NOWHERE, own.address + 8n, gone.address, own.queue.address].map(
          (wrong) => () => own.ipc.createMemoryHandle(wrong, 64),
        ),
      ],
      NOT_INITIALIZED: [() => ended.ipc.createMemoryHandle(ended.address, 64)],
    },
    hsa_amd_ipc_memory_attach: {
      ...agentErrors(world, (objects, agent) => objects.ipc.attachMemory(handle, 64, [agent])),
      INVALID_ARGUMENT: [
        ...[...wrongHandles, signalHandle].map((wrong) => () => own.ipc.attachMemory(wrong, 64)),
        ...[0, 63, 8192].map((size) => () => own.ipc.attachMemory(handle, size)),
      ],
    },
    hsa_amd_ipc_memory_detach: {
      INVALID_ARGUMENT: [0n, own.address, NOWHERE].map((wrong) => () => own.ipc.detachMemory(wrong)),
      NOT_INITIALIZED: [() => ended.ipc.detachMemory(ended.address)],
    },
    hsa_amd_ipc_signal_create: {
      ...signalErrors(world, ({ ipc }, signal) => ipc.createSignalHandle(signal)),
      INVALID_ARGUMENT: [() => own.ipc.createSignalHandle(own.signal)],
    },
    hsa_amd_ipc_signal_attach: {
      INVALID_ARGUMENT: [...wrongHandles, handle].map((wrong) => () => own.ipc.attachSignal(wrong)),
      NOT_INITIALIZED: [() => ended.ipc.attachSignal(signalHandle)],
    },
  };
}
