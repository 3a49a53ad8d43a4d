/** The suite's kernels as functions of the host; test/data/hal has them for GPUs. */
import { type LocalModule, type LocalWorkgroup, localModule } from '../local/index.ts';

type Size = readonly [number, number, number];
const ONE: Size = [1, 1, 1];
const FOUR: Size = [4, 1, 1];

/** A body for each work-item of x. */
const each =
  (run: (item: number, workgroup: LocalWorkgroup) => void) =>
  (workgroup: LocalWorkgroup): void => {
    for (let item = 0; item < workgroup.size[0]; item++) run(item, workgroup);
  };

export const conformanceModule = (): LocalModule =>
  localModule({
    absolute: {
      bindingCount: 2,
      workgroupSize: ONE,
      run: ({ id, bindings: [input, output] }) => {
        output!.f32[id[0]] = Math.abs(input!.f32[id[0]]!);
      },
    },
    write_constants: {
      bindingCount: 1,
      constantCount: 4,
      workgroupSize: ONE,
      run: ({ constants, bindings: [output] }) => output!.u32.set(constants),
    },
    scale_and_offset: {
      bindingCount: 2,
      constantCount: 2,
      workgroupSize: FOUR,
      run: each((i, { constants, bindings: [input, output] }) => {
        output!.i32[i] = Math.imul(input!.i32[i]!, constants[0]!) + constants[1]!;
      }),
    },
    write_workgroup_ids: {
      bindingCount: 1,
      workgroupSize: ONE,
      run: ({ id, bindings: [output] }) => {
        output!.u32[id[0]] = id[0];
      },
    },
    negate: {
      bindingCount: 2,
      workgroupSize: FOUR,
      run: each((i, { bindings: [input, output] }) => {
        output!.f32[i] = -input!.f32[i]!;
      }),
    },
    double_it: {
      bindingCount: 2,
      workgroupSize: FOUR,
      run: each((i, { bindings: [input, output] }) => {
        output!.f32[i] = 2 * input!.f32[i]!;
      }),
    },
    write_dispatch_params: {
      bindingCount: 1,
      constantCount: 3,
      workgroupSize: ONE,
      run: ({ constants, bindings: [params] }) => params!.u32.set(constants),
    },
    count_workgroups: {
      bindingCount: 1,
      workgroupSize: ONE,
      run: ({ bindings: [output] }) => {
        output!.u32[0]!++;
      },
    },
    export0: {
      bindingCount: 2,
      constantCount: 2,
      run: each((i, { constants, bindings: [input, output] }) => {
        output!.i32[i] = input!.i32[i]! + (constants[0]! ^ constants[1]!);
      }),
    },
    mix: {
      bindingCount: 2,
      constantCount: 2,
      run: each((item, { id, size, constants, bindings: [input, output] }) => {
        const i = id[0] * size[0] + item;
        const old = output!.u32[i] ?? 0;
        if (i < constants[1]!) output!.u32[i] = Math.imul(input!.u32[i]!, constants[0]!) + (old ^ (old >>> 7));
      }),
    },
  });
