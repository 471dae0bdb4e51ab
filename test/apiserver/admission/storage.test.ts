import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {jane, refusal} from '#test/resources/environment.js';
import {namespace, startWith} from './context.js';

const aClaim = (name: string, more: object = {}) => ({
  metadata: {name, namespace},
  spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}, ...more},
});
const isDefault = (sub: string) => ({annotations: {[`${sub}.plat.io/is-default-class`]: 'true'}});

test('a claim without a class gets the newest of the default ones', async t => {
  const {of, clock} = await startWith('DefaultStorageClass');
  t.is((await of(kinds.persistentVolumeClaims).create(aClaim('a'))).spec!.storageClassName, undefined);
  const add = (name: string) => of(kinds.storageClasses).create({metadata: {name, ...isDefault('storageclass')}, provisioner: 'p.io/x'});
  await add('old');
  await clock.advance(5000);
  await add('new-b');
  await add('new-a');

  t.is((await of(kinds.persistentVolumeClaims).create(aClaim('b'))).spec!.storageClassName, 'new-a');
  t.is((await of(kinds.persistentVolumeClaims).create(aClaim('c', {storageClassName: ''}))).spec!.storageClassName, '');
});

test('an ingress without a class gets the default one', async t => {
  const {of} = await startWith('DefaultIngressClass');
  await of(kinds.ingressClasses).create({metadata: {name: 'nginx', ...isDefault('ingressclass')}, spec: {controller: 'a.io/b'}});
  const spec = {defaultBackend: {service: {name: 's', port: {number: 80}}}};
  const ingresses = of(kinds.ingresses);

  t.is((await ingresses.create({metadata: {name: 'a', namespace}, spec})).spec!.ingressClassName, 'nginx');
  t.is(
    (await ingresses.create({metadata: {name: 'b', namespace, annotations: {'plat.io/ingress.class': 'x'}}, spec})).spec!.ingressClassName,
    undefined,
  );
});

test('claims and volumes are held while they are used', async t => {
  const {of} = await startWith('StorageObjectInUseProtection');
  const volume = {metadata: {name: 'v'}, spec: {capacity: {storage: '1Gi'}, accessModes: ['ReadWriteOnce'], hostPath: {path: '/x'}}};

  t.deepEqual((await of(kinds.persistentVolumeClaims).create(aClaim('a'))).metadata!.finalizers, ['plat.io/pvc-protection']);
  t.deepEqual((await of(kinds.persistentVolumes).create(volume)).metadata!.finalizers, ['plat.io/pv-protection']);
});

test('a claim grows once it is bound, if its class can grow', async t => {
  const {of} = await startWith('PersistentVolumeClaimResize');
  const claims = of(kinds.persistentVolumeClaims);
  await of(kinds.storageClasses).create({metadata: {name: 'fixed'}, provisioner: 'p.io/x'});
  await of(kinds.storageClasses).create({metadata: {name: 'elastic'}, provisioner: 'p.io/x', allowVolumeExpansion: true});
  const grow = (name: string) => claims.patch(name, 'merge', {spec: {resources: {requests: {storage: '2Gi'}}}}, {namespace});
  const why = async (name: string) => (await refusal(grow(name))).message;
  for (const name of ['fixed', 'elastic']) await claims.create(aClaim(name, {storageClassName: name, volumeName: 'v'}));

  t.is((await refusal(grow('elastic'))).code, 422); // The rules of claims speak first.
  for (const name of ['fixed', 'elastic'])
    await claims.patch(name, 'merge', {status: {phase: 'Bound', capacity: {storage: '1Gi'}}}, {namespace, subresource: 'status'});
  t.is(
    await why('fixed'),
    'persistentvolumeclaims "fixed" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
  );
  t.is((await grow('elastic')).spec!.resources!.requests!['storage'], '2Gi');
});

test('claims keep to the sizes of a limit range', async t => {
  const {of} = await startWith('LimitRanger');
  await of(kinds.limitRanges).create({
    metadata: {name: 'l', namespace},
    spec: {limits: [{type: 'PersistentVolumeClaim', max: {storage: '1Gi'}, min: {storage: '1Mi'}}]},
  });
  const claim = aClaim('a', {resources: {requests: {storage: '2Gi'}}});

  t.is(
    (await refusal(of(kinds.persistentVolumeClaims).create(claim))).message,
    'persistentvolumeclaims "a" is forbidden: maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi',
  );
});

test('services take no new addresses from outside', async t => {
  const {of} = await startWith('DenyServiceExternalIPs');
  const service = {metadata: {name: 's', namespace}, spec: {ports: [{port: 80}], externalIPs: ['1.2.3.4']}};

  t.is(
    (await refusal(of(kinds.services).create(service))).message,
    'services "s" is forbidden: Use of external IPs is denied by admission control',
  );
});

test('a namespace must be there, or comes to be when it is needed', async t => {
  const made: string[] = [];
  const exists = await startWith('NamespaceExists');
  const provision = await startWith('NamespaceAutoProvision', {createNamespace: name => Promise.resolve(made.push(name))});
  const config = {metadata: {name: 'c', namespace: 'new'}};

  t.is((await refusal(exists.of(kinds.configMaps).create(config))).message, 'namespaces "new" not found');
  await provision.of(kinds.configMaps).create(config, {dryRun: true});
  await provision.of(kinds.configMaps).create(config);
  await provision.of(kinds.configMaps).create({metadata: {name: 'c', namespace}});
  t.deepEqual(made, ['new']);
});

test('setting an owner needs the delete permission on the object, and blocking an owner needs its finalizers permission', async t => {
  const allowed = new Set<string>();
  const {of} = await startWith('OwnerReferencesPermissionEnforcement', {
    authorizer: {
      authorize: ({verb, resource, user}) =>
        user === jane && allowed.has(`${verb} ${resource!.resource}/${resource!.subresource}`)
          ? {decision: 'allow'}
          : {decision: 'noOpinion'},
    },
  });
  const configs = of(kinds.configMaps);
  const owner = (blockOwnerDeletion: boolean) => ({apiVersion: 'v1', kind: 'Secret', name: 's', uid: 'u', blockOwnerDeletion});
  const own = (blocks: boolean) => configs.patch('c', 'merge', {metadata: {ownerReferences: [owner(blocks)]}}, {namespace});
  const why = async (act: Promise<unknown>) => (await refusal(act)).message?.replace('configmaps "c" is forbidden: ', '');
  await configs.create({metadata: {name: 'c', namespace}});

  t.is(await why(own(false)), "cannot set an ownerRef on a resource you can't delete: , <nil>");
  allowed.add('delete configmaps/');
  t.is(
    await why(own(true)),
    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>",
  );
  await own(false);
  allowed.add('update secrets/finalizers');
  t.true((await own(true)).metadata!.ownerReferences![0]!.blockOwnerDeletion);
});
