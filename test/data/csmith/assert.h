/* Of assert.h, which the header of csmith's programs includes, they use nothing. */
