// What an object refers to, and what refers to it: selectors, volumes, claims, bindings, accounts, scale targets.

import {kindNamed, kindOf, type Resource} from '#page/api/kinds.js';
import type {AnyObject} from '#page/api/objects.js';

export interface Reference {
  /** How it refers: volume, selector, claim… */
  readonly why: string;
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

type Found = readonly [why: string, plural: string, name: unknown, group?: string];

const list = (value: unknown): readonly Record<string, unknown>[] => (Array.isArray(value) ? (value as Record<string, unknown>[]) : []);
const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

const nameIn = (value: unknown, ...keys: readonly string[]): unknown => keys.reduce<unknown>((at, key) => record(at)[key], value);

const ofVolume = (volume: Record<string, unknown>): Found[] => [
  ['volume', 'configmaps', nameIn(volume, 'configMap', 'name')],
  ['volume', 'secrets', nameIn(volume, 'secret', 'secretName')],
  ['volume', 'persistentvolumeclaims', nameIn(volume, 'persistentVolumeClaim', 'claimName')],
  ...list(nameIn(volume, 'projected', 'sources')).flatMap((source): Found[] => [
    ['volume', 'configmaps', nameIn(source, 'configMap', 'name')],
    ['volume', 'secrets', nameIn(source, 'secret', 'name')],
  ]),
];

const ofContainer = (container: Record<string, unknown>): Found[] => [
  ...list(container['envFrom']).flatMap((from): Found[] => [
    ['environment', 'configmaps', nameIn(from, 'configMapRef', 'name')],
    ['environment', 'secrets', nameIn(from, 'secretRef', 'name')],
  ]),
  ...list(container['env']).flatMap((variable): Found[] => [
    ['environment', 'configmaps', nameIn(variable, 'valueFrom', 'configMapKeyRef', 'name')],
    ['environment', 'secrets', nameIn(variable, 'valueFrom', 'secretKeyRef', 'name')],
  ]),
];

/** What the spec of a pod names. */
const ofPodSpec = (spec: Record<string, unknown>): Found[] => [
  ['node', 'nodes', spec['nodeName']],
  ['account', 'serviceaccounts', spec['serviceAccountName']],
  ['priority', 'priorityclasses', spec['priorityClassName'], 'scheduling'],
  ...list(spec['imagePullSecrets']).map(({name}): Found => ['image pull', 'secrets', name]),
  ...list(spec['volumes']).flatMap(ofVolume),
  ...[...list(spec['initContainers']), ...list(spec['containers'])].flatMap(ofContainer),
];

const ofIngress = (spec: Record<string, unknown>): Found[] => [
  ['backend', 'services', nameIn(spec, 'defaultBackend', 'service', 'name')],
  ['class', 'ingressclasses', spec['ingressClassName'], 'networking'],
  ...list(spec['rules']).flatMap(rule =>
    list(nameIn(rule, 'http', 'paths')).map((path): Found => ['backend', 'services', nameIn(path, 'backend', 'service', 'name')]),
  ),
  ...list(spec['tls']).map((tls): Found => ['certificate', 'secrets', tls['secretName']]),
];

const ofPlural: Readonly<Record<string, (spec: Record<string, unknown>, object: AnyObject) => readonly Found[]>> = {
  pods: ofPodSpec,
  persistentvolumeclaims: spec => [
    ['volume', 'persistentvolumes', spec['volumeName']],
    ['class', 'storageclasses', spec['storageClassName'], 'storage'],
  ],
  ingresses: ofIngress,
  statefulsets: spec => [['service', 'services', spec['serviceName']]],
  volumeattachments: spec => [
    ['node', 'nodes', spec['nodeName']],
    ['volume', 'persistentvolumes', nameIn(spec, 'source', 'persistentVolumeName')],
  ],
  endpointslices: (_, {metadata}) =>
    Object.entries(metadata.labels ?? {})
      .filter(([key]) => key.endsWith('/service-name'))
      .map(([, name]): Found => ['service', 'services', name]),
};

const resolve = (namespace: string, [why, plural, name, group = '']: Found): Reference[] => {
  const resource = kindOf(plural, group);
  return resource && typeof name === 'string' && name !== ''
    ? [{why, resource, namespace: resource.isNamespaced ? namespace : '', name}]
    : [];
};

/** References that name the kind they lead to. */
const ofNamed = (why: string, reference: unknown, namespace: string): Reference[] => {
  const {kind, name, apiVersion, apiGroup, namespace: own} = record(reference);
  const resource =
    typeof kind === 'string'
      ? kindNamed(kind, typeof apiVersion === 'string' ? apiVersion : typeof apiGroup === 'string' && apiGroup ? `${apiGroup}/` : 'v1')
      : undefined;
  return resource && typeof name === 'string'
    ? [{why, resource, namespace: resource.isNamespaced ? (typeof own === 'string' ? own : namespace) : '', name}]
    : [];
};

/** Returns what an object names in its spec. */
export const referencesOf = (resource: Resource, object: AnyObject): Reference[] => {
  const {namespace = ''} = object.metadata;
  const spec = record(object.spec);
  const template = record(nameIn(spec, 'template', 'spec') ?? nameIn(spec, 'jobTemplate', 'spec', 'template', 'spec'));
  const own = [...(ofPlural[resource.plural]?.(spec, object) ?? []), ...(resource.plural === 'pods' ? [] : ofPodSpec(template))];
  const {roleRef, subjects} = object as {roleRef?: unknown; subjects?: unknown};
  const references = [
    ...own.flatMap(found => resolve(namespace, found)),
    ...ofNamed('scales', spec['scaleTargetRef'], namespace),
    ...ofNamed('role', roleRef, namespace),
    ...list(subjects).flatMap(subject => ofNamed('subject', subject, namespace)),
    ...(resource.plural === 'persistentvolumes'
      ? ofNamed('claim', {kind: 'PersistentVolumeClaim', ...record(spec['claimRef'])}, namespace)
      : []),
    ...ofNamed('about', (object as {involvedObject?: unknown}).involvedObject ?? (object as {regarding?: unknown}).regarding, namespace),
  ];
  const seen = new Set<string>();
  return references.filter(({resource: {plural}, name, namespace: at}) => {
    const key = `${plural}/${at}/${name}`;
    return seen.size < seen.add(key).size;
  });
};

const workloads: ReadonlySet<string> = new Set([
  'deployments',
  'replicasets',
  'statefulsets',
  'daemonsets',
  'jobs',
  'replicationcontrollers',
]);

/** Whether the pods that objects of a kind select are also theirs. */
export const ownsSelected = ({plural}: Resource): boolean => workloads.has(plural);

/** Returns the labels by which an object selects pods, as the text of a selector. */
export const selectorOf = ({spec}: AnyObject, {plural}: Resource): string | undefined => {
  const selector =
    plural === 'services'
      ? {matchLabels: record(spec)['selector']}
      : plural === 'networkpolicies'
        ? record(spec)['podSelector']
        : record(spec)['selector'];
  const {matchLabels, matchExpressions} = record(selector);
  const terms = [
    ...Object.entries(record(matchLabels)).map(([key, value]) => `${key}=${String(value)}`),
    ...list(matchExpressions).map(({key, operator, values}) => {
      const name = String(key);
      if (operator === 'Exists') return name;
      if (operator === 'DoesNotExist') return `!${name}`;
      return `${name} ${operator === 'NotIn' ? 'notin' : 'in'} (${(values as readonly string[] | undefined)?.join(',') ?? ''})`;
    }),
  ];
  return terms.length === 0 ? undefined : terms.join(',');
};
