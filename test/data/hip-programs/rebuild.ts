// Rebuilds the HIP programs: `node rebuild.ts` compares them with MANIFEST.json, `node rebuild.ts --write`
// replaces both. Debian 12's hipcc has to be there, and takes minutes.
import { Prebuilt, type Recipe } from '../prebuilt.ts';

const FLAGS = '--offload-arch=gfx90a -std=c++17 -O1 -Wno-unused-result';

/** Without the variable hipcc takes NVIDIA's compiler where there is one. */
const recipe = (name: string): Recipe => [name, [`${name}.hip`], `HIP_PLATFORM=amd hipcc ${FLAGS} ${name}.hip -o ${name}`];

export const hipPrograms = new Prebuilt(import.meta.dirname, [recipe('vadd'), recipe('features'), recipe('peers')], ['hipcc']);

if (import.meta.main) hipPrograms.main();
