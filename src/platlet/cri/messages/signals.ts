// The stop signals of containers, by their numbers in the CRI.

import {oneOf} from '#src/platlet/rpc/codec.js';

const numbers = (count: number): readonly number[] => Array.from({length: count}, (_, index) => index + 1);

const named =
  'ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ';

/** `RUNTIME_DEFAULT` is that of the image, or SIGTERM. */
export const signal = oneOf(
  'RUNTIME_DEFAULT',
  ...named.split(' ').map(name => `SIG${name}`),
  'SIGRTMIN',
  ...numbers(15).map(offset => `SIGRTMINPLUS${offset}`),
  ...numbers(14)
    .toReversed()
    .map(offset => `SIGRTMAXMINUS${offset}`),
  'SIGRTMAX',
);
