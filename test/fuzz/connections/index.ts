import {attackPorts, type AttackFinding} from './run.js';

/**
 * Part of `make fuzz`: attacks the ports of an API server, a controller manager and an operator by connections whose
 * answers are not read, that send nothing or slowly, or that break the protocol. FUZZ_ATTACKS (default 2) is how often
 * each port is attacked in each way, FUZZ_SEED (default 1) the seed; FUZZ_ONLY (a regular expression for `port:
 * attack`) selects attacks, FUZZ_SHARE (default 1) makes them smaller or larger, and FUZZ_CPU_LIMIT is the CPU time in
 * ms before an ordinary client has its answer.
 */
const {FUZZ_ATTACKS = '2', FUZZ_SEED = '1', FUZZ_ONLY = '', FUZZ_SHARE = '1', FUZZ_CPU_LIMIT = '1500'} = process.env;

const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MB`;
const progress = ({label, faults, longestMs, waitingBytes, memoryBytes}: AttackFinding): void => {
  console.error(`${longestMs.toFixed(0).padStart(6)} ms  ${mib(memoryBytes)} more, ${mib(waitingBytes)} wait  ${label}`);
  for (const fault of faults) console.log(`${label}: ${fault}`);
};
const findings = await attackPorts({
  seed: Number(FUZZ_SEED),
  rounds: Number(FUZZ_ATTACKS),
  share: Number(FUZZ_SHARE),
  mostMs: Number(FUZZ_CPU_LIMIT),
  only: new RegExp(FUZZ_ONLY),
  progress,
});
const faults = findings.reduce((count, {faults: those}) => count + those.length, 0);
console.log(`${findings.length} attacks on ports, seed ${FUZZ_SEED}: ${faults} faults`);
process.exit(faults > 0 ? 1 : 0);
