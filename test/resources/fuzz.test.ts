import test from 'ava';
import {agoFrom} from '#src/api/duration.js';
import {collectionPath, kinds} from '#src/api/kinds/index.js';
import {StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {seededRandom} from '#src/base/random.js';
import {createPlugins} from '#src/apiserver/admission-plugins.js';
import {registryReader} from '#src/apiserver/registry/read/reader.js';
import {optionalAdmissionPlugins} from '#src/options/apiserver/admission.js';
import {escalationCheck} from '#src/apiserver/authorization/escalation.js';
import {aPluginContext} from '#test/apiserver/admission/context.js';
import {samples as validSamples} from '#test/apiserver/samples.js';
import {rbacOf} from '#test/apiserver/authorization/policy.js';
import {startServer} from '#test/fixtures/server.js';
import {jane, words} from './environment.js';

const {float} = seededRandom(7);
const oneOf = <T>(choices: readonly T[]): T => choices[Math.floor(float() * choices.length)]!;

const junk = (): unknown =>
  oneOf([
    null,
    0,
    -1,
    1.5,
    1e20,
    true,
    '',
    'x',
    '__proto__',
    'constructor',
    [],
    [null],
    ['x'],
    [{}],
    [[]],
    {},
    {a: null},
    {a: 'b'},
    'MjAyNg==',
    '2026-01-01T00:00:00Z',
  ]);

/** The value with parts lost, replaced by junk, or added: the more often, the nearer `rate` is to one. */
const mangled = (value: unknown, rate = 0.2): unknown => {
  if (float() < rate) return junk();
  if (Array.isArray(value)) return [...value.map(item => mangled(item, rate)), ...(float() < rate ? [junk()] : [])];
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).flatMap(([name, field]) => (float() < 1 - rate / 2 ? [[name, mangled(field, rate)] as const] : []));
  return Object.fromEntries([
    ...fields,
    ...(float() < rate / 2 ? [[oneOf(['__proto__', 'constructor', 'toString']), junk()] as const] : []),
  ]);
};

const time = '2026-01-01T00:00:00.000000Z';
const selector = {requirements: [{key: 'a', operator: 'In', values: ['b']}], rawSelector: 'x'};
const review = {
  spec: {
    user: 'a',
    groups: ['b'],
    extra: {a: ['b']},
    resourceAttributes: {verb: 'get', labelSelector: selector, fieldSelector: selector},
    nonResourceAttributes: {path: '/', verb: 'x'},
  },
};
const event = {series: {count: 1, lastObservedTime: time}, eventTime: time, type: 'Normal', related: {kind: 'x'}};
const rules = [{verbs: ['get'], apiGroups: [''], resources: ['x'], resourceNames: ['a'], nonResourceURLs: ['x']}];
const subjects = [
  {kind: 'User', name: 'x'},
  {kind: 'ServiceAccount', name: 'x', namespace: 'y'},
];

/** Something of everything that the hooks of a kind look at whose smallest object has little. */
const samples: Readonly<Record<string, object>> = {
  namespaces: {spec: {finalizers: ['a']}, status: {phase: 'x', conditions: [{type: 'a', status: 'True'}]}},
  nodes: {
    spec: {
      taints: [{key: 'a', effect: 'NoSchedule', value: 'x'}],
      podCIDR: '1.2.3.4/5',
      podCIDRs: ['x'],
      providerID: 'x',
      unschedulable: true,
    },
    status: {
      capacity: {cpu: '1'},
      allocatable: {cpu: '1'},
      addresses: [{type: 'a', address: 'b'}],
      conditions: [{type: 'Ready', status: 'True'}],
    },
  },
  secrets: {data: {a: 'eA=='}, stringData: {a: 'b'}, type: 'plat.io/tls', immutable: true},
  configmaps: {data: {a: 'b'}, binaryData: {b: 'eA=='}, immutable: false},
  serviceaccounts: {secrets: [{name: 'a'}], imagePullSecrets: [{name: 'a'}]},
  events: {
    ...event,
    involvedObject: {kind: 'a', name: 'b'},
    source: {component: 'a'},
    count: 1,
    regarding: {kind: 'x'},
    note: 'x',
    message: 'y',
  },
  leases: {spec: {leaseDurationSeconds: 1, strategy: 'x', preferredHolder: 'b', renewTime: time}},
  certificatesigningrequests: {
    spec: {request: 'eA==', signerName: 'a.b/c', usages: ['any'], expirationSeconds: 600},
    status: {conditions: [{type: 'a', status: 'True'}], certificate: 'eA=='},
  },
  roles: {rules},
  clusterroles: {rules, aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: 'b'}, matchExpressions: selector.requirements}]}},
  rolebindings: {roleRef: {kind: 'Role', name: 'a'}, subjects},
  clusterrolebindings: {roleRef: {kind: 'ClusterRole', name: 'a'}, subjects},
  tokenreviews: {spec: {token: 'x', audiences: ['a']}},
  selfsubjectreviews: {},
  subjectaccessreviews: review,
  localsubjectaccessreviews: review,
  selfsubjectaccessreviews: review,
  selfsubjectrulesreviews: {spec: {namespace: 'x'}},
};

const valid = validSamples(words);

const nameOf = (kind: string, i: number): string => {
  if (kind === 'IPAddress') return `10.9.0.${i}`;
  return kind === 'StorageVersion' ? `a.n${i}` : `n${i}`;
};

const metadata = (name: string): unknown => {
  if (float() < 0.1) return junk();
  const more = {
    labels: {a: 'b'},
    annotations: {a: 'b'},
    finalizers: ['a/b'],
    ownerReferences: [{apiVersion: 'v1', kind: 'x', name: 'a', uid: 'b'}],
    managedFields: [{manager: 'x', operation: 'Update'}],
  };
  return {name, ...(float() < 0.2 ? (mangled(more) as object) : {})};
};

test('no object that anyone can write is more than a kind can bear', async t => {
  const failures: unknown[] = [];
  const {rbac} = await rbacOf();
  const check = escalationCheck({naming: words, rbac, authorizer: rbac});
  const {server, clientOf} = startServer({
    failed: error => void failures.push(error),
    admission: registry => {
      const reader = registryReader(registry);
      const context = aPluginContext({reader, findNamespace: name => reader.get(kinds.namespaces, '', name), gate: () => true});
      const enable = optionalAdmissionPlugins.filter(name => !['AlwaysDeny', 'EventRateLimit', 'ImagePolicyWebhook'].includes(name));
      return [...createPlugins({enable, disable: ['NamespaceLifecycle', 'NamespaceExists']}, context), check];
    },
  });
  const client = clientOf(jane);
  await client.resource(kinds.namespaces).create({metadata: {name: 'default'}});
  await client.resource(kinds.serviceAccounts).create({metadata: {name: 'default', namespace: 'default'}});
  const send = async (method: string, path: string, body: unknown): Promise<KubeObject | undefined> => {
    try {
      return (await client.request(method, path, {body})) as KubeObject;
    } catch (error) {
      t.true(error instanceof StatusError, String(error));
      return undefined;
    }
  };

  for (const {kind, resource} of server.registry.served) {
    const collection = collectionPath(words, kind, kind.namespaced ? 'default' : undefined);
    const addresses = ['', ...Object.keys(resource.definition.subresources ?? {}).map(name => `/${name}`)];
    const sample = samples[kind.plural] ?? valid[`${words.group(kind.group)}/${kind.kind}`] ?? valid[kind.kind] ?? {};
    for (let i = 0; i < 20; i++) {
      const rate = oneOf([0.02, 0.2]);
      const made = await send('POST', collection, {metadata: metadata(nameOf(kind.kind, i)), ...(mangled(sample, rate) as object)});
      if (!made || resource.definition.review) continue;
      const object = `${collection}/${encodeURIComponent(made.metadata?.name ?? '')}`;
      for (const address of addresses)
        await send('PUT', object + address, {...made, ...(mangled(sample, rate) as object), metadata: made.metadata});
      const stored = (await send('GET', object, undefined)) ?? made;
      for (const column of resource.definition.presentation?.columns ?? []) t.notThrows(() => column.of(stored, agoFrom(0), words));
    }
  }

  t.deepEqual(failures, []);
});
