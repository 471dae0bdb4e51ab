import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Reader} from '#src/api/reader.js';
import {notFound} from '#src/api/status.js';
import type {Authorizer} from '#src/api/authorization.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject} from '#src/api/types.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';

/** The dependencies of the rules for nodes. */
export interface NodeRules {
  readonly naming: Naming;
  readonly reader: Reader;
  readonly authorizer: Authorizer | undefined;
  gate(name: string): boolean;
}

/** Returns why a node's request is refused, or undefined. Rejects with 404 if an object it refers to does not exist. */
export type NodeRule = (
  rules: NodeRules,
  node: string,
  attributes: AdmissionAttributes,
) => string | undefined | Promise<string | undefined>;

/** Returns the current object. Throws a 404 with the name of its kind. */
export const existing = async <T extends KubeObject>(
  {reader, naming}: NodeRules,
  kind: Kind<T>,
  namespace: string,
  name: string,
): Promise<Readonly<T>> => {
  const found = await reader.get(kind, namespace, name);
  if (!found) throw notFound({group: naming.group(kind.group), resource: kind.kind.toLowerCase()}, name);
  return found;
};

export const existingPod = (rules: NodeRules, namespace: string, name: string): Promise<Readonly<Pod>> =>
  existing<Pod>(rules, kinds.pods, namespace, name);

export const quote = JSON.stringify;
export const unexpected = ({operation}: AdmissionAttributes): string => `unexpected operation ${quote(operation)}`;
