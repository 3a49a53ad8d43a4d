/*
 * Intrinsics of hooks that Wavewright puts into GPU code, for C, C++, HIP and OpenCL C.
 *
 * Hooks are compiled once for each processor, with optimisation:
 *
 *   clang --target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -O2 -mllvm -amdgpu-atomic-optimizer-strategy=None \
 *         -I node_modules/wavewright/include -c hook.c -o hook.o
 *
 * Each intrinsic is a marker: one instruction, and a record of the registers that the compiler chose. Wavewright
 * puts in its place what the intrinsic means where the hook is called. A hook that is run without Wavewright
 * finds any value in them.
 */
#ifndef WAVEWRIGHT_HOOK_H
#define WAVEWRIGHT_HOOK_H

typedef __UINT32_TYPE__ ww_u32;
typedef __UINT64_TYPE__ ww_u64;

/* In front of a hook: it is called by its name, and kept although nothing here calls it. */
#if defined(__HIP__) || defined(__CUDA__)
#define WW_DEVICE_ __attribute__((device))
#define WW_HOOK extern "C" __attribute__((device, used, noinline))
#elif defined(__cplusplus)
#define WW_DEVICE_
#define WW_HOOK extern "C" __attribute__((used, noinline))
#else
#define WW_DEVICE_
#define WW_HOOK __attribute__((used, noinline))
#endif

/* Memory that nothing writes while a kernel runs. */
#define WW_CONSTANT __attribute__((address_space(4)))

/* Registers of the application, for ww_read_reg and ww_write_reg. Of pairs, the first one is named. */
#define WW_SGPR(number) (number)
#define WW_VGPR(number) (256 + (number))
#define WW_AGPR(number) (512 + (number))
#define WW_VCC 106
#define WW_M0 124
#define WW_EXEC 126
#define WW_SCC 253

#ifdef __AMDGCN__
#define WW_MARKER_(record, ...)                                                    \
  __asm__ __volatile__("9: s_nop 0\n\t"                                            \
                       ".pushsection .wavewright.hook,\"aR\",@progbits\n\t"        \
                       ".long 9b-.\n\t"                                            \
                       ".asciz \"" record "\"\n\t"                                 \
                       ".popsection" __VA_ARGS__)
#define ww_uniform_u32(value) ((ww_u32)__builtin_amdgcn_readfirstlane((int)(value)))
#define ww_lane_rank(mask) \
  __builtin_amdgcn_mbcnt_hi((ww_u32)((ww_u64)(mask) >> 32), __builtin_amdgcn_mbcnt_lo((ww_u32)(mask), 0u))
#else
/* What is compiled for a host goes unused. */
#define WW_MARKER_(record, ...) ((void)0)
#define ww_uniform_u32(value) ((ww_u32)(value))
#define ww_lane_rank(mask) ((ww_u32)0)
#endif

#define WW_VALUE_(type, constraint, record, ...)                        \
  __extension__({                                                       \
    type ww_result_;                                                    \
    WW_MARKER_(record, : constraint(ww_result_) : __VA_ARGS__);         \
    ww_result_;                                                         \
  })

/* The value that the first active lane has, for all. */
#define ww_uniform_u64(value)                                                                   \
  __extension__({                                                                               \
    ww_u64 ww_value_ = (ww_u64)(value);                                                         \
    ((ww_u64)ww_uniform_u32(ww_value_ >> 32) << 32) | ww_uniform_u32(ww_value_ & 0xffffffffu);  \
  })

/* A register of the application as it is where the hook is called; `type` has its size, 4 or 8 bytes. */
#define ww_read_reg(type, reg)                                                                      \
  __extension__({                                                                                   \
    type ww_result_;                                                                                \
    if ((reg) < 256) WW_MARKER_("read_reg %0 %c1", : "=s"(ww_result_) : "i"(reg));                  \
    else WW_MARKER_("read_reg %0 %c1", : "=v"(ww_result_) : "i"(reg));                              \
    ww_result_;                                                                                     \
  })

/* Gives a register of the application a value, which it has when the hook is over. */
#define ww_write_reg(reg, value)                                              \
  do {                                                                        \
    __typeof__(value) ww_value_ = (value);                                    \
    WW_MARKER_("write_reg %0 %c1", : : "v"(ww_value_), "i"(reg) : "memory");  \
  } while (0)

/* Switches lanes on and off for the rest of the hook. */
#define ww_write_exec(mask)                                     \
  do {                                                          \
    ww_u64 ww_mask_ = ww_uniform_u64(mask);                     \
    WW_MARKER_("write_exec %0", : : "s"(ww_mask_) : "memory");  \
  } while (0)

/* Adds once for a wave with an active lane, in scalar memory or, where that cannot add, by lane 0; gives the value before. */
#define ww_s_atomic_add(pointer, value)                                                                   \
  __extension__({                                                                                         \
    ww_u64 ww_pointer_ = ww_uniform_u64(pointer);                                                         \
    __typeof__(*(pointer)) ww_data_ = (__typeof__(*(pointer)))ww_uniform_u64(value);                      \
    WW_MARKER_("scalar_atomic_add %0 %1", : "+s"(ww_data_) : "s"(ww_pointer_) : "memory");                \
    ww_data_;                                                                                             \
  })

/* The lanes that are active where the hook is called, a bit for each. */
#define ww_exec() WW_VALUE_(ww_u64, "=s", "exec %0")
/* The byte that the instruction accesses first, in each active lane, which is the same of scalar memory; of LDS and
 * private memory, its offset there. */
#define ww_address() WW_VALUE_(ww_u64, "=v", "address %0")
/* An operand of the instruction, by its place in the text from 0 on: a register's value in each lane, or a constant. */
#define ww_operand(type, index) WW_VALUE_(type, "=v", "operand %0 %c1", "i"(index))
/* An operand of the instruction that is a constant. */
#define ww_immediate(index) WW_VALUE_(ww_u64, "=s", "immediate %0 %c1", "i"(index))
/* The number that the tool gave to the instruction's opcode. */
#define ww_opcode() WW_VALUE_(ww_u32, "=s", "opcode %0")
/* Where the instruction stands in the original code object, as listings of it show. */
#define ww_pc() WW_VALUE_(ww_u64, "=s", "pc %0")
/* A number that the tool sets anew for each launch. */
#define ww_launch_value(index) WW_VALUE_(ww_u64, "=s", "launch_value %0 %c1", "i"(index))
/* The packet that launched the kernel, its arguments, and the hidden ones behind them. */
#define ww_dispatch_packet() ((const WW_CONSTANT void *)WW_VALUE_(ww_u64, "=s", "dispatch_packet %0"))
#define ww_kernel_arguments() ((const WW_CONSTANT void *)WW_VALUE_(ww_u64, "=s", "kernel_arguments %0"))
#define ww_implicit_arg_ptr() ((const WW_CONSTANT void *)WW_VALUE_(ww_u64, "=s", "implicit_arguments %0"))
#define ww_workgroup_id_x() WW_VALUE_(ww_u32, "=s", "workgroup_id %0 0")
#define ww_workgroup_id_y() WW_VALUE_(ww_u32, "=s", "workgroup_id %0 1")
#define ww_workgroup_id_z() WW_VALUE_(ww_u32, "=s", "workgroup_id %0 2")

/* Composed of the others: how many lanes are active, and whether this is the first of them. */
#define ww_active_lanes() ((ww_u32)__builtin_popcountll(ww_exec()))
#define ww_is_first_lane() (ww_lane_rank(ww_exec()) == 0)
/* Adds to memory that all waves share, in each active lane; gives the value before. */
#define ww_atomic_add(pointer, value) \
  __scoped_atomic_fetch_add((pointer), (value), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)

#ifdef __cplusplus
namespace wavewright {
#define WW_INLINE_ static inline __attribute__((always_inline)) WW_DEVICE_

constexpr int VCC = WW_VCC, M0 = WW_M0, EXEC = WW_EXEC, SCC = WW_SCC;
WW_INLINE_ constexpr int sgpr(int number) { return WW_SGPR(number); }
WW_INLINE_ constexpr int vgpr(int number) { return WW_VGPR(number); }
WW_INLINE_ constexpr int agpr(int number) { return WW_AGPR(number); }

template <typename T> WW_INLINE_ T read_reg(int reg) { return ww_read_reg(T, reg); }
template <typename T> WW_INLINE_ void write_reg(int reg, T value) { ww_write_reg(reg, value); }
WW_INLINE_ void write_exec(ww_u64 mask) { ww_write_exec(mask); }
template <typename T> WW_INLINE_ T s_atomic_add(T *pointer, T value) { return ww_s_atomic_add(pointer, value); }
template <typename T> WW_INLINE_ T atomic_add(T *pointer, T value) { return ww_atomic_add(pointer, value); }
template <typename T> WW_INLINE_ T operand(int index) { return ww_operand(T, index); }
WW_INLINE_ ww_u64 exec() { return ww_exec(); }
WW_INLINE_ ww_u64 address() { return ww_address(); }
WW_INLINE_ ww_u64 immediate(int index) { return ww_immediate(index); }
WW_INLINE_ ww_u32 opcode() { return ww_opcode(); }
WW_INLINE_ ww_u64 pc() { return ww_pc(); }
WW_INLINE_ ww_u64 launch_value(int index) { return ww_launch_value(index); }
WW_INLINE_ const WW_CONSTANT void *dispatch_packet() { return ww_dispatch_packet(); }
WW_INLINE_ const WW_CONSTANT void *kernel_arguments() { return ww_kernel_arguments(); }
WW_INLINE_ const WW_CONSTANT void *implicit_arg_ptr() { return ww_implicit_arg_ptr(); }
WW_INLINE_ ww_u32 workgroup_id_x() { return ww_workgroup_id_x(); }
WW_INLINE_ ww_u32 workgroup_id_y() { return ww_workgroup_id_y(); }
WW_INLINE_ ww_u32 workgroup_id_z() { return ww_workgroup_id_z(); }
WW_INLINE_ ww_u32 active_lanes() { return ww_active_lanes(); }
WW_INLINE_ bool is_first_lane() { return ww_is_first_lane(); }
} // namespace wavewright
#endif

#endif
