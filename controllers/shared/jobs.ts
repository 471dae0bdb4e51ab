import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';

export type Job = ObjectOf<typeof kinds.jobs>;
export type JobStatus = NonNullable<Job['status']>;
export type JobCondition = NonNullable<JobStatus['conditions']>[number];

/** Returns the condition of that type, if it is true. */
export const trueCondition = ({status}: Frozen<Job>, type: string): Frozen<JobCondition> | undefined =>
  status?.conditions?.find(condition => condition.type === type && condition.status === 'True');

/** Returns the condition of how a job finished; undefined if it has not. */
export const endOf = ({status}: Frozen<Job>): Frozen<JobCondition> | undefined =>
  status?.conditions?.find(({type, status: said}) => (type === 'Complete' || type === 'Failed') && said === 'True');
