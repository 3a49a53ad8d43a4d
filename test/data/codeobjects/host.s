# A host program with two fat binaries, as hipcc links them: one bundle per source file, padded to 4096 bytes.
	.text
	.globl _start
_start:
	ret
	.section .hip_fatbin,"a",@progbits
	.p2align 12
	.incbin "fat.bundle"
	.p2align 12
	.incbin "fat.ccob"
