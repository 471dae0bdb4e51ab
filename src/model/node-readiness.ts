import type {Frozen} from '#src/api/key.js';
import type {Node} from '#src/api/types.js';

/** Whether a node says that it is ready. */
export const isReadyNode = ({status}: Frozen<Pick<Node, 'status'>>): boolean =>
  status?.conditions?.some(condition => condition.type === 'Ready' && condition.status === 'True') ?? false;
