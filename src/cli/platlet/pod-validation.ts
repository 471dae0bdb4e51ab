import {kinds} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {wellKnown} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import {validateNewPod} from '#src/resources/core/pod/validation/pod.js';

export interface PodValidationParts {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly nodeName: string;
  gate(name: string): boolean;
}

/** Returns what finds the errors of static pods: what an API server would refuse to create. */
export const staticPodValidation = ({
  nodeName,
  naming,
  clock,
  random,
  gate,
}: PodValidationParts): ((pod: Frozen<Pod>) => readonly string[]) => {
  const context = {
    naming,
    clock,
    random,
    gate,
    user: {name: `${wellKnown.nodeUserPrefix}${nodeName}`, groups: [wellKnown.nodes]},
    served: kinds.pods,
    warn() {},
    allowPrivileged: true,
  };
  return pod => [...validateNewPod(pod as Pod, context)].map(({path, detail}) => `${path}: ${detail}`);
};
