/**
 * Rates of the decoder and of the listing: instructions decoded and printed per second of thread CPU time,
 * and `objdump -d` of a large code object next to llvm-objdump-19, where that is installed (CPU time of the
 * processes). `node bench/decode.ts` prints them. The object is made of the code of the examples, over and
 * over.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, globSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { median, timed } from '../src/bench/sampling.ts';
import { parseElf } from '../src/elf/elf.ts';
import { decoderFor } from '../src/isa/amdgpu/decoder.ts';
import { formatInstruction } from '../src/isa/amdgpu/text/disassemble.ts';

const OBJECT_BYTES = 10 * 2 ** 20;
const PROCESSOR = 'gfx90a';

/** The .text sections of the example programs, one after the other. */
function exampleCode(): Uint8Array {
  const sections = globSync(`examples/**/*.${PROCESSOR}.co`)
    .sort()
    .map((file) => {
      const elf = parseElf(new Uint8Array(readFileSync(file)), file);
      return elf.sectionBytes(elf.sectionNamed('.text')!);
    });
  return new Uint8Array(Buffer.concat(sections));
}

export interface DecodeRates {
  /** Instructions per second of thread CPU time. */
  readonly decode: number;
  readonly decodeAndFormat: number;
}

export function measureDecode(samples: number): DecodeRates {
  const code = exampleCode();
  const view = new DataView(code.buffer, code.byteOffset, code.byteLength);
  const decoder = decoderFor(PROCESSOR, 64);
  let characters = 0;
  const pass = (format: boolean): number => {
    let count = 0;
    for (let at = 0; at < code.length; count++) {
      const instruction = decoder.decode(view, at);
      if (typeof instruction !== 'object') at += 4;
      else {
        if (format) characters += formatInstruction(instruction).length;
        at += instruction.sizeBytes;
      }
    }
    return count;
  };
  const rate = (format: boolean): number => {
    for (let i = 0; i < 5; i++) pass(format);
    const rates = Array.from({ length: samples }, () => {
      let count = 0;
      const { cpuMs } = timed(() => {
        for (let i = 0; i < 5; i++) count += pass(format);
      });
      return (count / cpuMs) * 1000;
    });
    return median(rates);
  };
  const result = { decode: rate(false), decodeAndFormat: rate(true) };
  if (characters === 0) throw new Error('nothing was printed');
  return result;
}

export interface ListingTimes {
  readonly objectBytes: number;
  readonly listingBytes: number;
  /** User and system time of the process. */
  readonly seconds: number;
  readonly maxRssBytes: number;
  readonly llvmSeconds: number;
}

/** Undefined without LLVM. */
export function measureListing(): ListingTimes | undefined {
  const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-bench-'));
  try {
    const [source, object] = [path.join(folder, 'big.s'), path.join(folder, 'big.o')];
    const code = exampleCode();
    const words = new Uint32Array(code.buffer, code.byteOffset, code.length / 4);
    const block = `\t.long ${[...words].map((word) => `0x${word.toString(16)}`).join(',')}\n`;
    const repeated = Array.from(
      { length: Math.ceil(OBJECT_BYTES / code.length) },
      (_, i) => `\t.type f${i},@function\nf${i}:\n${block}`,
    );
    writeFileSync(source, `\t.text\n${repeated.join('')}`);
    const target = ['-triple=amdgcn-amd-amdhsa', `-mcpu=${PROCESSOR}`, '-filetype=obj'];
    if (spawnSync('llvm-mc-19', [...target, source, '-o', object]).status !== 0) return undefined;
    const list = (command: string, argv: readonly string[], name: string) => {
      const output = path.join(folder, name);
      const file = openSync(output, 'w');
      const { stderr } = spawnSync('/usr/bin/env', ['time', '-f', '%U %S %M', command, ...argv], {
        stdio: ['ignore', file, 'pipe'],
        encoding: 'utf8',
      });
      closeSync(file);
      const [user, system, kib] = stderr.trim().split('\n').at(-1)!.split(' ').map(Number) as [number, number, number];
      return { output, seconds: user + system, maxRssBytes: kib * 1024 };
    };
    const llvm = list('llvm-objdump-19', ['-d', object], 'llvm.txt');
    const own = list(process.execPath, ['bin/wavewright.js', 'objdump', '-d', object], 'own.txt');
    const same = Buffer.compare(readFileSync(llvm.output), readFileSync(own.output)) === 0;
    if (!same) throw new Error('the listings differ');
    return {
      objectBytes: statSync(object).size,
      listingBytes: statSync(own.output).size,
      seconds: own.seconds,
      maxRssBytes: own.maxRssBytes,
      llvmSeconds: llvm.seconds,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Both measurements as lines of text. */
export function decodeReport({ decode, decodeAndFormat }: DecodeRates, listing: ListingTimes | undefined): string {
  const mega = (value: number): string => (value / 1e6).toFixed(2);
  const rates = `decode: ${mega(decode)} M instructions/s; with text ${mega(decodeAndFormat)} M/s\n`;
  if (!listing) return `${rates}objdump -d: no llvm-mc-19 to make a large object\n`;
  const { objectBytes, seconds, llvmSeconds, maxRssBytes } = listing;
  return `${rates}objdump -d of ${mega(objectBytes)} MB: ${seconds.toFixed(1)} s and ${mega(maxRssBytes)} MB of memory, llvm-objdump-19 ${llvmSeconds.toFixed(1)} s\n`;
}

if (import.meta.main) process.stdout.write(decodeReport(measureDecode(5), measureListing()));
