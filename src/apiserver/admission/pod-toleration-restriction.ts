import type {Naming} from '#src/api/naming.js';
import type {Toleration} from '#src/api/pod.js';
import {qualityOf} from '#src/model/pod/quality.js';
import {notFound, plainFailure} from '#src/api/status.js';
import type {AdmissionAttributes, AdmissionPlugin} from './admission.js';
import {podWritten} from './about.js';
import type {FindNamespace} from './namespace-lifecycle.js';
import {areAllowed, mergedTolerations} from './tolerations.js';

/** Pods tolerate what their namespace gives them, and nothing that it does not allow; both are annotations that hold lists. */
export const podTolerationRestriction = ({naming, findNamespace}: {readonly naming: Naming; readonly findNamespace: FindNamespace}): AdmissionPlugin => {
  const given = naming.subKey('scheduler.alpha', 'defaultTolerations');
  const allowed = naming.subKey('scheduler.alpha', 'tolerationsWhitelist');
  const pressure: Toleration = {key: naming.subKey('node', 'memory-pressure'), operator: 'Exists', effect: 'NoSchedule'};

  const tolerationsIn = async ({namespace}: AdmissionAttributes, annotation: string): Promise<Toleration[]> => {
    const found = await findNamespace(namespace);
    if (!found) throw notFound({group: '', resource: 'namespaces'}, namespace);
    const text = found.metadata?.annotations?.[annotation];
    if (!text) return [];
    try {
      const list: unknown = JSON.parse(text);
      if (Array.isArray(list)) return list as Toleration[];
    } catch {
      // Told below, as everything that is no list is.
    }
    throw plainFailure(`the annotation ${annotation} of namespace ${namespace} is not a list of tolerations in JSON`);
  };

  const check = async (attributes: AdmissionAttributes, tolerations: readonly Toleration[] = []): Promise<void> => {
    if (tolerations.length === 0 || areAllowed(tolerations, await tolerationsIn(attributes, allowed))) return;
    throw plainFailure('pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist');
  };

  return {
    name: 'PodTolerationRestriction',
    async admit(attributes) {
      const pod = podWritten(attributes, naming, ['CREATE', 'UPDATE']);
      if (!pod) return;
      const own = pod.spec.tolerations ?? [];
      const defaults = attributes.operation === 'CREATE' ? await tolerationsIn(attributes, given) : [];
      const merged = defaults.length > 0 ? mergedTolerations(defaults, own) : own;
      const final = qualityOf(pod.spec) === 'BestEffort' ? merged : mergedTolerations(merged, [pressure]);
      if (final.length > 0) pod.spec.tolerations = final;
      await check(attributes, final);
    },
    async validate(attributes) {
      const pod = podWritten(attributes, naming, ['CREATE', 'UPDATE']);
      if (pod) await check(attributes, pod.spec.tolerations);
    },
  };
};
