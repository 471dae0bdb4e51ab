import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {podIn} from '#src/apiserver/admission/request-kind.js';

export interface TolerationSeconds {
  readonly notReady: number;
  readonly unreachable: number;
}

/** Adds default tolerations for nodes that are not ready or unreachable to pods without their own. */
export const defaultTolerationSeconds = ({
  naming,
  seconds,
}: {
  readonly naming: Naming;
  readonly seconds: TolerationSeconds;
}): AdmissionPlugin => {
  const desired = [
    {key: naming.subKey('node', 'not-ready'), tolerationSeconds: seconds.notReady},
    {key: naming.subKey('node', 'unreachable'), tolerationSeconds: seconds.unreachable},
  ];
  return {
    name: 'DefaultTolerationSeconds',
    handles: {operations: ['CREATE', 'UPDATE'], targets: targetsOf(naming, kinds.pods)},
    changes: ['spec.tolerations'],
    admit(attributes) {
      const pod = podIn(attributes);
      if (!pod) return;
      const own = pod.spec.tolerations ?? [];
      const missing = desired.filter(
        ({key}) => !own.some(one => (!one.key || one.key === key) && (!one.effect || one.effect === 'NoExecute')),
      );
      if (missing.length > 0)
        pod.spec.tolerations = [
          ...own,
          ...missing.map(({key, tolerationSeconds}) => ({key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds})),
        ];
    },
  };
};
