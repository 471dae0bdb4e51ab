import type {Naming} from '#src/api/naming.js';
import {notFound, plainFailure} from '#src/api/status.js';
import type {AdmissionAttributes, AdmissionPlugin} from './admission.js';
import {podWritten} from './about.js';
import type {FindNamespace} from './namespace-lifecycle.js';
import {refuse} from './refuse.js';

/** Reads `key=value,key=value`. Throws for anything else. */
const labelsIn = (text: string): Record<string, string> => {
  if (!text) return {};
  return Object.fromEntries(
    text.split(',').map((part): [string, string] => {
      const [key = '', value, ...rest] = part.split('=');
      if (value === undefined || rest.length > 0) throw plainFailure(`invalid selector: [${part}]`);
      return [key.trim(), value.trim()];
    }),
  );
};

/** Pods run where their namespace says, by its annotation, and cannot ask for the contrary. */
export const podNodeSelector = ({naming, findNamespace}: {readonly naming: Naming; readonly findNamespace: FindNamespace}): AdmissionPlugin => {
  const annotation = naming.subKey('scheduler.alpha', 'node-selector');
  const selectorOf = async ({namespace}: AdmissionAttributes): Promise<Record<string, string>> => {
    const found = await findNamespace(namespace);
    if (!found) throw notFound({group: '', resource: 'namespaces'}, namespace);
    return labelsIn(found.metadata?.annotations?.[annotation] ?? '');
  };
  const check = (attributes: AdmissionAttributes, wanted: Readonly<Record<string, string>>, own: Readonly<Record<string, string>> = {}): void => {
    if (Object.entries(wanted).some(([key, value]) => own[key] !== undefined && own[key] !== value)) {
      throw refuse(attributes, 'pod node label selector conflicts with its namespace node label selector');
    }
  };
  return {
    name: 'PodNodeSelector',
    async admit(attributes) {
      const pod = podWritten(attributes, naming, ['CREATE']);
      if (!pod) return;
      const wanted = await selectorOf(attributes);
      check(attributes, wanted, pod.spec.nodeSelector);
      if (Object.keys(wanted).length > 0) pod.spec.nodeSelector = {...wanted, ...pod.spec.nodeSelector};
    },
    async validate(attributes) {
      const pod = podWritten(attributes, naming, ['CREATE']);
      if (pod) check(attributes, await selectorOf(attributes), pod.spec.nodeSelector);
    },
  };
};
