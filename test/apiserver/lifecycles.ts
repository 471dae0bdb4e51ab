import type {ExecutionContext} from 'ava';
import {naming} from '#src/api/naming.js';
import type {KubeList, KubeObject} from '#src/api/types.js';
import {certificatePem} from '#src/pki/certificate.js';
import {createAuthority} from '#src/pki/authority.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {names, samples} from './samples.js';
import type {wire} from './wire.js';

export type Wire = ReturnType<typeof wire>;
type Status = Readonly<Record<string, unknown>>;

/** A kind whose operations the suite tests one by one, and the values it writes. */
export interface Lifecycle {
  /** Group, version and plural; the core group is empty. */
  readonly of: readonly [group: string, version: string, plural: string];
  readonly kind: string;
  readonly clusterScoped?: boolean;
  /** A status that the suite patches, and the change it makes with a PUT. */
  readonly status?: readonly [patched: Status, put: Status];
  /** Whether status writes leave metadata alone. */
  readonly statusOnly?: boolean;
  /** Whether a finalizer keeps deleted objects until they are unused. */
  readonly held?: boolean;
  /** The fields of the suite's objects beyond a sample of the kind. */
  readonly spec?: object;
}

const words = naming('kubernetes');
const authority = createAuthority(await generatePrivateKey(), {commonName: 'authority', now: Date.UTC(2026, 0, 1)}).certificate;
const certificate = Buffer.from(certificatePem(authority)).toString('base64');
const patchedBy = [{type: 'StatusPatched', status: 'False', reason: 'E2E'}];
const updated = {type: 'StatusUpdate', status: 'True', reason: 'E2E', message: 'Set by a test'};
const conditions = [{conditions: patchedBy}, {conditions: [...patchedBy, updated]}] as const;
const times = {lastTransitionTime: '2026-01-01T00:00:00Z'};
const balanced = (ip: string) => ({loadBalancer: {ingress: [{ip, ipMode: 'VIP'}]}});

export const lifecycles: readonly Lifecycle[] = [
  {of: ['', 'v1', 'configmaps'], kind: 'ConfigMap'},
  {of: ['', 'v1', 'secrets'], kind: 'Secret'},
  {of: ['', 'v1', 'serviceaccounts'], kind: 'ServiceAccount'},
  {of: ['', 'v1', 'endpoints'], kind: 'Endpoints'},
  {of: ['', 'v1', 'podtemplates'], kind: 'PodTemplate'},
  {of: ['', 'v1', 'limitranges'], kind: 'LimitRange'},
  {of: ['', 'v1', 'events'], kind: 'Event'},
  {of: ['events.k8s.io', 'v1', 'events'], kind: 'Event'},
  {
    of: ['', 'v1', 'services'],
    kind: 'Service',
    spec: {type: 'LoadBalancer', ports: [{port: 80}]},
    status: [balanced('203.0.113.1'), {...balanced('203.0.113.1'), conditions: [{...updated, ...times}]}],
  },
  {
    of: ['', 'v1', 'persistentvolumes'],
    kind: 'PersistentVolume',
    clusterScoped: true,
    held: true,
    status: [
      {phase: 'Available', message: 'StatusPatched', reason: 'E2E'},
      {phase: 'Available', message: 'StatusUpdated', reason: 'E2E'},
    ],
  },
  {of: ['', 'v1', 'persistentvolumeclaims'], kind: 'PersistentVolumeClaim', held: true, status: conditions},
  {
    of: ['certificates.k8s.io', 'v1', 'certificatesigningrequests'],
    kind: 'CertificateSigningRequest',
    clusterScoped: true,
    status: [{certificate}, {certificate, conditions: [updated]}],
  },
  {of: ['coordination.k8s.io', 'v1', 'leases'], kind: 'Lease'},
  {of: ['discovery.k8s.io', 'v1', 'endpointslices'], kind: 'EndpointSlice'},
  {
    of: ['flowcontrol.apiserver.k8s.io', 'v1', 'flowschemas'],
    kind: 'FlowSchema',
    clusterScoped: true,
    statusOnly: true,
    status: conditions,
  },
  {
    of: ['flowcontrol.apiserver.k8s.io', 'v1', 'prioritylevelconfigurations'],
    kind: 'PriorityLevelConfiguration',
    clusterScoped: true,
    statusOnly: true,
    status: conditions,
  },
  {
    of: ['networking.k8s.io', 'v1', 'ingresses'],
    kind: 'Ingress',
    status: [{loadBalancer: {ingress: [{ip: '169.1.1.1'}]}}, {loadBalancer: {ingress: [{ip: '169.1.1.2'}]}}],
  },
  {of: ['networking.k8s.io', 'v1', 'ingressclasses'], kind: 'IngressClass', clusterScoped: true},
  {of: ['networking.k8s.io', 'v1', 'networkpolicies'], kind: 'NetworkPolicy'},
  {
    of: ['networking.k8s.io', 'v1', 'servicecidrs'],
    kind: 'ServiceCIDR',
    clusterScoped: true,
    held: true,
    statusOnly: true,
    status: [
      {conditions: [{...patchedBy[0], message: '', ...times}]},
      {
        conditions: [
          {...patchedBy[0], message: '', ...times},
          {...updated, ...times},
        ],
      },
    ],
  },
  {of: ['networking.k8s.io', 'v1', 'ipaddresses'], kind: 'IPAddress', clusterScoped: true},
  {of: ['node.k8s.io', 'v1', 'runtimeclasses'], kind: 'RuntimeClass', clusterScoped: true},
  {of: ['policy', 'v1', 'poddisruptionbudgets'], kind: 'PodDisruptionBudget'},
  {of: ['rbac.authorization.k8s.io', 'v1', 'clusterroles'], kind: 'ClusterRole', clusterScoped: true},
  {of: ['scheduling.k8s.io', 'v1', 'priorityclasses'], kind: 'PriorityClass', clusterScoped: true},
  {of: ['storage.k8s.io', 'v1', 'csidrivers'], kind: 'CSIDriver', clusterScoped: true},
  {of: ['storage.k8s.io', 'v1', 'csinodes'], kind: 'CSINode', clusterScoped: true},
  {of: ['storage.k8s.io', 'v1', 'csistoragecapacities'], kind: 'CSIStorageCapacity'},
  {of: ['storage.k8s.io', 'v1', 'storageclasses'], kind: 'StorageClass', clusterScoped: true},
  {
    of: ['storage.k8s.io', 'v1', 'volumeattachments'],
    kind: 'VolumeAttachment',
    clusterScoped: true,
    statusOnly: true,
    status: [{attached: true}, {attached: false}],
  },
  {of: ['storage.k8s.io', 'v1', 'volumeattributesclasses'], kind: 'VolumeAttributesClass', clusterScoped: true, held: true},
];

interface Group {
  readonly name: string;
  readonly versions: readonly {readonly version: string}[];
}

/** The three documents of discovery, from the outermost: each leads to the next. */
const discovers = async (t: ExecutionContext, {get}: Wire, {of: [group, version, plural], status}: Lifecycle): Promise<void> => {
  if (group) {
    const {groups} = (await get('/apis')).json<{groups: Group[]}>();
    t.true(groups.find(({name}) => name === group)?.versions.some(each => each.version === version));
    t.true((await get(`/apis/${group}`)).json<Group>().versions.some(each => each.version === version));
  }
  const {resources} = (await get(group ? `/apis/${group}/${version}` : `/api/${version}`)).json<{resources: {name: string}[]}>();
  for (const name of [plural, ...(status ? [`${plural}/status`] : [])])
    t.true(
      resources.some(resource => resource.name === name),
      name,
    );
};

const annotated = (key: string) => ({metadata: {annotations: {[key]: 'true'}}});

/** Runs the operations of a kind in the order of the suite, and compares the events of a watch. */
export const lives = async (t: ExecutionContext, env: Wire & {settle(): Promise<void>}, row: Lifecycle): Promise<void> => {
  const {get, post, put, patch, remove, watch} = env;
  const {
    of: [group, version, plural],
    kind,
    clusterScoped = false,
    status,
    statusOnly = false,
    held = false,
    spec,
  } = row;
  const namespace = `of-${group ? `${group.split('.')[0]}-` : ''}${plural}`;
  const known = samples(words);
  const above = `${group ? `/apis/${group}` : '/api'}/${version}`;
  const collection = clusterScoped ? `${above}/${plural}` : `${above}/namespaces/${namespace}/${plural}`;
  const selector = `labelSelector=suite=${namespace}`;
  const sample = JSON.parse(
    JSON.stringify(known[`${group}/${kind}`] ?? known[kind] ?? {}).replaceAll('"namespace":"default"', `"namespace":"${namespace}"`),
  ) as object;
  const called = ['one', 'a', 'b'].map(name => names[kind]?.[name] ?? `${name}-${namespace}`) as [string, string, string];
  const make = (name: string) => ({metadata: {name, labels: {suite: namespace}}, ...sample, ...(spec ? {spec} : {})});
  const [one] = called;
  const item = `${collection}/${one}`;
  const list = async (from = collection) => (await get(`${from}?${selector}`)).json<KubeList<KubeObject>>();

  await discovers(t, env, row);
  if (!clusterScoped) await post('/api/v1/namespaces', {metadata: {name: namespace}});
  for (const name of called) {
    const made = await post(collection, make(name));
    t.is(made.status, 201, made.text);
  }
  t.is((await post(collection, make(one))).status, 409);
  const uid = (await get(item)).json().metadata?.uid;
  const listed = await list();
  t.is(listed.items.length, 3);
  if (!clusterScoped) t.is((await list(`${above}/${plural}`)).items.length, 3);

  using stream = await watch(`${collection}?watch=1&${selector}&resourceVersion=${listed.metadata?.resourceVersion}`);
  const patched = await patch(item, annotated('patched'));
  t.is(patched.json().metadata?.annotations?.['patched'], 'true', patched.text);
  const put1 = await put(item, {
    ...patched.json<KubeObject>(),
    metadata: {...patched.json().metadata, annotations: {patched: 'true', updated: 'true'}},
  });
  t.is(put1.json().metadata?.annotations?.['updated'], 'true', put1.text);

  if (status) {
    t.like((await get(`${item}/status`)).json(), {kind, metadata: {uid: uid!}});
    const patchedStatus = await patch(`${item}/status`, {...annotated('patchedstatus'), status: status[0]});
    t.like(patchedStatus.json<{status: object}>().status, status[0], patchedStatus.text);
    t.is(patchedStatus.json().metadata?.annotations?.['patchedstatus'], statusOnly ? undefined : 'true');
    const updatedStatus = await put(`${item}/status`, {...patchedStatus.json<KubeObject>(), status: status[1]});
    t.like(updatedStatus.json<{status: object}>().status, status[1], updatedStatus.text);
    t.deepEqual((await get(item)).json(), updatedStatus.json());
  }

  const letGo = async (name: string) => held && (await patch(`${collection}/${name}`, {metadata: {finalizers: null}}));
  await letGo(one);
  t.is((await remove(item)).status, 200);
  await env.settle();
  t.is((await get(item)).status, 404);
  t.is((await list()).items.length, 2);
  for (const name of called.slice(1)) await letGo(name);
  t.is((await remove(`${collection}?${selector}`)).status, 200);
  await env.settle();
  t.deepEqual((await list()).items, []);

  // Controllers may change it too.
  t.true(stream.summaries.filter(event => event === `MODIFIED ${one}`).length >= (status ? 4 : 2));
  t.deepEqual(
    stream.summaries.filter(event => !event.startsWith('MODIFIED')),
    [one, ...called.slice(1).sort()].map(name => `DELETED ${name}`),
  );
  const versions = stream.events.map(({object}) => Number(object.metadata?.resourceVersion));
  t.deepEqual(
    versions,
    [...new Set(versions)].sort((a, b) => a - b),
    'in the order of their versions',
  );
  if (!clusterScoped) await remove(`/api/v1/namespaces/${namespace}`);
};
