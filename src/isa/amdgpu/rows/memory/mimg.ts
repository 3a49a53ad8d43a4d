/**
 * MIMG: image accesses, known by name: images and samplers are not emulated. CDNA2 ISA 12.15; RDNA2 ISA
 * 12.16, RDNA3 ISA 15.8, table 106.
 */
import type { Row, RowFlags } from '../../encoding/row.ts';
import { alsoIn, row } from '../table/row.ts';

/** Opcodes on gfx9, gfx10 and gfx11; -1 where there is none. */
const IMAGES: readonly (readonly [name: string, gfx9: number, gfx10: number, gfx11: number])[] = [
  ['load', 0, 0, 0],
  ['load_mip', 1, 1, 1],
  ['load_pck', 2, 2, 2],
  ['load_pck_sgn', 3, 3, 3],
  ['load_mip_pck', 4, 4, 4],
  ['load_mip_pck_sgn', 5, 5, 5],
  ['store', 8, 8, 6],
  ['store_mip', 9, 9, 7],
  ['store_pck', 10, 10, 8],
  ['store_mip_pck', 11, 11, 9],
  ['get_resinfo', 14, 14, 23],
  ['atomic_swap', 16, 15, 10],
  ['atomic_cmpswap', 17, 16, 11],
  ['atomic_add', 18, 17, 12],
  ['atomic_sub', 19, 18, 13],
  ['atomic_smin', 20, 20, 14],
  ['atomic_umin', 21, 21, 15],
  ['atomic_smax', 22, 22, 16],
  ['atomic_umax', 23, 23, 17],
  ['atomic_and', 24, 24, 18],
  ['atomic_or', 25, 25, 19],
  ['atomic_xor', 26, 26, 20],
  ['atomic_inc', 27, 27, 21],
  ['atomic_dec', 28, 28, 22],
  ['sample', 32, 32, 27],
  ['sample_cl', 33, 33, 64],
  ['sample_d', 34, 34, 28],
  ['sample_d_cl', 35, 35, 65],
  ['sample_l', 36, 36, 29],
  ['sample_b', 37, 37, 30],
  ['sample_b_cl', 38, 38, 66],
  ['sample_lz', 39, 39, 31],
  ['sample_c', 40, 40, 32],
  ['sample_c_cl', 41, 41, 67],
  ['sample_c_d', 42, 42, 33],
  ['sample_c_d_cl', 43, 43, 68],
  ['sample_c_l', 44, 44, 34],
  ['sample_c_b', 45, 45, 35],
  ['sample_c_b_cl', 46, 46, 69],
  ['sample_c_lz', 47, 47, 36],
  ['sample_o', 48, 48, 37],
  ['sample_cl_o', 49, 49, 70],
  ['sample_d_o', 50, 50, 38],
  ['sample_d_cl_o', 51, 51, 71],
  ['sample_l_o', 52, 52, 39],
  ['sample_b_o', 53, 53, 40],
  ['sample_b_cl_o', 54, 54, 72],
  ['sample_lz_o', 55, 55, 41],
  ['sample_c_o', 56, 56, 42],
  ['sample_c_cl_o', 57, 57, 73],
  ['sample_c_d_o', 58, 58, 43],
  ['sample_c_d_cl_o', 59, 59, 74],
  ['sample_c_l_o', 60, 60, 44],
  ['sample_c_b_o', 61, 61, 45],
  ['sample_c_b_cl_o', 62, 62, 75],
  ['sample_c_lz_o', 63, 63, 46],
  ['gather4', 64, 64, 47],
  ['gather4_cl', 65, 65, 96],
  ['gather4h', 66, 97, 144],
  ['gather4_l', 68, 68, 48],
  ['gather4_b', 69, 69, 49],
  ['gather4_b_cl', 70, 70, 97],
  ['gather4_lz', 71, 71, 50],
  ['gather4_c', 72, 72, 51],
  ['gather4_c_cl', 73, 73, 98],
  ['gather4_c_l', 76, 76, 99],
  ['gather4_c_b', 77, 77, 100],
  ['gather4_c_b_cl', 78, 78, 101],
  ['gather4_c_lz', 79, 79, 52],
  ['gather4_o', 80, 80, 53],
  ['gather4_cl_o', 81, 81, -1],
  ['gather4_l_o', 84, 84, -1],
  ['gather4_b_o', 85, 85, -1],
  ['gather4_b_cl_o', 86, 86, -1],
  ['gather4_lz_o', 87, 87, 54],
  ['gather4_c_o', 88, 88, -1],
  ['gather4_c_cl_o', 89, 89, -1],
  ['gather4_c_l_o', 92, 92, -1],
  ['gather4_c_b_o', 93, 93, -1],
  ['gather4_c_b_cl_o', 94, 94, -1],
  ['gather4_c_lz_o', 95, 95, 55],
  ['get_lod', 96, 96, 56],
  ['sample_cd', 104, 104, -1],
  ['sample_cd_cl', 105, 105, -1],
  ['sample_c_cd', 106, 106, -1],
  ['sample_c_cd_cl', 107, 107, -1],
  ['sample_cd_o', 108, 108, -1],
  ['sample_cd_cl_o', 109, 109, -1],
  ['sample_c_cd_o', 110, 110, -1],
  ['sample_c_cd_cl_o', 111, 111, -1],
  ['atomic_fcmpswap', -1, 29, -1],
  ['atomic_fmin', -1, 30, -1],
  ['atomic_fmax', -1, 31, -1],
  ['msaa_load', -1, 128, 24],
  ['sample_d_g16', -1, 162, 57],
  ['sample_d_cl_g16', -1, 163, 95],
  ['sample_c_d_g16', -1, 170, 58],
  ['sample_c_d_cl_g16', -1, 171, 84],
  ['sample_d_o_g16', -1, 178, 59],
  ['sample_d_cl_o_g16', -1, 179, 85],
  ['sample_c_d_o_g16', -1, 186, 60],
  ['sample_c_d_cl_o_g16', -1, 187, 86],
  ['bvh_intersect_ray', -1, 230, 25],
  ['bvh64_intersect_ray', -1, 231, 26],
  ['sample_cd_g16', -1, 232, -1],
  ['sample_cd_cl_g16', -1, 233, -1],
  ['sample_c_cd_g16', -1, 234, -1],
  ['sample_c_cd_cl_g16', -1, 235, -1],
  ['sample_cd_o_g16', -1, 236, -1],
  ['sample_cd_cl_o_g16', -1, 237, -1],
  ['sample_c_cd_o_g16', -1, 238, -1],
  ['sample_c_cd_cl_o_g16', -1, 239, -1],
];

/** gfx90a kept what does not filter. */
const LAST_OF_GFX90A = 32;

/** One processor had them before. */
const SINCE_RDNA2 = /^(msaa_load|bvh)/;

/** gfx12 names the type of what an atomic combines. */
const NAMES_GFX12: Readonly<Record<string, string>> = {
  atomic_add: 'atomic_add_uint',
  atomic_sub: 'atomic_sub_uint',
  atomic_smin: 'atomic_min_int',
  atomic_umin: 'atomic_min_uint',
  atomic_smax: 'atomic_max_int',
  atomic_umax: 'atomic_max_uint',
  atomic_inc: 'atomic_inc_uint',
  atomic_dec: 'atomic_dec_uint',
};
/** On gfx12 in a format of their own. */
const IS_SAMPLE = /^(sample|gather|get_lod|msaa_load)/;

const LATER = ['atomic_add_flt', 'atomic_min_flt', 'atomic_max_flt', 'atomic_pk_add_f16', 'atomic_pk_add_bf16'];

/** Everything but stores and atomics loads, if only what the resource is like. */
const accessing = (name: string): RowFlags => ({
  touches: {
    memory: [
      { space: 'global', access: name.startsWith('store') ? 'store' : name.startsWith('atomic') ? 'atomic' : 'load' },
    ],
  },
  ...(name.startsWith('bvh') && { counter: 'bvh' }),
});

export const mimgRows = (): readonly Row[] => [
  ...IMAGES.flatMap(([name, gfx9, gfx10, gfx11]) => {
    const inSample = IS_SAMPLE.test(name);
    const image = row(
      'MIMG',
      `image_${name}`,
      {
        gfx9,
        ...(gfx9 > LAST_OF_GFX90A && { gfx90a: -1 }),
        gfx940: -1,
        gfx10,
        ...(SINCE_RDNA2.test(name) && { gfx101: -1, gfx1013: gfx10 }),
        gfx11,
        ...(inSample && { gfx12: -1 }),
        ...(NAMES_GFX12[name] && { gfx12: [`image_${NAMES_GFX12[name]}`, gfx11] as const }),
      },
      '',
      undefined,
      accessing(name),
    );
    return inSample ? alsoIn('VSAMPLE', image, { gfx12: gfx11 }) : [image];
  }),
  ...LATER.map((name, i) => row('MIMG', `image_${name}`, { gfx12: 131 + i }, '', undefined, accessing(name))),
];
