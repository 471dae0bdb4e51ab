import {kinds} from '#src/api/kinds.js';
import {defineLongRunning} from '#src/runtime/controller.js';
import {taintEviction} from './run.js';

/** Deletes pods that a node's taints send away: those that do not tolerate them at once, others when the time that they do is over. */
export default defineLongRunning({
  doc: 'Deletes pods from nodes with taints that they do not tolerate, or no longer.',
  name: 'taint-eviction-controller',
  serviceAccount: 'node-controller',
  reads: [kinds.nodes, kinds.pods],
  create: taintEviction,
});
