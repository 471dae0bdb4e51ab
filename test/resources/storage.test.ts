import test from 'ava';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {warningsOf} from './warnings.js';
import {findings, problems, startEnvironment} from './environment.js';

const namespace = 'default';

type Volume = ObjectOf<typeof kinds.persistentVolumes>;
type Claim = ObjectOf<typeof kinds.persistentVolumeClaims>;

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const aVolume = (spec: Volume['spec'] = {}): Volume => ({
  metadata: {name: 'v'},
  spec: {capacity: {storage: '1Gi'}, accessModes: ['ReadWriteOnce'], hostPath: {path: '/data'}, ...spec},
});
const aClaim = (spec: Claim['spec'] = {}): Claim => ({
  metadata: {name: 'c', namespace},
  spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}, ...spec},
});

test('a volume begins pending, kept and a file system', async t => {
  const {of, row} = await startEnvironment();
  const made = await of(kinds.persistentVolumes).create({...aVolume(), status: {phase: 'Bound'}});

  t.like(made.spec, {persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem', hostPath: {path: '/data', type: ''}});
  t.is(made.status?.phase, 'Pending');
  t.truthy(made.status?.lastPhaseTransitionTime);
  t.like(await row(kinds.persistentVolumes, made), {
    Capacity: '1Gi',
    'Access Modes': 'RWO',
    'Reclaim Policy': 'Retain',
    Status: 'Pending',
    Claim: '',
    VolumeAttributesClass: '<unset>',
  });
});

test('a status without a transition time keeps that of the volume', async t => {
  const {of} = await startEnvironment();
  const volumes = of(kinds.persistentVolumes);
  const {status, ...made} = await volumes.create(aVolume());
  const reported = await volumes.update({...made, status: {message: 'm'}}, {subresource: 'status'});

  t.deepEqual(reported.status, {...status, message: 'm'});
});

const volumeCases: [title: string, spec: Volume['spec'], expected: string[]][] = [
  ['lies at one place', {nfs: {server: 's', path: '/'}}, ['spec.nfs: Forbidden: may not specify more than 1 volume type']],
  ['has a size', {capacity: {}}, ['spec.capacity: Required value', 'spec.capacity: Unsupported value: null: supported values: "storage"']],
  [
    'has known modes',
    {accessModes: ['Odd']},
    ['spec.accessModes: Unsupported value: "Odd": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'],
  ],
  ['has monitors', {hostPath: null as never, cephfs: {monitors: []}}, ['spec.cephfs.monitors: Required value']],
  [
    'of the whole disk is not wiped',
    {hostPath: {path: '/'}, persistentVolumeReclaimPolicy: 'Recycle'},
    ["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"],
  ],
  [
    'has properties if a driver knows them',
    {volumeAttributesClassName: 'fast'},
    ['spec.csi: Required value: has to be specified when using volumeAttributesClassName'],
  ],
];

for (const [title, spec, expected] of volumeCases) {
  test(`a volume ${title}`, async t => {
    const {of} = await startEnvironment();

    t.deepEqual(await problems(of(kinds.persistentVolumes).create(aVolume(spec))), expected);
  });
}

test('a local volume has node affinity, and the source of every volume is immutable', async t => {
  const {of} = await startEnvironment();
  const {hostPath: _, ...rest} = aVolume().spec!;
  t.deepEqual(await problems(of(kinds.persistentVolumes).create({metadata: {name: 'l'}, spec: {...rest, local: {path: '/x'}}})), [
    'spec.nodeAffinity: Required value: Local volume requires node affinity',
  ]);

  const made = await of(kinds.persistentVolumes).create(aVolume());
  t.deepEqual(await problems(of(kinds.persistentVolumes).update({...made, spec: {...made.spec, hostPath: {path: '/other'}}})), [
    'spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n@@ -2,7 +2,7 @@\n  "GCEPersistentDisk": null,\n  "AWSElasticBlockStore": null,\n  "HostPath": {\n-  "Path": "/data",\n+  "Path": "/other",\n   "Type": ""\n  },\n  "Glusterfs": null,\n',
  ]);
});

test('a bound claim may grow, and nothing else of a claim changes', async t => {
  const {of} = await startEnvironment();
  const claims = of(kinds.persistentVolumeClaims);
  const made = await claims.create(aClaim());
  const bigger = (claim: Claim): Claim => ({...claim, spec: {...claim.spec, resources: {requests: {storage: '2Gi'}}}});
  const refused = (text: string) =>
    `spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${text}`;
  t.is(made.status?.phase, 'Pending');
  t.deepEqual(await problems(claims.update(bigger(made))), [
    refused(
      '@@ -6,7 +6,7 @@\n  "Resources": {\n   "Limits": null,\n   "Requests": {\n-   "storage": "1Gi"\n+   "storage": "2Gi"\n   }\n  },\n  "VolumeName": "",\n',
    ),
  ]);

  const bound = await claims.update(
    {...(await claims.update({...made, spec: {...made.spec, volumeName: 'v'}})), status: {phase: 'Bound', capacity: {storage: '1Gi'}}},
    {subresource: 'status'},
  );
  const grown = await claims.update(bigger(bound));
  t.is(grown.spec?.resources?.requests?.['storage'], '2Gi');
  t.deepEqual(await problems(claims.update({...grown, spec: {...grown.spec, volumeName: 'w'}})), [
    refused(
      '@@ -9,7 +9,7 @@\n    "storage": "2Gi"\n   }\n  },\n- "VolumeName": "v",\n+ "VolumeName": "w",\n  "StorageClassName": null,\n  "VolumeMode": "Filesystem",\n  "DataSource": null,\n',
    ),
  ]);
  t.deepEqual(await problems(claims.update({...grown, spec: {...grown.spec, resources: {requests: {storage: '1Gi'}}}})), [
    'spec.resources.requests.storage: Forbidden: field can not be less than status.capacity',
  ]);
});

test('both fields for the data source of a claim have the same value', async t => {
  const {of} = await startEnvironment();
  const {spec} = await of(kinds.persistentVolumeClaims).create(aClaim({dataSource: {kind: 'PersistentVolumeClaim', name: 'old'}}));

  t.deepEqual(spec?.dataSourceRef as unknown, {apiGroup: null, kind: 'PersistentVolumeClaim', name: 'old'});
});

const claimCases: [title: string, spec: Claim['spec'], expected: string[]][] = [
  [
    'of a group that is none',
    {dataSourceRef: {apiGroup: 'A', kind: 'K', name: 'n'}},
    [`spec.dataSource.apiGroup: Invalid value: "A": ${subdomain}`, `spec.dataSourceRef.apiGroup: Invalid value: "A": ${subdomain}`],
  ],
  [
    'of no kind',
    {dataSourceRef: {kind: '', name: ''}},
    [
      'spec.dataSource.name: Required value',
      'spec.dataSource.kind: Required value',
      'spec.dataSource: Invalid value: "": must be \'PersistentVolumeClaim\' when referencing the default apiGroup',
      'spec.dataSourceRef.name: Required value',
      'spec.dataSourceRef.kind: Required value',
      'spec.dataSourceRef: Invalid value: "": must be \'PersistentVolumeClaim\' when referencing the default apiGroup',
    ],
  ],
];

for (const [title, spec, expected] of claimCases) {
  test(`a claim from a source ${title} is refused`, async t => {
    const {of} = await startEnvironment();

    t.deepEqual(await problems(of(kinds.persistentVolumeClaims).create(aClaim(spec))), expected);
  });
}

const sourceCases: [title: string, gates: string[], spec: Claim['spec'], expected: object][] = [
  ['elsewhere is dropped without its gate', [], {dataSourceRef: {kind: 'PersistentVolumeClaim', name: 'n', namespace: 'm'}}, {}],
  [
    'elsewhere stays with its gate',
    ['CrossNamespaceVolumeDataSource'],
    {dataSourceRef: {kind: 'PersistentVolumeClaim', name: 'n', namespace: 'm'}},
    {dataSourceRef: {apiGroup: null, kind: 'PersistentVolumeClaim', name: 'n', namespace: 'm'}},
  ],
  ['of another kind is dropped from the old field', [], {dataSource: {apiGroup: 'a.b', kind: 'K', name: 'n'}}, {}],
  [
    'of another kind stays when both fields name it',
    [],
    {dataSource: {apiGroup: 'a.b', kind: 'K', name: 'n'}, dataSourceRef: {apiGroup: 'a.b', kind: 'K', name: 'n'}},
    {dataSource: {apiGroup: 'a.b', kind: 'K', name: 'n'}, dataSourceRef: {apiGroup: 'a.b', kind: 'K', name: 'n'}},
  ],
];

for (const [title, gates, spec, expected] of sourceCases) {
  test(`a source of a claim ${title}`, async t => {
    const {of} = await startEnvironment({gate: name => gates.includes(name)});
    const made = await of(kinds.persistentVolumeClaims).create(aClaim(spec));

    t.deepEqual(
      {
        ...(made.spec?.dataSource ? {dataSource: made.spec.dataSource} : {}),
        ...(made.spec?.dataSourceRef ? {dataSourceRef: made.spec.dataSourceRef} : {}),
      },
      expected,
    );
  });
}

test('a claim from a namespace that none can be is refused', async t => {
  const {of} = await startEnvironment({gate: () => true});

  t.deepEqual(
    await problems(
      of(kinds.persistentVolumeClaims).create(aClaim({dataSourceRef: {kind: 'PersistentVolumeClaim', name: 'n', namespace: 'a.b'}})),
    ),
    ['spec.dataSourceRef.namespace: Invalid value: "a.b": must not contain dots'],
  );
});

test('a claim keeps the class that an annotation gives it', async t => {
  const {of} = await startEnvironment();
  const annotations = {'volume.beta.plat.io/storage-class': 'a'};
  const made = await of(kinds.persistentVolumeClaims).create({...aClaim(), metadata: {name: 'c', namespace, annotations}});
  const {annotations: _none, ...metadata} = made.metadata!;

  t.deepEqual(await problems(of(kinds.persistentVolumeClaims).update({...made, metadata})), [
    'metadata.annotations.volume.beta.plat.io/storage-class: Invalid value: "": field is immutable',
  ]);
  t.deepEqual(
    await findings(of(kinds.persistentVolumeClaims).update({...made, metadata, spec: {...made.spec, storageClassName: 'a'}})),
    [],
  );
});

const affinity = (key: string, value = 'z') => ({
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key, operator: 'In', values: [value]}]}]}},
});

test('a volume stays where it is, but its labels may have their new names', async t => {
  const env = await startEnvironment();
  const volumes = env.of(kinds.persistentVolumes);
  const made = await volumes.create(aVolume(affinity('failure-domain.beta.plat.io/zone')));
  const moved = (to: object) => volumes.update({...made, spec: {...made.spec, ...to}});

  t.deepEqual(await problems(moved(affinity('topology.plat.io/zone', 'y'))), [
    'nodeAffinity: Invalid value: {"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"topology.plat.io/zone","Operator":"In","Values":["y"]}],"MatchFields":null}]}}: field is immutable, except for updating from beta label to GA',
  ]);
  t.deepEqual(await findings(moved(affinity('topology.plat.io/zone'))), []);
});

test('a volume may go elsewhere with its gate', async t => {
  const {of} = await startEnvironment({gate: name => name === 'MutablePVNodeAffinity'});
  const made = await of(kinds.persistentVolumes).create(aVolume(affinity('a')));

  t.deepEqual(await findings(of(kinds.persistentVolumes).update({...made, spec: {...made.spec, ...affinity('b')}})), []);
});

test('mount options are for filesystem volumes', async t => {
  const {of} = await startEnvironment();
  const metadata = {name: 'v', annotations: {'volume.beta.plat.io/mount-options': 'ro'}};
  const {hostPath: _none, ...spec} = aVolume().spec!;

  t.deepEqual(await problems(of(kinds.persistentVolumes).create({...aVolume(), metadata})), [
    'metadata.annotations.volume.beta.plat.io/mount-options: Forbidden: may not specify mount options for this volume type',
  ]);
  t.deepEqual(await findings(of(kinds.persistentVolumes).create({metadata, spec: {...spec, nfs: {server: 's', path: '/p'}}})), []);
});

test('old places of volumes and old labels of nodes are warned of', async t => {
  const {hostPath: _none, ...spec} = aVolume(affinity('beta.plat.io/os')).spec!;
  const env = await startEnvironment();

  t.deepEqual(
    await warningsOf(env, client =>
      client.resource(kinds.persistentVolumes).create({metadata: {name: 'v'}, spec: {...spec, storageos: {volumeName: 'v'}}}),
    ),
    [
      'spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: beta.plat.io/os is deprecated since v1.14; use "plat.io/os" instead',
      'spec.storageOS: deprecated in v1.22, non-functional in v1.25+',
    ],
  );
});

test('a class of storage is settled when it is made', async t => {
  const {of, row} = await startEnvironment();
  const made = await of(kinds.storageClasses).create({
    metadata: {name: 's', annotations: {'storageclass.plat.io/is-default-class': 'true'}},
    provisioner: 'example.com/p',
  });

  t.like(await row(kinds.storageClasses, made), {
    Name: 's (default)',
    ReclaimPolicy: 'Delete',
    VolumeBindingMode: 'Immediate',
    AllowVolumeExpansion: false,
  });
  t.deepEqual(await problems(of(kinds.storageClasses).update({...made, provisioner: 'q', reclaimPolicy: 'Retain', parameters: {a: 'b'}})), [
    'parameters: Forbidden: updates to parameters are forbidden.',
    'provisioner: Forbidden: updates to provisioner are forbidden.',
    'reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.',
  ]);
});

test('properties of volumes are there from the start, in both versions', async t => {
  const {of} = await startEnvironment();
  t.deepEqual(await problems(of(kinds.volumeAttributesClasses).create({metadata: {name: 'v'}, driverName: 'd'})), [
    'parameters: Required value: must contain at least one key/value pair',
  ]);
  await of(kinds.volumeAttributesClasses).create({metadata: {name: 'v'}, driverName: 'd', parameters: {a: 'b'}});

  t.like(await of(kinds.volumeAttributesClassesV1beta1).get('v'), {
    apiVersion: 'storage.plat.io/v1beta1',
    driverName: 'd',
    parameters: {a: 'b'},
  });
  t.is((await of(kinds.volumeAttributesClasses).get('v')).apiVersion, 'storage.plat.io/v1');
});

test('a driver has its capabilities, and its generation counts changes of the mutable ones', async t => {
  const {of} = await startEnvironment({gate: () => true});
  const drivers = of(kinds.csiDrivers);
  const made = await drivers.create({metadata: {name: 'd'}, spec: {}});
  t.like(made.spec, {
    attachRequired: true,
    podInfoOnMount: false,
    storageCapacity: false,
    fsGroupPolicy: 'ReadWriteOnceWithFSType',
    volumeLifecycleModes: ['Persistent'],
    requiresRepublish: false,
    seLinuxMount: false,
  });
  t.is(made.metadata?.generation, undefined);

  const changed = await drivers.update({...made, spec: {...made.spec, requiresRepublish: true}});
  t.is(changed.metadata?.generation, 1);
  t.deepEqual(await problems(drivers.update({...changed, spec: {...changed.spec, attachRequired: false}})), [
    'spec.attachedRequired: Invalid value: false: field is immutable',
  ]);
});

test('a node lists each driver once', async t => {
  const {of} = await startEnvironment();
  const driver = {name: 'd', nodeID: 'n', topologyKeys: ['a']};

  t.deepEqual(await problems(of(kinds.csiNodes).create({metadata: {name: 'n'}, spec: {drivers: [driver, driver]}})), [
    'spec.drivers[1].name: Duplicate value: "d"',
  ]);
});

test('an attachment is of one volume, and stays', async t => {
  const {of} = await startEnvironment();
  const spec = {attacher: 'd', nodeName: 'n', source: {persistentVolumeName: 'v'}};
  t.deepEqual(await problems(of(kinds.volumeAttachments).create({metadata: {name: 'a'}, spec: {...spec, source: {}}})), [
    'spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName',
  ]);
  const made = await of(kinds.volumeAttachments).create({metadata: {name: 'a'}, spec});

  t.deepEqual(made.status, {attached: false});
  t.regex(
    (await problems(of(kinds.volumeAttachments).update({...made, spec: {...spec, nodeName: 'm'}})))[0] ?? '',
    /^spec: Invalid value: .*: field is immutable$/,
  );
});

test('a list without items that is always there is null, as in the store', async t => {
  const {of} = await startEnvironment();
  const node = await of(kinds.csiNodes).create({metadata: {name: 'n'}, spec: {drivers: []}});
  const role = await of(kinds.clusterRoles).create({metadata: {name: 'r'}, rules: []});

  t.deepEqual([node.spec?.drivers, role.rules], [null, null] as never);
});
