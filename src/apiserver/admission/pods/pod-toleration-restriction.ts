import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Toleration} from '#src/api/pod.js';
import {qosClassOf} from '#src/model/pod/qos.js';
import {notFound, plainFailure} from '#src/api/status.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {podIn} from '#src/apiserver/admission/request-kind.js';
import type {FindNamespace} from '#src/apiserver/admission/namespace-lifecycle.js';
import {areAllowed, mergedTolerations} from './tolerations.js';

/** The default tolerations of namespaces, and their allowed ones. */
export interface TolerationSettings {
  readonly given: readonly Toleration[];
  readonly allowed: readonly Toleration[];
}

interface Parts {
  readonly naming: Naming;
  readonly findNamespace: FindNamespace;
  readonly tolerations?: TolerationSettings | undefined;
}

/**
 * Adds the default tolerations of the namespace to pods, and refuses tolerations that it does not allow. Both are lists
 * in annotations; without one the configuration applies.
 */
export const podTolerationRestriction = ({naming, findNamespace, tolerations: settings}: Parts): AdmissionPlugin => {
  const given = naming.subKey('scheduler.alpha', 'defaultTolerations');
  const allowed = naming.subKey('scheduler.alpha', 'tolerationsWhitelist');
  const pressure: Toleration = {key: naming.subKey('node', 'memory-pressure'), operator: 'Exists', effect: 'NoSchedule'};

  const tolerationsIn = async ({namespace}: AdmissionAttributes, annotation: string): Promise<Toleration[] | undefined> => {
    const found = await findNamespace(namespace);
    if (!found) throw notFound({group: '', resource: 'namespaces'}, namespace);
    const text = found.metadata?.annotations?.[annotation];
    if (!text) return text === undefined ? undefined : [];
    try {
      const list: unknown = JSON.parse(text);
      if (Array.isArray(list)) return list as Toleration[];
    } catch {
      // Reported below, like every value that is not a list.
    }
    throw plainFailure(`the annotation ${annotation} of namespace ${namespace} is not a list of tolerations in JSON`);
  };

  const check = async (attributes: AdmissionAttributes, tolerations: readonly Toleration[] = []): Promise<void> => {
    if (tolerations.length === 0) return;
    const own = await tolerationsIn(attributes, allowed);
    if (areAllowed(tolerations, own ?? settings?.allowed ?? [])) return;
    throw plainFailure(
      `pod tolerations (possibly merged with namespace default tolerations) conflict with its ${own ? 'namespace' : 'cluster'} whitelist`,
    );
  };

  return {
    name: 'PodTolerationRestriction',
    handles: {operations: ['CREATE', 'UPDATE'], targets: targetsOf(naming, kinds.pods)},
    changes: ['spec.tolerations'],
    async admit(attributes) {
      const pod = podIn(attributes);
      if (!pod) return;
      const own = pod.spec.tolerations ?? [];
      const defaults = attributes.operation === 'CREATE' ? ((await tolerationsIn(attributes, given)) ?? settings?.given ?? []) : [];
      const merged = defaults.length > 0 ? mergedTolerations(defaults, own) : own;
      const final = qosClassOf(pod.spec) === 'BestEffort' ? merged : mergedTolerations(merged, [pressure]);
      if (final.length > 0) pod.spec.tolerations = final;
      await check(attributes, final);
    },
    async validate(attributes) {
      const pod = podIn(attributes);
      if (pod) await check(attributes, pod.spec.tolerations);
    },
  };
};
