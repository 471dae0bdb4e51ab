import {sameJson} from '#src/api/equal.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {PodSpec} from '#src/api/pod.js';
import {canonicalQuantity} from '#src/api/quantity.js';
import type {Reader} from '#src/api/reader.js';
import {plainFailure} from '#src/api/status.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {podIn} from '#src/apiserver/admission/request-kind.js';
import {refuse, invalidName} from '#src/apiserver/admission/refuse.js';
import {givenEmpty} from '#src/schema/emptied.js';
import {mergedTolerations} from './tolerations.js';

type RuntimeClass = ObjectOf<typeof kinds.runtimeClasses>;
type List = Readonly<Record<string, string>>;

const canonical = (list: List = {}): List =>
  Object.fromEntries(Object.entries(list).map(([name, text]) => [name, canonicalQuantity(text)]));
const isSame = (one: List | undefined, other: List | undefined): boolean => sameJson(canonical(one), canonical(other));

/** Sets the overhead and scheduling of pods from their runtime class, and refuses conflicting values. */
export const runtimeClass = ({naming, reader}: {readonly naming: Naming; readonly reader: Reader}): AdmissionPlugin => {
  const classOf = async (
    attributes: AdmissionAttributes,
    {runtimeClassName: name}: Readonly<PodSpec>,
  ): Promise<Readonly<RuntimeClass> | undefined> => {
    if (name === undefined) return undefined;
    const invalid = invalidName(name);
    if (invalid !== undefined) throw plainFailure(invalid);
    const found = await reader.get(kinds.runtimeClasses, '', name);
    if (!found) throw refuse(attributes, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
    return found;
  };

  const setOverhead = (attributes: AdmissionAttributes, spec: PodSpec, {overhead}: Readonly<RuntimeClass>): void => {
    if (!overhead) return;
    if (Object.keys(spec.overhead ?? {}).length > 0 && !isSame(overhead.podFixed, spec.overhead)) {
      throw refuse(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
    }
    if (overhead.podFixed) spec.overhead = {...overhead.podFixed};
    else delete spec.overhead;
  };

  const setScheduling = (attributes: AdmissionAttributes, spec: PodSpec, {scheduling}: Readonly<RuntimeClass>): void => {
    if (!scheduling) return;
    const {nodeSelector = {}, tolerations = []} = scheduling;
    for (const [key, value] of Object.entries(nodeSelector)) {
      const own = spec.nodeSelector?.[key];
      if (own !== undefined && own !== value) {
        throw refuse(
          attributes,
          `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`,
        );
      }
    }
    if (Object.keys(nodeSelector).length > 0) spec.nodeSelector = {...spec.nodeSelector, ...nodeSelector};
    const merged = mergedTolerations(spec.tolerations ?? [], structuredClone(tolerations));
    if (merged.length > 0) spec.tolerations = merged;
  };

  return {
    name: 'RuntimeClass',
    handles: {operations: ['CREATE'], targets: targetsOf(naming, kinds.pods)},
    changes: ['spec.overhead', 'spec.nodeSelector', 'spec.tolerations'],
    async admit(attributes) {
      const pod = podIn(attributes);
      const found = pod && (await classOf(attributes, pod.spec));
      if (!found) return;
      setOverhead(attributes, pod.spec, found);
      setScheduling(attributes, pod.spec, found);
    },
    async validate(attributes) {
      const pod = podIn(attributes);
      if (!pod) return;
      const overhead = (await classOf(attributes, pod.spec))?.overhead;
      if (overhead) {
        if (!isSame(overhead.podFixed, pod.spec.overhead))
          throw refuse(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
      } else if (pod.spec.overhead || givenEmpty(pod.spec, 'overhead')) {
        throw refuse(attributes, 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead');
      }
    },
  };
};
