import type {Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import type {AdmissionAttributes} from './admission.js';

/** Whether a request is for objects of that kind, in any version, without a subresource or with the given one. */
export const isForKind = ({group, resource, subresource}: AdmissionAttributes, naming: Naming, kind: Kind, at = ''): boolean =>
  resource === kind.plural && subresource === at && group === naming.group(kind.group);

/**
 * The written pod of a plugin that handles only pods; undefined without a spec. Validating phases must not change it.
 */
export const podIn = ({object}: AdmissionAttributes): (Pod & {spec: PodSpec}) | undefined => {
  const pod = object as Pod | undefined;
  return pod?.spec ? (pod as Pod & {spec: PodSpec}) : undefined;
};

/** Joins the texts of several errors, each once. */
export const combinedMessage = (texts: readonly string[]): string => {
  const distinct = [...new Set(texts)];
  return distinct.length === 1 ? distinct[0]! : `[${distinct.join(', ')}]`;
};
