import type {Index} from '#informers/lister.js';
import {sameContent} from '#src/api/equal.js';
import {keyOf, type Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Node} from '#src/api/types.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import type {DaemonSet} from './kinds.js';
import {placementOf} from './placement.js';

const anyNode = '';
const labelKey = (label: string, value: string): string => `${label}=${value}`;

/** Indexes sets by one of the labels of their node selector, so that few are checked for each node. */
const byNodeLabel: Index<ObjectOf<typeof kinds.daemonSets>> = {
  name: 'node label',
  values({spec}) {
    const [demanded] = Object.entries(spec?.template.spec?.nodeSelector ?? {});
    return [demanded ? labelKey(...demanded) : anyNode];
  },
};

const labelsOf = (node: Frozen<Node> | undefined): string[] =>
  Object.entries(node?.metadata?.labels ?? {}).map(([label, value]) => labelKey(label, value));

/**
 * Queues the sets for which a new node, or a change of its labels or taints, changes the placement. Pods of a deleted
 * node are handled by their own events.
 */
export const watchNodes = ({listen, lister, enqueue, naming}: Pick<KeyedContext, 'listen' | 'lister' | 'enqueue' | 'naming'>): void => {
  const sets = lister(kinds.daemonSets);
  /** Cached per version of a set: nodes often appear in large numbers. */
  const placements = new WeakMap<DaemonSet, ReturnType<typeof placementOf>>();
  const placementFor = (set: DaemonSet) => {
    const placement = placements.get(set) ?? placementOf(set, naming);
    placements.set(set, placement);
    return placement;
  };
  listen(kinds.nodes, change => {
    if (change.type === 'deleted') return;
    const {object: node} = change;
    const old = change.type === 'updated' ? change.old : undefined;
    if (old && sameContent(old.metadata?.labels, node.metadata?.labels) && sameContent(old.spec?.taints, node.spec?.taints)) return;
    for (const each of new Set([anyNode, ...labelsOf(node), ...labelsOf(old)])) {
      for (const set of sets.by(byNodeLabel, each)) {
        const placement = placementFor(set);
        const now = placement(node);
        const before = old ? placement(old) : {shouldRun: false, shouldStay: now.shouldStay};
        if (now.shouldRun !== before.shouldRun || now.shouldStay !== before.shouldStay) enqueue(keyOf(set));
      }
    }
  });
};
