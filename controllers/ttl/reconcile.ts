import {unlessMissing} from '#src/client/missing.js';
import {kinds} from '#src/api/kinds/index.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {bandedSeconds} from './policy.js';

/** Updates the node's annotation, if it differs from the current TTL. */
export const ttlReconciler = ({lister, listen, writer, naming}: KeyedContext): Reconcile => {
  const nodes = lister(kinds.nodes);
  const writes = writer(kinds.nodes);
  const annotation = naming.subKey('node.alpha', 'ttl');
  const bands = bandedSeconds();
  let count = 0;
  listen(kinds.nodes, ({type}) => {
    if (type === 'added') bands.update(++count);
    else if (type === 'deleted') bands.update(--count);
  });

  return async key => {
    const node = nodes.get(key);
    const {seconds} = bands;
    if (!node || node.metadata?.annotations?.[annotation] === String(seconds)) return settled;
    await unlessMissing(writes.patch(node, 'strategic', {metadata: {annotations: {[annotation]: String(seconds)}}}));
    return settled;
  };
};
