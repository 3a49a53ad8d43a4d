/** Calls a function that may be defined elsewhere, as compilers do: through its slot of the GOT. */
export const callText = (name: string): string => `s_getpc_b64 s[4:5]
 s_add_u32 s4, s4, ${name}@gotpcrel32@lo+4
 s_addc_u32 s5, s5, ${name}@gotpcrel32@hi+12
 s_load_dwordx2 s[4:5], s[4:5], 0x0
 s_waitcnt lgkmcnt(0)
 s_swappc_b64 s[30:31], s[4:5]
`;
