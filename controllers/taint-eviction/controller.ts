import {kinds} from '#src/api/kinds/index.js';
import {defineLongRunning} from '#src/runtime/controller.js';
import {taintEviction} from './run.js';

/**
 * Deletes pods for NoExecute taints of their node: at once if they do not tolerate them, otherwise when the tolerated
 * time has passed.
 */
export default defineLongRunning({
  doc: 'Evicts pods from nodes with NoExecute taints that they do not tolerate, or whose toleration has expired.',
  name: 'taint-eviction-controller',
  serviceAccount: 'node-controller',
  reads: [kinds.nodes, kinds.pods],
  create: taintEviction,
});
