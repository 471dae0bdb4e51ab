import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {notFound, plainFailure} from '#src/api/status.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {podIn} from '#src/apiserver/admission/request-kind.js';
import type {FindNamespace} from '#src/apiserver/admission/namespace-lifecycle.js';
import {refuse} from '#src/apiserver/admission/refuse.js';

/**
 * The node labels that pods may select: the defaults of namespaces without an annotation, and the allowed labels of
 * each namespace.
 */
export interface NodeSelectors {
  readonly otherwise: Readonly<Record<string, string>>;
  readonly allowed: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

interface Parts {
  readonly naming: Naming;
  readonly findNamespace: FindNamespace;
  readonly nodeSelectors?: NodeSelectors | undefined;
}

/** Parses `key=value,key=value`. Throws for anything else. */
export const labelsIn = (text: string): Record<string, string> => {
  if (!text) return {};
  return Object.fromEntries(
    text.split(',').map((part): [string, string] => {
      const [key = '', value, ...rest] = part.split('=');
      if (value === undefined || rest.length > 0) throw plainFailure(`invalid selector: [${part}]`);
      return [key.trim(), value.trim()];
    }),
  );
};

const conflicts = (wanted: Readonly<Record<string, string>>, own: Readonly<Record<string, string>> = {}): boolean =>
  Object.entries(wanted).some(([key, value]) => own[key] !== undefined && own[key] !== value);

/**
 * Adds the node selector of the namespace, from its annotation or else the configuration, and refuses pods that
 * conflict with it or select labels that are not allowed.
 */
export const podNodeSelector = ({naming, findNamespace, nodeSelectors}: Parts): AdmissionPlugin => {
  const annotation = naming.subKey('scheduler.alpha', 'node-selector');
  const selectorOf = async ({namespace}: AdmissionAttributes): Promise<Record<string, string>> => {
    const found = await findNamespace(namespace);
    if (!found) throw notFound({group: '', resource: 'namespaces'}, namespace);
    const own = found.metadata?.annotations?.[annotation];
    return own === undefined ? {...nodeSelectors?.otherwise} : labelsIn(own);
  };
  const check = (
    attributes: AdmissionAttributes,
    wanted: Readonly<Record<string, string>>,
    own: Readonly<Record<string, string>> = {},
  ): void => {
    if (conflicts(wanted, own)) {
      throw refuse(attributes, 'pod node label selector conflicts with its namespace node label selector');
    }
    const allowed = nodeSelectors?.allowed.get(attributes.namespace) ?? {};
    if (Object.keys(allowed).length > 0 && Object.entries(own).some(([key, value]) => allowed[key] !== value)) {
      throw refuse(attributes, 'pod node label selector labels conflict with its namespace whitelist');
    }
  };
  return {
    name: 'PodNodeSelector',
    handles: {operations: ['CREATE'], targets: targetsOf(naming, kinds.pods)},
    changes: ['spec.nodeSelector'],
    async admit(attributes) {
      const pod = podIn(attributes);
      if (!pod) return;
      const wanted = await selectorOf(attributes);
      if (Object.keys(wanted).length > 0 && !conflicts(wanted, pod.spec.nodeSelector))
        pod.spec.nodeSelector = {...wanted, ...pod.spec.nodeSelector};
      check(attributes, wanted, pod.spec.nodeSelector);
    },
    async validate(attributes) {
      const pod = podIn(attributes);
      if (pod) check(attributes, await selectorOf(attributes), pod.spec.nodeSelector);
    },
  };
};
