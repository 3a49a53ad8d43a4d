/** What `build-examples.ts` builds and runs: one entry per code object, one per run with a known result. */

export interface Image {
  /** Path from the repository root, like every other path here. */
  readonly output: string;
  readonly sources: readonly string[];
  /** Files that the sources include. */
  readonly headers: readonly string[];
  /** The build, to be run at the repository root. */
  readonly command: readonly string[];
}

export interface Case {
  readonly name: string;
  readonly image: string;
  /** Arguments of the program; `$OUT` stands for an empty folder. */
  readonly args: readonly string[];
  readonly loaderFlags: readonly string[];
  /** Additions to the environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** `lines`: the lines of stdout and stderr may come in any order. Default `exact`. */
  readonly outputOrder?: 'exact' | 'lines';
  /** For runs that have no counterpart on the host; their stderr is the loader's own report. */
  readonly known?: { readonly stdout: string; readonly status: number };
}

/** For the processor in the name of the output. */
const clang = (output: string): string[] => [
  'clang-19',
  '--target=amdgcn-amd-amdhsa',
  `-mcpu=${/\.(gfx\w+)\.co$/.exec(output)![1]}`,
];
const COMMON = ['-O2', '-nogpulib', '-ffp-contract=off', '-Wall', '-Wextra'];

const RUNTIME = ['crt', 'stdio', 'stdlib', 'string'].map((name) => `examples/device/${name}.c`);
const RUNTIME_HEADERS = [
  'gpu.h',
  'rpc.h',
  'runtime.h',
  'wave.h',
  'include/stdio.h',
  'include/stdlib.h',
  'include/string.h',
].map((name) => `examples/device/${name}`);

/**
 * A C program with the device runtime, compiled and linked in one go (link-time optimisation makes it one
 * module).
 */
function program(output: string, source: string, generation = 20, codeObjectVersion = 5): Image {
  const sources = [source, ...RUNTIME];
  const command = [
    ...clang(output),
    `-mcode-object-version=${codeObjectVersion}`,
    '-std=c17',
    ...COMMON,
    '-flto',
    '-ffreestanding',
    '-nostdlibinc',
    '-isystem',
    'examples/device/include',
    '-Iexamples/device',
    ...(generation === 20 ? [] : [`-DRPC_GENERATION=${generation}`]),
    '-Wl,-mllvm,-amdgpu-lower-global-ctor-dtor=0',
    '-o',
    output,
    ...sources,
  ];
  return { output, sources, headers: RUNTIME_HEADERS, command };
}

/** A toolkit of CUDA that clang finds would choose the version of PTX. */
const CLANG_PTX = [
  ...['clang-19', '--target=nvptx64-nvidia-cuda', '-march=sm_70', '--cuda-path=/nonexistent'],
  ...['-Xclang', '-target-feature', '-Xclang', '+ptx63'],
];

/** The same as PTX, in one text: what the program includes takes the place of a linker. */
function ptxProgram(name: string): Image {
  const output = `examples/${name}/${name}.sm_70.ptx`;
  const source = `examples/${name}/${name}.c`;
  const command = [
    ...CLANG_PTX,
    '-std=c17',
    ...COMMON,
    '-ffreestanding',
    '-nostdlibinc',
    '-isystem',
    'examples/device/include',
    '-Iexamples/device',
    '-include',
    'examples/device/whole.c',
    '-S',
    '-o',
    output,
    source,
  ];
  return { output, sources: [source], headers: ['examples/device/whole.c', ...RUNTIME, ...RUNTIME_HEADERS], command };
}

function kernel(name: string, processor: string, optimisation: 'O2' | 'O0' = 'O2'): Image {
  const isPtx = processor.startsWith('sm_');
  const output = `examples/kernels/${name}${optimisation === 'O0' ? '-o0' : ''}.${processor}.${isPtx ? 'ptx' : 'co'}`;
  const sources = [`examples/kernels/${name}.cl`];
  const command = [
    ...(isPtx ? [...CLANG_PTX, '-S'] : [...clang(output), '-mcode-object-version=5']),
    '-x',
    'cl',
    '-cl-std=CL2.0',
    '-cl-fp32-correctly-rounded-divide-sqrt',
    ...COMMON.map((flag) => (flag === '-O2' ? `-${optimisation}` : flag)),
    '-o',
    output,
    ...sources,
  ];
  return { output, sources, headers: ['examples/kernels/gpu.clh'], command };
}

const DEVICE_VERSION = 'examples/applications/device-version.h';
/** Folder of the bitcode of AMD's device libraries, of Debian's package rocm-device-libs. */
const DEVICE_LIBRARIES = '/usr/lib/x86_64-linux-gnu/amdgcn/bitcode';
/**
 * Debian's libraries do not know all targets: these numbers, of major, minor version and stepping, tell them.
 */
const APPLICATION_TARGETS = { gfx90a: { version: 9010, waves: 'on' }, gfx1100: { version: 11000, waves: 'off' } };

/** Kernels as an application's host would have them compiled, functions and all. */
function application(name: string, processor: keyof typeof APPLICATION_TARGETS): Image {
  const output = `examples/applications/${name}.${processor}.co`;
  const sources = [`examples/applications/${name}.cl`];
  const { version, waves } = APPLICATION_TARGETS[processor];
  const switches = [
    'abi_version_500',
    'correctly_rounded_sqrt_off',
    'daz_opt_off',
    'finite_only_off',
    'unsafe_math_off',
  ];
  const libraries = [
    'opencl',
    'ocml',
    'ockl',
    ...[...switches, `wavefrontsize64_${waves}`].map((each) => `oclc_${each}`),
  ];
  const command = [
    ...clang(output),
    ...['-mcode-object-version=5', '-x', 'cl', '-cl-std=CL2.0', '-O3', '-nogpulib', '-Wall', '-Wextra'],
    ...[`-DDEVICE_VERSION=${version}`, '-include', DEVICE_VERSION],
    ...libraries.flatMap((file) => ['-Xclang', '-mlink-builtin-bitcode', '-Xclang', `${DEVICE_LIBRARIES}/${file}.bc`]),
    ...['-o', output],
    ...sources,
  ];
  return { output, sources, headers: [DEVICE_VERSION], command };
}

/** Code objects that are linked with each other when they are loaded; `kind` o is a relocatable one. */
function part(name: string, processor: string, kind: 'co' | 'o' = 'co'): Image {
  const isKernel = name === 'apply';
  const output = `examples/link/${name}.${processor}.${kind}`;
  const sources = [`examples/link/${name}.${isKernel ? 'cl' : 'c'}`];
  const command = [
    'clang-19',
    '--target=amdgcn-amd-amdhsa',
    `-mcpu=${processor}`,
    '-mcode-object-version=5',
    ...(isKernel ? ['-x', 'cl', '-cl-std=CL2.0'] : ['-std=c17']),
    ...COMMON,
    '-fvisibility=default',
    kind === 'o' ? '-c' : '-Wl,-z,undefs',
    '-o',
    output,
    ...sources,
  ];
  return { output, sources, headers: isKernel ? ['examples/kernels/gpu.clh'] : [], command };
}

const PROGRAMS = ['hello', 'sieve', 'quicksort', 'sha256', 'mandelbrot', 'reduction'];
const CHECKS = [
  'abort',
  'arguments',
  'constructors',
  'divergence',
  'exit-early',
  'infinite-loop',
  'line-numbers',
  'null-dereference',
  'storm',
];
/** Those that are built for other processors, too. */
const FURTHER: Readonly<Record<string, readonly string[]>> = {
  gfx942: ['hello/hello', 'sha256/sha256', 'checks/divergence'],
  gfx1100: ['hello/hello', 'sha256/sha256', 'quicksort/quicksort', 'reduction/reduction', 'checks/divergence'],
};
const KERNELS = [
  'bitonic',
  'collatz',
  'fma8',
  'gather',
  'histogram',
  'ihash',
  'mandelbrot',
  'matmul16',
  'matmul4x4',
  'nbody',
  'reduction',
  'saxpy',
  'sha256',
  'stencil',
  'vadd',
];

const APPLICATIONS = [
  'bfs',
  'bitonicsort',
  'blackscholes',
  'chemistry',
  'correlation',
  'diffusion',
  'fft',
  'gaussian',
  'histogram256',
  'hotspot',
  'kmeans',
  'lavamd',
  'lud',
  'matvec',
  'md',
  'nw',
  'radixsort',
  'scan',
  'spmv',
  'stencil3d',
];

/** Those with instructions that the other generations lack. */
const MATRIX_KERNELS: Readonly<Record<string, readonly string[]>> = {
  ...{ gfx90a: ['mfma16'], gfx942: ['mfma16'], gfx1100: ['wmma16'], sm_70: [] },
};

export const IMAGES: readonly Image[] = [
  ...PROGRAMS.map((name) => program(`examples/${name}/${name}.gfx90a.co`, `examples/${name}/${name}.c`)),
  program('examples/hello/hello-p19.gfx90a.co', 'examples/hello/hello.c', 19),
  program('examples/hello/hello-p22.gfx90a.co', 'examples/hello/hello.c', 22, 6),
  ...CHECKS.map((name) => program(`examples/checks/${name}.gfx90a.co`, `examples/checks/${name}.c`)),
  ...Object.entries(FURTHER).flatMap(([processor, paths]) =>
    paths.map((path) => program(`examples/${path}.${processor}.co`, `examples/${path}.c`)),
  ),
  ...['hello', 'sieve', 'sha256'].map(ptxProgram),
  ...['gfx90a', 'gfx1100'].flatMap((processor) => [part('apply', processor), part('filters', processor)]),
  part('filters', 'gfx90a', 'o'),
  ...APPLICATIONS.flatMap((name) => [application(name, 'gfx90a'), application(name, 'gfx1100')]),
  ...Object.entries(MATRIX_KERNELS).flatMap(([processor, matrixKernels]) => [
    ...[...KERNELS, ...matrixKernels].map((name) => kernel(name, processor)),
    kernel('mandelbrot', processor, 'O0'),
  ]),
];

function run(name: string, path: string, args: string[], flags = '', more: Partial<Case> = {}): Case {
  const loaderFlags = flags === '' ? [] : flags.split(' ');
  return { name, image: `examples/${path}.gfx90a.co`, args, loaderFlags, ...more };
}

const on = (processor: string, { name, image, ...rest }: Case): Case => ({
  ...{ name: `${name}, ${processor}`, image: image.replace('.gfx90a.', `.${processor}.`) },
  ...rest,
});

const SHA256_FILES = ['examples/sha256/input.txt', 'examples/sha256/abc.txt'];

export const CASES: readonly Case[] = [
  run('hello', 'hello/hello', ['world']),
  run('hello, no argument', 'hello/hello', []),
  run('hello, 4 lanes', 'hello/hello', ['lanes', 'and more'], '--threads-x 4'),
  run(
    'hello, 2 x 2 blocks of 3 x 2 lanes',
    'hello/hello',
    ['grid'],
    '--blocks-x=2 --blocks-z=2 --threads-x=3 --threads-y=2',
    {
      outputOrder: 'lines',
    },
  ),
  run('hello, 2 waves', 'hello/hello', ['waves'], '--threads-x 70', { outputOrder: 'lines' }),
  run('hello, generation P19', 'hello/hello-p19', ['P19'], '--threads 5'),
  run('hello, _end without argument', 'hello/hello-p22', ['P22'], '--threads 5'),
  run('sieve', 'sieve/sieve', []),
  run('sieve to 2', 'sieve/sieve', ['2']),
  run('sieve, bad limit', 'sieve/sieve', ['1']),
  run('quicksort', 'quicksort/quicksort', []),
  run('quicksort, descending', 'quicksort/quicksort', ['257', 'down']),
  run('quicksort, bad order', 'quicksort/quicksort', ['10', 'sideways']),
  run('sha256', 'sha256/sha256', SHA256_FILES.slice(0, 1)),
  run('sha256, one file per lane', 'sha256/sha256', [...SHA256_FILES, '/dev/null'], '--threads 4', {
    outputOrder: 'lines',
  }),
  run('sha256, missing file', 'sha256/sha256', ['$OUT/missing']),
  run('mandelbrot, 1 lane', 'mandelbrot/mandelbrot', ['$OUT/mandelbrot.ppm', '20', '10', '30']),
  run(
    'mandelbrot, 4 x 3 blocks of 16 x 8',
    'mandelbrot/mandelbrot',
    ['$OUT/mandelbrot.ppm'],
    '--blocks-x 4 --blocks-y 3 --threads-x 16 --threads-y 8',
  ),
  run('reduction, 1 lane', 'reduction/reduction', ['1000']),
  run('reduction, 4 blocks of 256', 'reduction/reduction', [], '--blocks 4 --threads 256'),
  run('reduction, 3 blocks of 100', 'reduction/reduction', ['12345'], '--blocks-x 3 --threads-x 20 --threads-y 5'),
  run('reduction, 2 blocks of 1024', 'reduction/reduction', ['100000'], '--blocks-x 2 --threads-x 1024'),
  run('abort', 'checks/abort', []),
  run('arguments', 'checks/arguments', ['1', '', 'two words', '--threads-x=3'], '', { env: { FRANCE: 'Paris' } }),
  run('constructors', 'checks/constructors', []),
  run('divergence, 1 lane', 'checks/divergence', []),
  run('divergence, 64 lanes', 'checks/divergence', [], '--threads 64', { outputOrder: 'lines' }),
  run('divergence, 3 blocks of 23', 'checks/divergence', [], '--blocks 3 --threads 23', { outputOrder: 'lines' }),
  run('exit-early', 'checks/exit-early', []),
  run('exit-early, 64 lanes', 'checks/exit-early', ['250'], '--threads 64'),
  run('line-numbers', 'checks/line-numbers', [], '', {
    stdin: `first line\n\n${'a long line '.repeat(20)}\nlast line without an end`,
  }),
  run('storm', 'checks/storm', ['3'], '--blocks 5 --threads 70'),
  ...['gfx942', 'gfx1100'].flatMap((processor) =>
    [
      run('hello, 2 waves', 'hello/hello', ['waves'], '--threads-x 70', { outputOrder: 'lines' }),
      run('sha256, one file per lane', 'sha256/sha256', [...SHA256_FILES, '/dev/null'], '--threads 4', {
        outputOrder: 'lines',
      }),
      run('divergence, 3 blocks of 23', 'checks/divergence', [], '--blocks 3 --threads 23', { outputOrder: 'lines' }),
    ].map((test) => on(processor, test)),
  ),
  ...[
    run('hello', 'hello/hello', ['world']),
    run('quicksort, descending', 'quicksort/quicksort', ['257', 'down']),
    run('reduction, 3 blocks of 100', 'reduction/reduction', ['12345'], '--blocks-x 3 --threads-x 20 --threads-y 5'),
    run('divergence, 64 lanes', 'checks/divergence', [], '--threads 64', { outputOrder: 'lines' }),
  ].map((test) => on('gfx1100', test)),
  run('infinite-loop', 'checks/infinite-loop', [], '--timeout 1', { known: { stdout: '', status: 124 } }),
  run('null-dereference', 'checks/null-dereference', [], '--threads 5', {
    known: { stdout: 'before the fault\n', status: 6 },
  }),
];
