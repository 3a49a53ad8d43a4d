/**
 * Files to be linked with each other: all code of a file, but of an archive the members that define what is
 * missing, as lld takes them.
 */

import {
  bitcodeError,
  type CodeObjectImage,
  type ContainerOptions,
  isBitcode,
  openCodeObjects,
  pickCodeObjects,
} from '../codeobject/container.ts';
import { explainIncompatibility, type TargetId } from '../codeobject/target-id.ts';
import { ET_REL, STB_LOCAL, STB_WEAK, STV_DEFAULT, STV_PROTECTED } from '../elf/constants.ts';
import { parseElf } from '../elf/elf.ts';
import { isDefined } from '../elf/symbols.ts';
import { type ArchiveMember, isArchive, readArchive } from './archive.ts';

/** What is loaded of a file. */
export interface LinkImage extends CodeObjectImage {
  /** The file has code in several bundles, which were compiled apart: each has its own definitions. */
  readonly isModule: boolean;
}

/** A member of an archive; bitcode is known by the archive's index alone. */
interface LazyMember extends ArchiveMember {
  readonly images: readonly CodeObjectImage[];
}

export interface LinkFile {
  readonly name: string;
  readonly images: readonly CodeObjectImage[];
  /** Of an archive. */
  readonly members: readonly LazyMember[];
}

/** Errors: as `openCodeObjects` and `readArchive`. */
export function openLinkFile(bytes: Uint8Array, name: string, options: ContainerOptions = {}): LinkFile {
  if (!isArchive(bytes)) return { name, images: openCodeObjects(bytes, name, options), members: [] };
  const members = readArchive(bytes, name).map((member) => {
    const memberName = `${name}(${member.name})`;
    const images = isBitcode(member.bytes) ? [] : openCodeObjects(member.bytes, memberName, options);
    return { ...member, name: memberName, images };
  });
  return { name, images: [], members };
}

/** All code of the files, for choosing a device. */
export const imagesOf = ({ images, members }: LinkFile): readonly CodeObjectImage[] =>
  members.length === 0 ? images : members.flatMap((member) => member.images);

/** Names that a file defines for others and that it lacks. */
interface Names {
  readonly defined: readonly string[];
  readonly missing: readonly string[];
}

function namesOf({ bytes, name }: CodeObjectImage): Names {
  const elf = parseElf(bytes, name);
  const isObject = elf.header.type === ET_REL;
  const symbols = (isObject ? elf.symbols : elf.dynamicSymbols).filter(
    ({ index, binding, visibility }) =>
      index > 0 && binding !== STB_LOCAL && (isObject || visibility === STV_DEFAULT || visibility === STV_PROTECTED),
  );
  return {
    defined: symbols.filter(isDefined).map((symbol) => symbol.name),
    missing: symbols.filter((symbol) => !isDefined(symbol) && symbol.binding !== STB_WEAK).map((symbol) => symbol.name),
  };
}

/**
 * Goes through files in their order, as lld does: what is taken of an archive stands where it was first
 * missed.
 */
class Selection {
  readonly picked: LinkImage[] = [];
  readonly #agent: TargetId;
  readonly #defined = new Set<string>();
  readonly #missing: Set<string>;
  readonly #lazy = new Map<string, LazyMember>();
  readonly #taken = new Set<LazyMember>();

  constructor(agent: TargetId, wanted: readonly string[]) {
    this.#agent = agent;
    this.#missing = new Set(wanted);
  }

  addFile({ images, members }: LinkFile): void {
    const picked = pickCodeObjects(images, this.#agent);
    for (const image of picked) this.#find(this.#add([image], picked.length > 1));
    for (const member of members) {
      const names = isBitcode(member.bytes)
        ? member.indexedSymbols
        : this.#imagesOf(member).flatMap((image) => namesOf(image).defined);
      for (const name of names) if (!this.#lazy.has(name)) this.#lazy.set(name, member);
      this.#find(names.filter((name) => this.#missing.has(name)));
    }
  }

  /** Of a member for other targets none. */
  #imagesOf({ images }: LazyMember): CodeObjectImage[] {
    const fitting = images.filter(({ target }) => explainIncompatibility(target, this.#agent) === undefined);
    return pickCodeObjects(fitting, this.#agent);
  }

  /** Takes the members that define the names, and those that these lack. */
  #find(names: readonly string[]): void {
    const stack = names.toReversed();
    for (let name = stack.pop(); name !== undefined; name = stack.pop()) {
      if (this.#defined.has(name)) continue;
      const member = this.#lazy.get(name);
      if (!member) this.#missing.add(name);
      else if (isBitcode(member.bytes)) throw bitcodeError(member.name);
      else if (!this.#taken.has(member)) {
        this.#taken.add(member);
        const images = this.#imagesOf(member);
        stack.push(...this.#add(images, images.length > 1).toReversed());
      }
    }
  }

  /** Returns the names that the images lack. */
  #add(images: readonly CodeObjectImage[], isModule: boolean): string[] {
    return images.flatMap((image) => {
      this.picked.push({ ...image, isModule });
      const { defined, missing } = namesOf(image);
      for (const name of defined) {
        this.#defined.add(name);
        this.#missing.delete(name);
      }
      return missing;
    });
  }
}

/**
 * What is linked on `agent`; `wanted` names what is looked for besides what the files lack, such as a kernel.
 * Errors: `UNSUPPORTED` for a file without code for it, `BAD_INPUT` for bitcode that is needed.
 */
export function pickLinkImages(
  files: readonly LinkFile[],
  agent: TargetId,
  wanted: readonly string[] = [],
): LinkImage[] {
  const selection = new Selection(agent, wanted);
  for (const file of files) selection.addFile(file);
  return selection.picked;
}
