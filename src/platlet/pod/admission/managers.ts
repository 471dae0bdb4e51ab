import type {Eventually} from '#src/base/eventually.js';
import type {Rejection} from './rejection.js';

/** Why a resource manager (CPU, memory, devices or topology) cannot allocate what a pod requests. */
export type ManagerRefusal =
  | {readonly is: 'topology'}
  | {readonly is: 'smt-alignment'; readonly requested: number; readonly cpusPerCore: number; readonly availableCpus?: number}
  | {readonly is: 'failed'; readonly error: string};

/** The answer of the managers, which comes later if plugins take part. Undefined: everything is allocated. */
export type Reserved = Eventually<ManagerRefusal | undefined>;

/** Returns the rejection for a failed allocation. */
export const managerRejection = (refusal: ManagerRefusal): Rejection => {
  switch (refusal.is) {
    case 'topology':
      return {reason: 'TopologyAffinityError', message: 'Resources cannot be allocated with Topology locality'};
    case 'smt-alignment': {
      const {requested, cpusPerCore, availableCpus} = refusal;
      const why =
        availableCpus === undefined
          ? `requested ${requested} cpus not multiple cpus per core = ${cpusPerCore}`
          : `not enough free physical CPUs: available physical CPUs = ${availableCpus}, requested CPUs = ${requested}, CPUs per core = ${cpusPerCore}`;
      return {reason: 'SMTAlignmentError', message: `SMT Alignment Error: ${why}`};
    }
    case 'failed':
      return {reason: 'UnexpectedAdmissionError', message: `Allocate failed due to ${refusal.error}, which is unexpected`};
  }
};
