import type {Rejection} from './rejection.js';

/** What the managers of processors, memory and devices say of a pod for which they cannot reserve what it asks for. */
export type ManagerRefusal =
  | {readonly is: 'topology'}
  | {readonly is: 'smt-alignment'; readonly requested: number; readonly cpusPerCore: number}
  | {readonly is: 'failed'; readonly error: string};

/** Returns how a node words the refusal. */
export const managerRejection = (refusal: ManagerRefusal): Rejection => {
  switch (refusal.is) {
    case 'topology':
      return {reason: 'TopologyAffinityError', message: 'Resources cannot be allocated with Topology locality'};
    case 'smt-alignment': {
      const {requested, cpusPerCore} = refusal;
      return {
        reason: 'SMTAlignmentError',
        message: `SMT Alignment Error: requested ${requested} cpus not multiple cpus per core = ${cpusPerCore}`,
      };
    }
    case 'failed':
      return {reason: 'UnexpectedAdmissionError', message: `Allocate failed due to ${refusal.error}, which is unexpected`};
  }
};
