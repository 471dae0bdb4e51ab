import {signsFeatures} from '#src/scheduler/signatures/plugin-signatures.js';
import {sameJson} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import type {Node} from '#src/api/types.js';
import type {Pod} from '#src/api/pod.js';
import {featuresForScheduling} from '#src/model/pod/required-features.js';
import {unresolvable, type Filter} from '#src/scheduler/framework/plugin.js';

const declaredBy = (node: Frozen<Node> | undefined): readonly string[] => node?.status?.declaredFeatures ?? [];

/** Rejects nodes that do not declare a feature that the pod needs (KEP-5328). */
export const nodeDeclaredFeatures: Filter = {
  plugin: 'NodeDeclaredFeatures',
  sign: signsFeatures,
  prepare({pod}, {gate}) {
    if (!gate('NodeDeclaredFeatures')) return undefined;
    const needed = featuresForScheduling(pod.spec!);
    if (needed.length === 0) return undefined;
    return {
      filter({node}) {
        const missing = needed.filter(feature => !declaredBy(node).includes(feature));
        return missing.length === 0
          ? undefined
          : unresolvable(`node declared features check failed - unsatisfied requirements: ${missing.join(', ')}`);
      },
    };
  },
  hints: [
    {
      on: ['NodeAdd', 'NodeUpdateNodeDeclaredFeature'],
      shouldQueue: (_, old: Frozen<Node> | undefined, now: Frozen<Node> | undefined) => !old || !sameJson(declaredBy(old), declaredBy(now)),
    },
    {
      on: ['UnschedulablePodUpdate'],
      shouldQueue: (pod, old: Frozen<Pod> | undefined, now: Frozen<Pod> | undefined) =>
        now?.metadata?.uid === pod.uid && !sameJson(featuresForScheduling(old!.spec!), featuresForScheduling(now!.spec!)),
    },
  ],
};
