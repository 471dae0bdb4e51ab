import {signsNodeAffinity} from '#src/scheduler/signatures/plugin-signatures.js';
import type {Frozen} from '#src/api/key.js';
import type {NodeSelectorTerm} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {matchesNode, requiredTerms} from '#src/model/node-affinity.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {unresolvable, type Filter} from '#src/scheduler/framework/plugin.js';

const isFit = ({pod}: PodInfo, node: Frozen<Node> | undefined): boolean => node !== undefined && matchesNode(pod.spec!, node);

/** Returns the node names that a term requires; undefined if it requires none. */
const nodeNamesOfTerm = ({matchFields = []}: Frozen<NodeSelectorTerm>): ReadonlySet<string> | undefined => {
  const lists = matchFields.filter(({key, operator}) => key === 'metadata.name' && operator === 'In').map(({values = []}) => values);
  if (lists.length === 0) return undefined;
  return new Set(lists[0]!.filter(name => lists.every(list => list.includes(name))));
};

/** Returns the only feasible nodes, if every term requires nodes by name. */
const nodeNamesOf = (terms: readonly Frozen<NodeSelectorTerm>[]): ReadonlySet<string> | undefined => {
  const sets = terms.map(nodeNamesOfTerm);
  return sets.length === 0 || sets.includes(undefined) ? undefined : new Set(sets.flatMap(names => [...names!]));
};

/** Restricts a pod to the nodes that match its node selector and affinity. */
export const nodeAffinity: Filter = {
  plugin: 'NodeAffinity',
  sign: signsNodeAffinity,
  prepare(pod) {
    const required = requiredTerms(pod.pod.spec!);
    if (!required && !pod.pod.spec?.nodeSelector) return undefined;
    const nodes = nodeNamesOf(required?.nodeSelectorTerms ?? []);
    if (nodes?.size === 0) return unresolvable('pod affinity terms conflict');
    return {
      ...(nodes ? {nodes} : {}),
      signature: JSON.stringify([required, pod.pod.spec?.nodeSelector]),
      filter: ({node}) => (isFit(pod, node) ? undefined : unresolvable("node(s) didn't match Pod's node affinity/selector")),
    };
  },
  hints: [
    {
      on: ['NodeAdd', 'NodeUpdateNodeLabel'],
      shouldQueue: (pod, old: Frozen<Node> | undefined, now: Frozen<Node> | undefined) => isFit(pod, now) && (!old || !isFit(pod, old)),
    },
  ],
};
