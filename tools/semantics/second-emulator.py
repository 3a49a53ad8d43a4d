"""Runs states (record.ts --jobs) on tinygrad's emulator, which executes AMD's pseudocode; prints them with `after`.

    node tools/semantics/record.ts --jobs=cdna | PYTHONPATH=TINYGRAD python3 tools/semantics/second-emulator.py cdna > FILE

TINYGRAD is a checkout of github.com/tinygrad/tinygrad; it compiles with the clang on the path.
"""
import ctypes
import json
import os
import sys

os.environ['CPU'] = '1'
from test.mockgpu.amd import emu  # noqa: E402
from tinygrad.device import Buffer, BufferSpec  # noqa: E402
from tinygrad.dtype import dtypes  # noqa: E402

arch = sys.argv[1]
lanes = 64 if arch == 'cdna' else 32
M0 = 124 if arch == 'cdna' else 125
LDS = Buffer('CPU', 16384, dtypes.uint32).ensure_allocated()
SCRATCH = Buffer('CPU', 65536, dtypes.uint8).ensure_allocated()
MEMORY = Buffer('CPU', 1 << 40, dtypes.uint32, options=BufferSpec(external_ptr=0)).ensure_allocated()
state = emu.WaveState(lanes, lanes)


def dwords(text):
    return [int(text[i:i + 8], 16) for i in range(0, len(text), 8)]


def index(name):
    return {'scc': emu.SCC.offset, 'm0': M0}[name] if name in ('scc', 'm0') else int(name[1:])


def reset():
    for i in range(128):
        state._sgpr_mv[i] = 0
    ctypes.memset(state.vgpr_buf._buf.va_addr, 0, 256 * lanes * 4)


def put(name, values, column):
    if name[0] == 'v':
        for lane, value in enumerate(values):
            state._vgpr_mv[int(name[1:]) * lanes + lane] = value
    elif name == 'exec':
        state._sgpr_mv[126], state._sgpr_mv[127] = values
    else:
        state._sgpr_mv[index(name)] = values[min(column, len(values) - 1)]


def take(name, count):
    if name[0] == 'v':
        first = int(name[1:]) * lanes
        return list(state._vgpr_mv[first:first + count])
    if name == 'exec':
        return [state._sgpr_mv[126], state._sgpr_mv[127]]
    return [state._sgpr_mv[index(name)] & (1 if name == 'scc' else 0xffffffff)]


def run(job):
    code = bytes.fromhex(job['code'])
    buffer = ctypes.create_string_buffer(code + b'\0' * 16)
    program, runtime = emu._get_runner(code + b'\0' * 4, arch)
    registers = {name: dwords(text) for name, text in job['before']['registers'].items()}
    waves = job['columns'] == 'waves'
    count = max(len(values) for name, values in registers.items() if name != 'exec')
    results = {}
    for column in range(count if waves else 1):
        reset()
        for name, values in registers.items():
            put(name, values, column)
        state.pc = ctypes.addressof(buffer)
        buffers = (state.sgpr_buf, state.vgpr_buf, MEMORY, LDS, SCRATCH, state.accvgpr_buf)
        addresses = [ctypes.c_uint64(each._buf.va_addr) for each in buffers]
        runtime.fxn(*[addresses[i] for i in program.arg.globals])
        for name in job['destinations']:
            results.setdefault(name, []).extend(take(name, count))
    changes_exec = waves and any(values[:2] != values[-2:] for name, values in results.items() if name == 'exec')
    if waves and not changes_exec:
        results['exec'] = results.get('exec', [])[:2]
    return {name: ''.join('%08x' % value for value in values) for name, values in results.items()}


for line in sys.stdin:
    job = json.loads(line)
    try:
        job['after'] = {'registers': run(job)}
    except Exception as error:
        job['error'] = f'{type(error).__name__}: {error}'[:300]
    print(json.dumps(job), flush=True)
